"""Make tasks of a user's repository: plant bugs, run its tests, and keep what they notice.

The repository's code runs on machines only.
"""

import ast
import contextlib
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from random import Random
from typing import Any

from gem_core.errors import ConfigError, GemError
from gem_swe.bugs import difficulty_of
from gem_swe.code_text import CodeText
from gem_swe.concealed import conceal
from gem_swe.edits import applied, patch_between
from gem_swe.hidden import find_tests
from gem_swe.made_folder import COMMAND, hidden_files, spec_of
from gem_swe.mutations import Mutation, mutations_of
from gem_swe.observations import Failure
from gem_swe.python_environment import PythonEnvironment
from gem_swe.suites import PytestSuite, Results
from gem_swe.task import WORKDIR
from gem_swe.unknowable import texts_of, unknowable_texts
from gem_swe.user_repository import UserRepository
from gem_workers.machine import Machine, MachineProvider

__all__ = ["Made", "Maker"]

_RUNS = 3
_FIRST_RUNS = 5
"""How often the tests run without a bug: those count that pass each time."""
_MOST_FAILING = 0.9
_LEAST_SECONDS, _FACTOR = 20.0, 5.0
_BASELINE_SECONDS = 900.0
_MESSAGE = 800
_LISTED = 20
"""The number of failures in a row."""
_STATEMENT = (
    "`{name}` does not behave as it should: its own test suite would notice. This test is not in "
    "the repository that you have:\n\n```python\n{code}\n```\n\nIt fails:\n\n```text\n{message}\n"
    "```\n\nFind the cause in the source of `{name}` and mend it. Change nothing else of what it "
    "does. `{command}` runs the tests that you have; those that are run in the end are others too. "
    "Only changes to `.py` files outside of the tests count."
)


@dataclass
class Made:
    """How far the work is.

    Args:
        tried: The number of bugs that were tried, usable or not.
        kept: The number of tasks.
        refused: Why the others are of no use, and how many.
    """

    tried: int = 0
    kept: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    @property
    def usable(self) -> float:
        """The share of the bugs that are usable."""
        return self.kept / self.tried if self.tried else 0.0


@dataclass(frozen=True)
class _Tried:
    mutations: tuple[Mutation, ...]
    refusal: str = ""
    failing: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


