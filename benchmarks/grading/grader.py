r"""Grades answers with one library: pairs come in and verdicts go out, one line of JSON each.

    echo '["0.5", "\\frac12"]' | python worker.py grading.grader gem_core

It runs under the interpreter that has the library; the caller watches the time.
"""

import json
import logging
import sys

from compare.sides import Side, load_side


def main() -> None:
    """Answer until the input ends."""
    logging.disable(logging.CRITICAL)
    verdicts, sys.stdout = sys.stdout, sys.stderr  # output of the library is not a verdict
    side = load_side(sys.argv[1])
    for line in sys.stdin:
        answer, gold = json.loads(line)
        verdicts.write(json.dumps(_verdict(side, answer, gold)) + "\n")
        verdicts.flush()


def _verdict(side: Side, answer: str, gold: str) -> bool | str:
    """Return the verdict, or the name of the exception that there was instead."""
    try:
        return bool(side.grade(answer, gold))
    except Exception as error:  # noqa: BLE001 - it is a result
        return type(error).__name__
