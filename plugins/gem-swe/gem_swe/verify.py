"""Grade a repository: carry its source to a fresh machine, and run the tests there."""

import shlex
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from gem_core.errors import MachineError
from gem_swe.concealed import conceal
from gem_swe.edits import patch_between
from gem_swe.observations import Failure
from gem_swe.source_files import SourceFiles, is_source
from gem_swe.suites import Results
from gem_swe.task import SweTask
from gem_terminal.task import TerminalTask
from gem_terminal.verify import Grade, Verifier
from gem_workers.carried_files import CarriedFiles
from gem_workers.machine import Machine, MachineProvider, MachineSpec

__all__ = ["SweVerifier"]

_LONGEST_PATCH = 100_000
_LARGEST_FILE = 1 << 20
_LISTED = 20
"""The number of failures in ``info``."""


class SweVerifier(Verifier):
    """Grades machines of one provider.

    Args:
        provider: Starts the machines that grade.
        is_partial: Whether the part of ``FAIL_TO_PASS`` that passes is paid, if all of
            ``PASS_TO_PASS`` does.
    """

    def __init__(self, provider: MachineProvider, *, is_partial: bool = False) -> None:
        super().__init__(provider)
        self._is_partial = is_partial

    def carried_files(self, task: TerminalTask, spec: MachineSpec) -> CarriedFiles:
        """Return what decides about each file: the source is carried, and nothing else."""
        folders = task.source if isinstance(task, SweTask) else ("",)
        return SourceFiles(
            spec.workdir, given=spec.files, is_source=partial(is_source, folders=folders)
        )

    def run_tests(self, machine: Machine, task: TerminalTask) -> Grade:
        """Run the tests of a task."""
        if not isinstance(task, SweTask):
            return super().run_tests(machine, task)
        begin = time.monotonic()
        conceal(machine, task.concealed)  # or what the agent has removed is found there
        patch = _patch(machine, task)
        results = task.suite.run(machine, timeout=task.verifier_timeout)
        return self._grade_of(task, results, patch, time.monotonic() - begin)

    def _grade_of(self, task: SweTask, results: Results, patch: str, seconds: float) -> Grade:
        passed = results.passed
        mended = [passed.get(test, False) for test in task.fail_to_pass]
        kept = [passed.get(test, False) for test in task.pass_to_pass]
        reward = float(all(mended) and all(kept))
        if self._is_partial and all(kept):
            reward = sum(mended) / len(mended)
        details: dict[str, Any] = {
            "patch": patch[:_LONGEST_PATCH],
            "tests": {
                "FAIL_TO_PASS": f"{sum(mended)} of {len(mended)}",
                "PASS_TO_PASS": f"{sum(kept)} of {len(kept)}",
            },
            "results": _shown(task.failures, results.failures),
        }
        tests = {test: passed.get(test, False) for test in (*task.fail_to_pass, *task.pass_to_pass)}
        lines = [
            f"{one.test}: {one.expression or 'stopped'}: expected {one.expected}, got {one.got}"
            for one in results.failures[:_LISTED]
        ]
        output = "\n".join(lines) or results.output
        return Grade(reward, tests=tests, output=output, seconds=seconds, details=details)


def _shown(before: Sequence[Failure], after: Sequence[Failure]) -> list[dict[str, str]]:
    """Return what is wrong now, and then what was wrong before and is right."""
    earlier = {(one.test, one.number): one for one in before}
    later = {(one.test, one.number): one for one in after}
    rows = []
    for key in [*later, *(key for key in earlier if key not in later)]:
        one = later.get(key) or earlier[key]
        rows.append(
            {
                "test": one.test,
                "expression": one.expression or "(the whole test)",
                "expected": one.expected,
                "before": earlier[key].got if key in earlier else one.expected,
                "after": later[key].got if key in later else one.expected,
            }
        )
    return rows[:_LISTED]


def _patch(machine: Machine, task: SweTask) -> str:
    """Return what the agent has changed of the source, as a patch."""
    if not task.files:  # the image's own git, as nothing of the agent's git is carried
        return machine.run("git --no-pager diff HEAD", timeout=30.0).stdout
    start = f"{task.machine.workdir}/"
    there = set(filter(None, _find(machine, task).split("\0")))
    before, after = dict[str, bytes](), dict[str, bytes]()
    for path in sorted({*there, *task.files}):
        if is_source(path, folders=task.source):
            if path in task.files:
                before[path] = task.files[path]
            if path in there:
                after[path] = _read(machine, start + path)
    return patch_between(before, after)


def _find(machine: Machine, task: SweTask) -> str:
    """Return the paths of the files of Python, each with a zero byte at its end."""
    folders = shlex.join([one for one in task.source if one] or ["."])
    command = f"find {folders} -type f -name '*.py' -print0"
    return machine.run(command, timeout=30.0).stdout.replace("./", "")


def _read(machine: Machine, path: str) -> bytes:
    try:
        return machine.read(path, limit=_LARGEST_FILE)
    except MachineError as error:
        return f"[not read: {error}]\n".encode()
