r"""Counts the errors of graders of mathematical answers: gem-math, math-verify, gem-llm 0.1.0.

Each grader grades labelled pairs of an answer and a gold answer, in a process that is killed when a
verdict takes longer than the limit, the same for all. No verdict in time, an exception and a crash
count as "not equal", as they would in training. Ambiguous pairs are left out.

Examples:
  python benchmarks/run.py grading                        all graders, about 3 minutes
  python benchmarks/run.py grading --only gem_core --only math_verify
  python benchmarks/run.py grading --category units --category sets
  python benchmarks/run.py grading --set "blind 7"
  python benchmarks/run.py grading --pairs my_pairs.jsonl --output /tmp/results

A line of a file of pairs:
  {"answer": "0.5", "gold": "\frac12", "equal": true, "category": "fractions"}
"""

import argparse
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from common.output import write
from common.peers import add_peer_argument, find_or_install
from common.processes import WORKER, offline, start, stop
from rich.console import Console
from rich.progress import track

from grading.report import Pair, Result, Verdict, parts_of, raw_of

__all__ = ["Grader", "add_arguments", "run"]

_PAIRS = (
    Path(__file__).resolve().parents[2] / "plugins" / "gem-math" / "tests" / "grading_pairs.jsonl"
)
_GRADERS = {"gem_core": "gem-math", "math_verify": "math-verify", "gem_llm": "gem-llm"}
"""Distributions by the name of their file in ``compare/sides``."""
_UNCOUNTED = "ambiguous"
_OVERRULED = "overruled"
"""The field of a pair with a label that a later convention contradicts."""
_WARM_UP = Pair(r"\int_0^1 2x\,dx", "1", equal=True, category="")
"""A pair that needs computer algebra, whose worker takes seconds to start."""
_STARTING_SECONDS = 120.0


class GraderError(RuntimeError):
    """A grader does not start."""


class Grader:
    """A library's grader, in a process that is replaced when it is stuck or dies.

    Args:
        command: Starts ``grading.grader`` for a library, under the interpreter that has it.
        limit: Seconds for a verdict; the start and the first verdict have their own limit.
    """

    def __init__(self, command: Sequence[str], limit: float) -> None:
        self._command = list(command)
        self._limit = limit
        self._process: subprocess.Popen[str] | None = None

    def grade(self, pair: Pair) -> Verdict:
        """Return the verdict on a pair.

        Raises:
            GraderError: The process does not start.
        """
        if self._process is None:
            self._process = self._start()
        began = time.perf_counter()
        said = self._ask(self._process, pair, self._limit)
        if said in ("no verdict", "it died"):
            self.close()
        return Verdict(said, time.perf_counter() - began)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            stop(self._process)
        self._process = None

    def _start(self) -> subprocess.Popen[str]:
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        process = start(self._command, offline(Path(os.devnull)), stdin=pipe, stderr=nowhere)
        said = self._ask(process, _WARM_UP, _STARTING_SECONDS)
        if isinstance(said, str):
            stop(process)
            raise GraderError(
                f"{self._command[-1]} has no verdict on a first pair: {said}. To see why, type "
                f'["1", "1"] to: {" ".join(self._command)}'
            )
        return process

    def _ask(self, process: subprocess.Popen[str], pair: Pair, limit: float) -> bool | str:
        """Return the verdict or, as text, why there is none."""
        if process.stdin is None or process.stdout is None:
            raise GraderError("a grader's process has no pipes")
        try:
            process.stdin.write(json.dumps([pair.answer, pair.gold]) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            return "it died"
        if not select.select([process.stdout], [], [], limit)[0]:
            return "no verdict"
        line = process.stdout.readline()
        verdict: bool | str = json.loads(line) if line else "it died"
        return verdict


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this suite."""
    parser.add_argument("--pairs", type=Path, default=_PAIRS, metavar="FILE", help="labelled pairs")
    parser.add_argument("--only", action="append", choices=_GRADERS, help="may be repeated")
    parser.add_argument("--category", action="append", metavar="NAME", help="may be repeated")
    parser.add_argument("--set", action="append", metavar="NAME", help="may be repeated")
    parser.add_argument("--limit", type=float, default=3, help="seconds for a verdict; default 3")
    add_peer_argument(parser)


def run(options: argparse.Namespace) -> None:
    """Run the graders."""
    pairs = _read(options.pairs, category=options.category, set=options.set)
    try:
        results = [_run(side, pairs, options) for side in options.only or _GRADERS]
    except GraderError as error:
        sys.exit(str(error))
    note = (
        f"{len(pairs)} pairs of `{options.pairs.name}`, of which "
        f"{sum(pair.equal for pair in pairs)} are equal; {options.limit:g} s for each verdict; "
        f"{os.cpu_count()} CPUs."
    )
    title = "Graders of mathematical answers side by side"
    write(options.output, "grading", title, [note, *parts_of(results)], raw_of(results))


def _read(path: Path, **chosen: Sequence[str] | None) -> list[Pair]:
    """Return the pairs that are graded: those with the chosen values of fields."""
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        sys.exit(f"the pairs cannot be read: {error}")
    rows = [row for row in rows if row["category"] != _UNCOUNTED and _OVERRULED not in row]
    for field, values in chosen.items():
        known = {row[field] for row in rows if field in row}
        if unknown := set(values or ()) - known:
            sys.exit(
                f"no {field} {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}"
            )
        rows = [row for row in rows if not values or row.get(field) in values]
    return [
        Pair(row["answer"], row["gold"], equal=row["equal"], category=row["category"])
        for row in rows
    ]


def _run(side: str, pairs: Iterable[Pair], options: argparse.Namespace) -> Result:
    """Grade all pairs with one grader."""
    python = sys.executable
    if side == "gem_llm":
        python = options.peer_python or str(find_or_install())
    name = _GRADERS[side]
    grader = Grader([python, WORKER, "grading.grader", side], options.limit)
    progress = Console(stderr=True)
    try:
        verdicts = [
            (pair, grader.grade(pair))
            for pair in track(list(pairs), name, console=progress, transient=True)
        ]
    finally:
        grader.close()
    return Result(f"{name} {_version(python, name)}", verdicts)


def _version(python: str, distribution: str) -> str:
    look = f"import importlib.metadata as m; print(m.version({distribution!r}))"
    done = subprocess.run([python, "-c", look], capture_output=True, text=True, check=True)
    return done.stdout.strip()
