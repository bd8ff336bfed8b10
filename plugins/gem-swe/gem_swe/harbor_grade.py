"""Print the reward of a task folder: ``harbor_grade.py TESTS.json OUTPUT``.

It runs in the Python of a machine, without gem-core, on what ``pytest_results`` has printed.
"""

import json
import sys
from pathlib import Path

MARK = "@gem-swe@ "


def reward(tests: str, output: str) -> int:
    """Return 1 if all tests have passed that must and the one has failed that must; 0 if not.

    Args:
        tests: The names of both, as JSON.
        output: What pytest has printed.
    """
    wanted = json.loads(tests)
    passed: dict[str, bool] = {}
    for line in output.split("\n"):
        if line.startswith(MARK):
            try:
                test, outcome, _ = json.loads(line[len(MARK) :])
            except (ValueError, TypeError):
                continue
            passed[test] = outcome == "passed" and passed.get(test, True)
    has_failed = passed.get(wanted["must_fail"]) is False
    return int(has_failed and all(passed.get(test) for test in wanted["must_pass"]))


if __name__ == "__main__":
    tests, output = (Path(one).read_text("utf-8", "replace") for one in sys.argv[1:])
    sys.stdout.write(f"{reward(tests, output)}\n")
