"""Programming problems: one problem, one response with a program in it, judged by tests."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, get_args

from gem_code.compare import Comparison, find_comparison
from gem_code.judge import Limits, judge
from gem_code.suites import Suite, Tests, read_suite
from gem_core.api import make_sandbox
from gem_core.errors import ConfigError, DataError
from gem_core.observation import Action
from gem_core.parsing import last_code_block
from gem_core.specs import EntryPoint, load_entry_point
from gem_tasks import Grade, TaskEnv
from gem_tasks.prompt import check_prompt, fill_prompt

__all__ = ["FORMAT_ERROR_REWARD", "PROMPT", "CodeEnv", "Reward"]

Reward = Literal["all", "fraction"]
"""What is paid: 1.0 if all tests pass and else nothing, or the fraction of tests that pass."""

FORMAT_ERROR_REWARD = -0.1
"""Reward of a response without a block of code."""

PROMPT = """\
Solve the problem below in Python. Unless the problem names a function to write, write a whole \
program that reads the standard input and prints to the standard output nothing but what is asked \
for. First think it through. Then give the complete code in a block that opens with ```python and \
closes with ```; only the last block of the response is run.

{problem}
"""
"""The prompt that ``prompt="default"`` stands for."""


class CodeEnv(TaskEnv):
    """Ask for a program, run it against tests, pay 1.0 if all of them pass.

    The program is what the last block between fences holds; a response without one costs 0.1.
    ``info`` of a step has ``correct`` (bool), ``passed`` and ``total`` (numbers of tests) and
    ``failure``: None, or the first test that failed, as ``gem_code.judge.Verdict`` says. With
    ``reward="all"`` tests end with the first that fails, and ``passed`` counts up to there.

    The forms of tests are those of ``gem_code.suites``.

    Args:
        dataset_name: ``org/name`` of a dataset on the hub, unless ``data`` is given.
        split: Split of the dataset; None if it has only one.
        data: Rows from elsewhere; see ``TaskEnv``.
        question_key: Column of the problems, texts.
        test_key: Column of the tests.
        function_key: Column that names the function that tests call, where the tests do not.
        solution_key: Column of solutions, programs without fences, for the oracle.
        max_tests: Most tests that are run, those with the longest inputs; None for all.
        sandbox: Id of the sandbox, or a mapping with an ``id`` and arguments.
        timeout: Seconds of wall time of each test.
        memory: Bytes of memory of each test.
        supply_names: Supply common names that a program uses without importing them, such as
            ``math``, ``deque`` and ``List``, if the sandbox can.
        reward: ``all`` or ``fraction``.
        compare: How outputs are compared unless a row says: ``exact``, ``lines``, ``tokens``,
            ``float`` or the name of a checker; see ``gem_code.compare``.
        checkers: Comparisons by name, functions or entry points such as ``"acme.checks:any_path"``:
            called with a test's input, the expected output and the output, they return a bool.
        prompt: Text around the problem, which stands where ``{problem}`` is; other braces are just
            braces. ``"default"`` says what is read of the response; None shows the bare problem.
        shuffle: A new order each epoch; see ``TaskEnv``.
        shard: ``"i/n"``, the part of the rows to take; see ``TaskEnv``.
        streaming: Read rows as they are needed.

    Raises:
        ConfigError: A parameter that cannot work.
        UnknownIdError: There is no such sandbox.
        DataError: The data cannot be used. The tests of a row are read when its turn comes: the
            ``reset`` that asks for it raises if they are malformed or there are none.
        HubError: The hub does not give the dataset.
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
        "solution_key",
        "test_key",
    )
    blocking = True
    """A step waits for the sandbox."""
    _suite: tuple[dict[str, Any], Suite] | None = None
    """The tests of a row, beside the row that they were read from."""

    def __init__(
        self,
        *,
        dataset_name: str = "",
        split: str | None = None,
        data: Any = None,
        question_key: str = "problem",
        test_key: str = "tests",
        function_key: str | None = None,
        solution_key: str | None = None,
        max_tests: int | None = 12,
        sandbox: str | Mapping[str, Any] = "warm",
        timeout: float = 10.0,
        memory: int = 1 << 30,
        supply_names: bool = True,
        reward: Reward = "all",
        compare: str = "exact",
        checkers: Mapping[str, EntryPoint] | None = None,
        prompt: str | None = None,
        shuffle: bool = True,
        shard: str | None = None,
        streaming: bool = False,
    ) -> None:
        _check(timeout=timeout, memory=memory, max_tests=1 if max_tests is None else max_tests)
        if reward not in get_args(Reward):
            raise ConfigError(f"reward is one of {', '.join(get_args(Reward))}; got {reward!r}.")
        self.question_key, self.test_key = question_key, test_key
        self.function_key, self.solution_key = function_key, solution_key
        self.max_tests = max_tests
        self.limits = Limits(timeout, memory, supply_names)
        self.reward = reward
        self.checkers = {name: _loaded(entry) for name, entry in (checkers or {}).items()}
        find_comparison(compare, checkers=self.checkers)
        self.compare = compare
        self.prompt = check_prompt(PROMPT if prompt == "default" else prompt, "problem")
        super().__init__(
            columns=self._columns(),
            dataset_name=dataset_name,
            split=split,
            data=data,
            shuffle=shuffle,
            shard=shard,
            streaming=streaming,
        )
        self.sandbox = sandbox
        self._sandbox = make_sandbox(sandbox)

    def _columns(self) -> dict[str, Any]:
        texts = (self.question_key, self.function_key, self.solution_key)
        return {name: str for name in texts if name} | {self.test_key: Tests}

    def question(self, row: dict[str, Any]) -> str:
        self._read(row)
        return fill_prompt(self.prompt, "problem", row[self.question_key])

    @property
    def suite(self) -> Suite:
        """The tests that the current problem is judged by."""
        if self._suite is None or self._suite[0] is not self.row:
            self._read(self.row)
        return self._suite[1]  # type: ignore[index]

    def _read(self, row: dict[str, Any]) -> None:
        function = row[self.function_key] if self.function_key else ""
        try:
            suite = read_suite(row[self.test_key], function).longest(self.max_tests)
            find_comparison(suite.compare or self.compare, checkers=self.checkers)
        except (ConfigError, DataError) as error:
            where = "A row" if self.idx is None else f"Row {self.idx}"
            raise DataError(
                f"{where} of {self.rows.origin}, column {self.test_key!r}: {error}"
            ) from error
        self._suite = row, suite

    def grade(self, action: str) -> Grade:
        code = last_code_block(action)
        if code is None:
            nothing = {
                "passed": 0,
                "total": len(self.suite.cases),
                "failure": {"kind": "no code"},
                "format_error": True,
            }
            return Grade(FORMAT_ERROR_REWARD, False, nothing)
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
        return Grade(paid, correct, dict(vars(verdict)))

    def feedback(self, grade: Grade) -> str:
        failure = grade.info["failure"]
        if failure is None:
            return "Correct: all tests passed."
        if failure["kind"] == "no code":
            return "Wrong: there is no block of code between fences in the response."
        return f"Wrong: test {failure['test']} failed ({failure['kind'].replace('_', ' ')})."

    def solution(self) -> str:
        if self.solution_key is None:
            raise ConfigError(
                "These rows come without solutions. If a column has them, name it in solution_key."
            )
        return f"```python\n{self.row[self.solution_key]}\n```"

    def sample_random_action(self) -> Action:
        return f"```python\nprint({self.action_rng.randrange(1000)})\n```"

    def fork(self) -> Self:
        twin = super().fork()
        twin._sandbox = make_sandbox(self.sandbox)  # noqa: SLF001 - each closes its own
        return twin

    def close(self) -> None:
        self._sandbox.close()


def _check(**numbers: float) -> None:
    for name, number in numbers.items():
        if not number > 0:
            raise ConfigError(f"{name} must be more than 0; got {number!r}.")


def _loaded(entry_point: EntryPoint) -> Comparison:
    return load_entry_point(entry_point) if isinstance(entry_point, str) else entry_point