class Maker:
    """Makes tasks of a repository.

    Args:
        repository: The repository.
        environment: The Python that runs its tests.
        provider: Starts the machines.
        bugs: The number of places that are changed for a task.
        seed: Decides which bugs are tried, and in which order.
        jobs: The number of machines at the same time.
        say: Called with lines on what is being done.
    """

    def __init__(
        self,
        repository: UserRepository,
        environment: PythonEnvironment,
        provider: MachineProvider,
        *,
        bugs: int = 1,
        seed: int = 0,
        jobs: int = 2,
        say: Callable[[str], object],
    ) -> None:
        self.repository, self.environment = repository, environment
        self._provider, self._bugs, self._seed, self._jobs = provider, bugs, seed, jobs
        self._say = say
        self.concealed = environment.copies_of(
            [*repository.modules, *repository.test_modules],
            [repository.files[one] for one in (*repository.source, *repository.tests)],
        )
        self._passing: frozenset[str] = frozenset()
        self._seconds = _BASELINE_SECONDS
        self._seen: set[tuple[Any, ...]] = set()

    def make(
        self, count: int, *, start: int = 0, rows: Sequence[Mapping[str, Any]] = ()
    ) -> Iterator[tuple[Made, dict[str, Any] | None]]:
        """Yield, for each bug that is tried, what was made so far, and the row if it is usable.

        Args:
            count: The number of tasks wanted.
            start: The number of the first bug to try.
            rows: Those that there are already.

        Raises:
            ConfigError: The tests of the repository do not run, or none passes.
        """
        self._seen = {
            _signature(row["FAIL_TO_PASS"], [Failure(**one) for one in row["failures"]])
            for row in rows
        }
        spec = spec_of(self.repository.files, self.environment)
        self._provider.prepare(spec)
        made = Made(tried=start)
        with contextlib.closing(self._provider.start(spec)) as base:
            conceal(base, self.concealed)
            self._measure(base)
            candidates = itertools.islice(self._candidates(), start, None)
            with ThreadPoolExecutor(self._jobs) as pool:
                while batch := list(itertools.islice(candidates, self._jobs)):
                    for tried in pool.map(partial(self._try, base), batch):
                        row = self._row(tried, made)
                        yield made, row
                        if made.kept >= count:
                            return

    def _measure(self, base: Machine) -> None:
        """Run the tests of the repository as it is."""
        self._say(
            f"running the tests of {self.repository.name} in {len(self.repository.tests)} files"
        )
        start = time.monotonic()
        results, *others = (
            self._run(base, {}, timeout=_BASELINE_SECONDS) for _ in range(_FIRST_RUNS)
        )
        seconds = (time.monotonic() - start) / _FIRST_RUNS
        self._seconds = max(_LEAST_SECONDS, _FACTOR * seconds)
        passing = {test for test, passed in results.passed.items() if passed}
        self._passing = frozenset(
            test for test in passing if all(one.passed.get(test) for one in others)
        )
        if not self._passing:
            raise ConfigError(
                f"No test of {self.repository.name} passes with {self.environment.python}:\n"
                f"{results.output[-1_500:]}"
            )
        failed = len(results.passed) - len(self._passing)
        self._say(f"{len(self._passing)} tests pass")
        if failed:
            self._say(f"{failed} do not, or not always, and are left out{_first_of(results)}")

    def _run(self, base: Machine, changed: Mapping[str, bytes], *, timeout: float) -> Results:
        """Run the tests on a copy of the machine with other files."""
        with contextlib.closing(base.fork()) as machine:
            for path, content in changed.items():
                machine.write(f"{WORKDIR}/{path}", content)
            suite = PytestSuite(tests=self.repository.tests, command=COMMAND)
            return suite.run(machine, timeout=timeout)

    def _candidates(self) -> Iterator[tuple[Mutation, ...]]:
        """Yield bugs, each kind about as often; those of several places never end."""
        random = Random(f"swe make {self._seed}")
        by_operator: dict[str, list[Mutation]] = {}
        for path in self.repository.source:
            with contextlib.suppress(SyntaxError, UnicodeDecodeError):
                for one in mutations_of(path, self.repository.files[path]):
                    by_operator.setdefault(one.operator, []).append(one)
        for found in by_operator.values():
            random.shuffle(found)
        order = [
            one for group in itertools.zip_longest(*by_operator.values()) for one in group if one
        ]
        if self._bugs == 1:
            yield from ((one,) for one in order)
            return
        while len({(one.path, one.function) for one in order}) >= self._bugs:
            chosen = random.sample(order, self._bugs)
            if len({(one.path, one.function) for one in chosen}) == self._bugs:
                yield tuple(chosen)

    def _try(self, base: Machine, mutations: tuple[Mutation, ...]) -> _Tried:
        edits = [edit for one in mutations for edit in one.edits]
        files = applied(self.repository.files, edits)
        changed = {one.path: files[one.path] for one in edits}
        found: list[tuple[str, ...]] = []
        try:
            for _ in range(_RUNS):
                results = self._run(base, changed, timeout=self._seconds)
                failing = tuple(sorted(one for one in self._passing if not results.passed.get(one)))
                found.append(failing)
                refusal = self._refusal(failing)
                if refusal:
                    return _Tried(mutations, refusal)
        except GemError:
            return _Tried(mutations, "the tests do not run")
        if len(set(found)) > 1:
            return _Tried(mutations, "the tests differ from run to run")
        failures = tuple(one for one in results.failures if one.test in found[0])
        return _Tried(mutations, "", found[0], failures)

    def _refusal(self, failing: Sequence[str]) -> str:
        if not failing:
            return "no test fails"
        if len(failing) > _MOST_FAILING * len(self._passing):
            return "nearly all tests fail"
        return ""

    def _row(self, tried: _Tried, made: Made) -> dict[str, Any] | None:
        made.tried += 1
        refusal = tried.refusal
        listed = tried.failures[:_LISTED]
        key = _signature(tried.failing, listed)
        if not refusal and key in self._seen:
            refusal = "it fails as another one does"
        if not refusal and not all(_code_of(self.repository.files, one) for one in tried.failing):
            refusal = "a test that fails cannot be hidden"
        shown = None if refusal else self._shown(tried.failures)
        if not refusal and shown is None:
            refusal = "no failure can be shown"
        if refusal or shown is None:
            made.refused[refusal] += 1
            return None
        repository = self.repository
        edits = [edit for one in tried.mutations for edit in one.edits]
        files = applied(repository.files, edits)
        if self._is_unknowable(files, tried.failing, shown):
            made.refused["a text that is expected stands nowhere any more"] += 1
            return None
        self._seen.add(key)
        made.kept += 1
        code, message = shown
        return {
            "instance_id": f"{repository.name}-{made.tried:05}",
            "repo": repository.name,
            "problem_statement": _STATEMENT.format(
                name=repository.name,
                code=code,
                message=message,
                command=COMMAND,
            ),
            "patch": patch_between(files, repository.files),
            "bug_patch": patch_between(repository.files, files),
            "failures": [asdict(one) for one in listed],
            "FAIL_TO_PASS": list(tried.failing),
            "PASS_TO_PASS": sorted(self._passing - set(tried.failing)),
            "metadata": {
                "repository": repository.name,
                "lines": repository.lines,
                "operators": [one.operator for one in tried.mutations],
                "bugs": len(tried.mutations),
                "difficulty": difficulty_of(repository.lines, 0, len(tried.mutations)),
            },
        }

    def _is_unknowable(
        self, files: Mapping[str, bytes], hidden: Sequence[str], shown: Sequence[str]
    ) -> bool:
        right = self.repository.files
        source = {one: right[one] for one in self.repository.source}
        seen = {**files, **hidden_files(files, self.repository.tests, hidden)}
        codes = [_code_of(right, one) for one in hidden]
        expected = [*codes, *(text for one in codes for text in texts_of(one))]
        return bool(unknowable_texts(source, seen, expected=expected, shown=shown))

    def _shown(self, found: Sequence[Failure]) -> tuple[str, str] | None:
        """Return the code of a failed test, and its message: those of the shortest test."""
        shown = []
        for failure in found:
            code = _code_of(self.repository.files, failure.test)
            if code:
                message = failure.message[:_MESSAGE] or failure.got
                shown.append((len(code) + len(message), code, message))
        return min(shown)[1:] if shown else None


def _first_of(results: Results) -> str:
    """Return the first failure, for people."""
    for one in results.failures:
        return f". The first: {one.test}: {one.got[:200]}"
    return ""


def _signature(failing: Sequence[str], found: Sequence[Failure]) -> tuple[Any, ...]:
    """Return what tells bugs apart: what fails, and what comes instead."""
    return tuple(failing), tuple((one.test, one.got) for one in found)


def _code_of(files: Mapping[str, bytes], test: str) -> str:
    """Return the code of a test function; empty if it is not found."""
    path, *names = test.partition("[")[0].split("::")
    try:
        *_, last = find_tests(ast.parse(files[path]), names)
        return CodeText(files[path]).dedented(last)
    except (KeyError, IndexError, ValueError, SyntaxError):
        return ""
