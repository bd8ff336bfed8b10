"""Tests that grade a repository, and what they say of it."""

import itertools
import json
import re
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

from gem_swe import pytest_results
from gem_swe.observations import Failure, Observed, failures, plain_text, read_observed
from gem_swe.patches import patched, paths_of
from gem_swe.probes import Probed
from gem_swe.trial import GUEST, STARTED, guest_input
from gem_terminal.rewards import GradingError
from gem_workers.machine import Machine

__all__ = ["OPTIONS", "PLUGIN", "ProbeSuite", "PytestSuite", "Results", "Suite"]

_PLUGIN_FOLDER = "/tests"
_PLUGIN = Path(pytest_results.__file__).read_bytes()
PLUGIN = "gem_swe_results"
"""The name of the plugin of pytest that prints results."""
OPTIONS = f"--rootdir=. --maxfail=0 -p {PLUGIN} -p no:cacheprovider"
"""Options of pytest with which it names tests from the repository, and runs all of them."""
_PYTHON = f"exec python3 -B -s -S -P -c {shlex.quote(GUEST)}"
_OBSERVED, _OUTPUT = 1 << 22, 1 << 24
_MOST_RESULTS = 100_000
_LONGEST_MESSAGE = 2000
_IN_PROCESS = "the tests run the agent's code in their own process"


@dataclass(frozen=True)
class Results:
    """What tests say of a repository.

    Args:
        passed: Whether each test passes, by its id; a test that is not in it did not run.
        failures: The failures that can be described.
        output: The end of what was printed, for people.
    """

    passed: Mapping[str, bool]
    failures: tuple[Failure, ...] = ()
    output: str = ""


class Suite(Protocol):
    """Tests of a repository."""

    @property
    def forgeable(self) -> str:
        """How code of the agent could write the results; empty if it cannot."""

    def run(self, machine: Machine, *, timeout: float) -> Results:
        """Run the tests in the working directory of a machine.

        Args:
            machine: The machine, with the repository as the agent has left its source.
            timeout: Seconds of wall time.

        Raises:
            GradingError: The machine cannot run them.
            MachineError: The machine failed.
        """


@dataclass(frozen=True)
class ProbeSuite:
    """Tests that only observe: what they expect stays on this host.

    Args:
        probed: The tests.
        expected: What they observe of the repository as it should be.
    """

    probed: Probed
    expected: Observed
    forgeable: str = field(default="", init=False)

    def run(self, machine: Machine, *, timeout: float) -> Results:
        """Run the probes, and compare what came."""
        done = machine.run(
            _PYTHON,
            stdin=guest_input(self.probed),
            env={"PYTHONHASHSEED": "0"},
            timeout=timeout,
            output_limit=_OBSERVED,
        )
        if not done.stdout.startswith(STARTED):
            raise GradingError(f"The tests need Python 3.11 or later: {done.stderr[-500:]}")
        observed = read_observed(done.stdout, self.probed.known)
        found = tuple(failures(self.probed, self.expected, observed))
        failed = {one.test for one in found}
        return Results({test: test not in failed for test in self.expected}, found)


