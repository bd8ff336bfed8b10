"""Programming problems of a dataset, graded by tests in a sandbox."""

import contextlib
from collections.abc import Mapping
from typing import Any

from gem.envs.dataset_env import DatasetEnv
from gem.requirements import needs
from gem.utils.constants import TERMINAL_STATE
from gem.utils.parsing import extract_code_from_model
from gem.utils.sandbox import shared_sandbox

with needs("gem-code"):
    from gem_code.env import FORMAT_ERROR_REWARD
    from gem_code.judge import Limits, judge
    from gem_code.suites import read_suite

from gem_core.records import json_value

__all__ = ["CodeEnv"]


class CodeEnv(DatasetEnv):
    """One problem per episode; 1.0 for a program that passes all tests, -0.1 without a program.

    Args:
        dataset_name: ``org/name`` of a dataset on the hub, unless ``dataset`` is given.
        split: Split of the dataset; None if it has only one.
        dataset: Rows from elsewhere; see ``DatasetEnv.load``.
        question_key: Column of the problems.
        test_key: Column of the tests: an object with ``inputs`` and ``outputs``, or its JSON.
        seed: Seed of the order of rows.
        max_workers: Ignored: tests run one after the other, until one fails.
        max_tests: Maximum number of tests to run, those with the longest inputs.
        verbose: Ignored.
        sandbox_type: See ``gem.utils.sandbox.run_python``.
        kwargs: Ignored.

    Raises:
        DataError: The data cannot be used.
        HubError: The dataset cannot be fetched from the hub.
        ConfigError: There is no such sandbox, or the rows are given as ``data``.
    """

    tests: Any
    """The tests of the current problem."""

    def __init__(
        self,
        dataset_name: str | None = "",
        split: str | None = None,
        dataset: Any = None,
        question_key: str = "problem",
        test_key: str = "tests",
        seed: int = 0,
        max_workers: int = 5,
        max_tests: int = 12,
        verbose: bool = False,
        sandbox_type: str = "none",
        **kwargs: Any,
    ) -> None:
        self.question_key, self.test_key = question_key, test_key
        self.max_workers, self.max_tests = max_workers, max_tests
        self.verbose, self.sandbox_type = verbose, sandbox_type
        shared_sandbox(sandbox_type)
        self.load(
            {question_key: str, test_key: Any},
            dataset_name=dataset_name,
            split=split,
            dataset=dataset,
            ignored=kwargs,
            seed=seed,
        )

    def take(self, row: Mapping[str, Any]) -> Any:
        self.tests = row[self.test_key]
        if isinstance(self.tests, str):
            with contextlib.suppress(ValueError):  # not JSON: the text of a test program
                self.tests = json_value(self.tests)
        return row[self.question_key]

    def step(self, action: Any) -> Any:
        """Grade a program."""
        code = extract_code_from_model(action)
        if code is None:
            return TERMINAL_STATE, FORMAT_ERROR_REWARD, True, True, {}
        return TERMINAL_STATE, float(self._check_correct(code)), True, True, {}

    def _check_correct(self, model_code: str) -> bool:
        """Return whether a program passes all tests."""
        suite = read_suite(self.tests, "").longest(self.max_tests)
        verdict = judge(
            model_code, suite, sandbox=shared_sandbox(self.sandbox_type), limits=Limits()
        )
        return verdict.passed == verdict.total

    def sample_random_action(self) -> str:
        return "```python\nprint(42)\n```"
