"""Programming problems: the response contains a program, which is run against tests."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, Unpack, get_args

from gem_code.compare import Comparison, find_comparison
from gem_code.judge import Limits, Verdict, judge
from gem_code.suites import Setup, Suite, Tests, read_suite
from gem_core.errors import ConfigError, DataError
from gem_core.observation import Action, Info, Observation
from gem_core.specs import EntryPoint, load_entry_point
from gem_tasks import Grade, RowOptions, TaskEnv
from gem_tasks.json_values import exact_repr
from gem_tasks.parsing import last_code_block
from gem_tasks.prompt import check_prompt, fill_prompt
from gem_workers.sandbox import make_sandbox

__all__ = [
    "FORMAT_ERROR_REWARD",
    "INSTRUCTION",
    "PROMPT",
    "CodeEnv",
    "ForgeableTestsWarning",
    "Reward",
]

Reward = Literal["all", "fraction"]
"""The reward: 1.0 if all tests pass and 0.0 otherwise, or the fraction of tests that pass."""

FORMAT_ERROR_REWARD = -0.1
"""The reward of a response without a code block."""

INSTRUCTION = """\
Solve the problem in Python. Unless it names a function to write, write a whole program that \
reads the standard input and prints to the standard output nothing but what is asked for. First \
think it through. Then give the complete code in a block that opens with ```python and closes with \
```; only the last block of the response is run."""
"""How to answer. The commands show it after the problem."""

PROMPT = f"{INSTRUCTION}\n\n{{problem}}\n"
"""The prompt that ``prompt="default"`` selects."""


class ForgeableTestsWarning(UserWarning):
    """The tests of a problem run in the process of the program, which can forge their result."""


class CodeEnv(TaskEnv):
    """One problem per episode; the reward is 1.0 if the program passes all tests.

    The program is the content of the last fenced code block; a response without one has a reward
    of -0.1. ``info`` of a step contains ``correct`` (bool), ``passed``, ``total`` and ``not_run``
    (numbers of tests) and ``failure``: None, or the first test that failed, as in
    ``gem_code.judge.Verdict``.
    With ``reward="all"`` no test runs after the first failure, and ``passed`` counts those before
    it. ``forgeable`` (bool), also in the info of ``reset``, says whether some of the tests can only
    run in the process of the program, which can therefore pass them without solving the problem;
    the first such problem of an environment is announced by a ``ForgeableTestsWarning``.

    ``gem_code.suites`` lists the supported forms of tests.

    Args:
        question_key: The column of the problems, which are texts.
        test_key: The column of the tests.
        function_key: The column with the name of the tested function, if the tests do not name it.
        setup_key: The column with code to run before the tests, which are assertions: a text, or a
            list of texts, such as ``test_setup_code`` of MBPP.
        solution_key: The column of solutions (programs without fences) for the oracle; or several
            columns, whose texts follow one another, such as ``["prompt", "canonical_solution"]`` of
            HumanEval.
        max_tests: The maximum number of tests to run, preferring long inputs; None runs all.
        sandbox: The id of the sandbox, or a mapping with an ``id`` and its options.
        timeout: The wall time of each test, in seconds.
        total_timeout: The CPU time of all tests of an answer together, in seconds (their wall time
            where the sandbox does not measure it). Tests that have not started after it count as
            failed, and ``info["not_run"]`` is their number.
        memory: The memory of each test, in bytes.
        supply_names: Provide common names that a program uses without importing them, such as
            ``math``, ``deque`` and ``List``, if the sandbox supports it.
        reward: ``all`` or ``fraction``.
        compare: How to compare outputs if the row does not say: ``lines`` (white space at the end
            of a line does not count), ``exact``, ``tokens``, ``float`` or the name of a checker;
            see ``gem_code.compare``.
        checkers: Comparisons by name: functions, or entry points such as
            ``"acme.checks:any_path"``. They are called with a test's input, the expected output
            and the output, and return a bool.
        prompt: The text around the problem, with ``{problem}`` in its place, and ``{tests}`` in
            that of the tests if only they name the function to write; other braces have no
            meaning. ``"default"`` explains the expected response; None shows the problem alone,
            to which the commands add how to answer.
        rows: Where the rows come from and in which order, such as ``data`` and ``shuffle``, and how
            they are graded (``grader``, ``rewards``); see ``TaskEnv``.

    Raises:
        ConfigError: An option has an invalid value.
        UnknownIdError: There is no such sandbox.
        DataError: The data cannot be used. The tests of a row are read by the ``reset`` that
            selects it, which raises if they are malformed or missing.
        HubError: The hub does not provide the dataset.
    """

    shared: ClassVar[tuple[str, ...]] = (
        "_sandbox",
        "_suite",
        "checkers",
        "compare",
        "function_key",
        "limits",
        "max_tests",
        "prompt",
        "question_key",
        "reward",
        "sandbox",
        "setup_key",
        "solution_key",
        "test_key",
    )
    answer_instruction = INSTRUCTION
    blocking = True
    """A step waits for the sandbox."""
    _suite: tuple[dict[str, Any], Suite] | None = None
    """The current row, and the tests that were read from it."""
    _has_warned = False
    """Whether this environment has warned of forgeable tests."""

    def __init__(
        self,
        *,
        question_key: str = "problem",
        test_key: str = "tests",
        function_key: str | None = None,
        setup_key: str | None = None,
        solution_key: str | Sequence[str] | None = None,
        max_tests: int | None = 12,
        sandbox: str | Mapping[str, Any] = "warm",
        timeout: float = 10.0,
        total_timeout: float = 60.0,
        memory: int = 1 << 30,
        supply_names: bool = True,
        reward: Reward = "all",
        compare: str = "lines",
        checkers: Mapping[str, EntryPoint] | None = None,
        prompt: str | None = None,
        **rows: Unpack[RowOptions],
    ) -> None:
        _check(timeout=timeout, total_timeout=total_timeout, memory=memory)
        _check(max_tests=1 if max_tests is None else max_tests)
        if reward not in get_args(Reward):
            raise ConfigError(
                f"reward must be one of {', '.join(get_args(Reward))}; got {reward!r}."
            )
        self.question_key, self.test_key = question_key, test_key
        self.function_key, self.setup_key = function_key, setup_key
        self.solution_key = solution_key
        self.max_tests = max_tests
        self.limits = Limits(timeout, memory, total_timeout, supply_names)
        self.reward = reward
        self.checkers = {name: _loaded(entry) for name, entry in (checkers or {}).items()}
        find_comparison(compare, checkers=self.checkers)
        self.compare = compare
        self.prompt = check_prompt(PROMPT if prompt == "default" else prompt, "problem")
        if prompt is not None:
            self.answer_instruction = ""
        super().__init__(columns=self._columns(), **rows)
        self.sandbox = sandbox
        self._sandbox = make_sandbox(sandbox)

    def _columns(self) -> dict[str, Any]:
        texts = (self.question_key, self.function_key, *self._solution_keys())
        columns: dict[str, Any] = {name: str for name in texts if name}
        if self.setup_key:
            columns[self.setup_key] = Setup
        return columns | {self.test_key: Tests}

    def _solution_keys(self) -> tuple[str, ...]:
        if isinstance(self.solution_key, str):
            return (self.solution_key,)
        return tuple(self.solution_key or ())

    def question(self, row: dict[str, Any]) -> str:
        self._read(row)
        shown = _text(row[self.test_key]) if "{tests}" in (self.prompt or "") else ""
        return fill_prompt(self.prompt, problem=row[self.question_key], tests=shown)

    def start(self, *, idx: int | None = None) -> tuple[Observation, Info]:
        """Take the next row, or row ``idx``; ``info`` says whether its tests are forgeable.

        Raises:
            ConfigError: There is no row ``idx``.
        """
        question, info = super().start(idx=idx)
        forgeable = self.suite.forgeable
        if forgeable and not self._has_warned:
            self._has_warned = True
            warnings.warn(self._warning(), ForgeableTestsWarning, stacklevel=2)
        return question, {**info, "forgeable": forgeable}

    def _warning(self) -> str:
        numbers = [str(case.number) for case in self.suite.cases if case.forgeable]
        return (
            f"{self._where()}: the tests {', '.join(numbers[:10])} need the functions, classes or "
            f"modules of the program itself, so they run in its process, and it can forge their "
            f"result. Use tests that compare values that the program returns or prints, or leave "
            f"out problems whose info has 'forgeable'."
        )

    def _where(self) -> str:
        row = "A row" if self.idx is None else f"Row {self.idx}"
        return f"{row} of {self.rows.origin}, column {self.test_key!r}"

    @property
    def suite(self) -> Suite:
        """The tests of the current problem."""
        if self._suite is None or self._suite[0] is not self.row:
            self._read(self.row)
        return self._suite[1]  # type: ignore[index]

    def _read(self, row: dict[str, Any]) -> None:
        function = row[self.function_key] if self.function_key else ""
        try:
            setup = row[self.setup_key] if self.setup_key else ""
            suite = read_suite(row[self.test_key], function, setup).longest(self.max_tests)
            find_comparison(suite.compare or self.compare, checkers=self.checkers)
        except (ConfigError, DataError) as error:
            raise DataError(f"{self._where()}: {error}") from error
        self._suite = row, suite

    def answer_in(self, response: str) -> str | None:
        return last_code_block(response)

    def grade(self, action: str) -> Grade:
        code = self.answer_in(action)
        total = len(self.suite.cases)
        expected = f"all {total} tests pass"
        if code is None:
            nothing = {
                "passed": 0,
                "total": total,
                "failure": {"kind": "no code"},
                "not_run": 0,
                "forgeable": self.suite.forgeable,
                "format_error": True,
            }
            reason = "no closed block of code in the reply"
            return Grade(FORMAT_ERROR_REWARD, False, nothing, reason, expected)
        verdict = judge(
            code,
            self.suite,
            sandbox=self._sandbox,
            limits=self.limits,
            compare=self.compare,
            checkers=self.checkers,
            stop_early=self.reward == "all",
        )
        correct = verdict.passed == verdict.total
        paid = verdict.passed / verdict.total if self.reward == "fraction" else float(correct)
        info = {**vars(verdict), "forgeable": self.suite.forgeable}
        if verdict.failure is None:
            return Grade(paid, correct, info, "all tests passed", expected)
        return Grade(paid, correct, info, *_shown(verdict, verdict.failure, expected))

    def feedback(self, grade: Grade) -> str:
        failure = grade.info.get("failure")
        if "failure" not in grade.info:  # another grader decided
            return "Correct." if grade.correct else "Wrong."
        if failure is None:
            return "Correct: all tests passed."
        if failure["kind"] == "no code":
            return "Wrong: there is no block of code between fences in the response."
        return f"Wrong: test {failure['test']} failed ({failure['kind'].replace('_', ' ')})."

    def solution(self) -> str:
        if not self._solution_keys():
            raise ConfigError(
                "These rows have no solutions. If a column contains them, name it in solution_key."
            )
        return f"```python\n{''.join(self.row[key] for key in self._solution_keys())}\n```"

    def sample_random_action(self) -> Action:
        return f"```python\nprint({self.action_rng.randrange(1000)})\n```"

    def fork(self) -> Self:
        twin = super().fork()
        twin._sandbox = make_sandbox(self.sandbox)  # noqa: SLF001 - each environment closes its own
        return twin

    def close(self) -> None:
        super().close()
        self._sandbox.close()


def _shown(verdict: Verdict, failure: Mapping[str, Any], all_pass: str) -> tuple[str, str, str]:
    """Return the reason of a grade, and what the test that failed expected and got."""
    reason = (
        f"test {failure['test']} failed ({failure['kind'].replace('_', ' ')}); "
        f"{verdict.passed} of {verdict.total} passed; its input was {failure['input']}"
    )
    return reason, failure.get("expected", all_pass), failure.get("output", "")


def _text(tests: Tests) -> str:
    """Return tests as they are written: each assertion of a list on lines of its own."""
    parts = tests if isinstance(tests, list) else [tests]
    return "\n".join(part if isinstance(part, str) else exact_repr(part) for part in parts)


def _check(**numbers: float) -> None:
    for name, number in numbers.items():
        if not number > 0:
            raise ConfigError(f"{name} must be more than 0; got {number!r}.")


def _loaded(entry_point: EntryPoint) -> Comparison:
    return load_entry_point(entry_point) if isinstance(entry_point, str) else entry_point