@dataclass(frozen=True)
class PytestSuite:
    """Tests that pytest runs, in the process of the code that they test.

    With them runs one that must fail. If it does not, or says nothing, all tests count as failed:
    code that makes every test pass makes this one pass too. This is not a proof, see
    ``forgeable``.

    Args:
        files: Test files, by path: they are written before the tests run.
        patch: A patch that makes the tests of what is there; empty for none.
        command: The command that is pytest, with options and without tests, such as
            ``python -m pytest``. It runs in the working directory.
        tests: The tests to run, as pytest names them; empty for all that it finds.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    patch: str = ""
    command: str = "python3 -m pytest"
    tests: tuple[str, ...] = ()
    forgeable: str = field(default=_IN_PROCESS, init=False)

    def run(self, machine: Machine, *, timeout: float) -> Results:
        """Run the tests."""
        top = machine.spec.workdir.rstrip("/")
        for path, content in self.files.items():
            machine.write(f"{top}/{path}", content)
        self._patch(machine)
        machine.write(f"{_PLUGIN_FOLDER}/{PLUGIN}.py", _PLUGIN)
        wire = _Tripwire.beside(self.tests)
        machine.write(f"{top}/{wire.path}", wire.content)
        chosen = [*self.tests, wire.test] if self.tests else []
        # pytest is given files, not tests: one that is not there any more would end it.
        paths = dict.fromkeys(one.partition("::")[0] for one in chosen)
        command = (
            f"export PYTHONPATH={_PLUGIN_FOLDER}:$PYTHONPATH PYTHONDONTWRITEBYTECODE=1 "
            f"GEM_SWE_MUST_FAIL={wire.name}; "
            f"{self.command} {OPTIONS} {shlex.join(paths)}"
        )
        done = machine.run(command, timeout=timeout, output_limit=_OUTPUT)
        output = f"{done.stdout}{done.stderr}"
        passed, found = _read(output)
        tail = "\n".join(line for line in output.splitlines() if not _is_result(line))[-2_000:]
        if wire.test not in passed and done.limit is None and not passed:
            raise GradingError(f"pytest gives no results: {tail[-1_000:]}")
        if passed.pop(wire.test, True):
            return Results({}, (), f"The test that must fail did not fail.\n{tail}")
        return Results(passed, tuple(one for one in found if one.test != wire.test), tail)

    def _patch(self, machine: Machine) -> None:
        top = machine.spec.workdir.rstrip("/")
        before = dict[str, bytes]()
        for path in paths_of(self.patch):
            if machine.run(f"[ -f {shlex.quote(path)} ]").ok:
                before[path] = machine.read(f"{top}/{path}")
        after = patched(before, self.patch)
        for path in {*before, *after}:
            if path in after:
                machine.write(f"{top}/{path}", after[path])
            else:
                machine.run(f"rm -f {shlex.quote(path)}")


@dataclass(frozen=True)
class _Tripwire:
    """A test that must fail."""

    name: str
    path: str
    test: str
    content: str

    @classmethod
    def beside(cls, tests: Sequence[str]) -> "_Tripwire":
        """Return one in the folder of the first of some tests."""
        first = tests[0].partition("::")[0] if tests else "tests/test_x.py"
        name = f"test_{secrets.token_hex(4)}"
        path = str(PurePosixPath(first).parent / f"{name}.py")
        number = secrets.randbelow(1 << 30)
        content = f"def {name}():\n    value = {number}\n    assert value == {number + 1}\n"
        return cls(name, path, f"{path}::{name}", content)


def _is_result(line: str) -> bool:
    return line.startswith(pytest_results.MARK)


def _read(output: str) -> tuple[dict[str, bool], list[Failure]]:
    """Return which tests have passed, and why others have not."""
    passed: dict[str, bool] = {}
    found: list[Failure] = []
    lines = filter(_is_result, output.splitlines())
    for line in itertools.islice(lines, _MOST_RESULTS):
        try:
            named, outcome, message = json.loads(line.removeprefix(pytest_results.MARK))
        except (ValueError, TypeError, RecursionError):
            continue
        test = plain_text(str(named))
        passed[test] = outcome == "passed" and passed.get(test, True)
        if outcome == "failed":
            found.append(_failure(test, plain_text(str(message)[:_LONGEST_MESSAGE])))
    return passed, found


_ASSERTION = re.compile(r"(?:AssertionError: )?assert (?P<got>.+?) == (?P<expected>.+)")


def _failure(test: str, message: str) -> Failure:
    first, _, rest = message.partition("\n")
    match = _ASSERTION.fullmatch(first)
    values = (line.strip(" +") for line in rest.splitlines())
    calls = [one.partition(" = ")[2] for one in values if one.startswith("where ")]
    if match is None:
        return Failure(test, "", "no error", first, message=message)
    called = calls[0] if calls else ""
    return Failure(test, called, match["expected"], match["got"], message=message)
