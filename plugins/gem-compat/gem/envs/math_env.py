r"""Mathematical problems of a dataset, answered in ``\boxed{}``; graded by gem-math."""

import functools
import multiprocessing
from collections.abc import Mapping
from typing import Any, Self

from gem.envs.dataset_env import DatasetEnv
from gem.requirements import needs
from gem.utils.constants import TERMINAL_STATE
from gem.utils.math_grader import boxed_reward_fn
from gem.utils.parsing import BoxedAnswer
from gem_tasks import Answer, gold_answers
from gem_tasks.parsing import last_boxed

with needs("gem-math"):
    from gem_math.env import FORMAT_ERROR_REWARD
    from gem_math.grading import grade

__all__ = ["FORMAT_ERROR_REWARD", "MathEnv", "verify_fn"]

verify_fn = functools.partial(boxed_reward_fn, fast=False, correct_reward=1, incorrect_reward=0)
LONGEST_ANSWER = 100_000
"""Number of characters of an action that are graded, from its end."""


class MathEnv(DatasetEnv):
    r"""One problem per episode; 1.0 for an answer that is mathematically equal to a right one.

    Args:
        dataset_name: ``org/name`` of a dataset on the hub, unless ``dataset`` is given.
        split: Split of the dataset; None if it has only one.
        dataset: Rows from elsewhere; see ``DatasetEnv.load``.
        question_key: Column of the problems.
        answer_key: Column of the answers: text, a number, or a list of right answers.
        use_format_error_reward: Give -0.1 for an answer without a box instead of 0.
        seed: Seed of the order of rows.
        use_mp: Ignored: slow comparisons run in workers that all environments of the process
            share, and count as wrong after a second.
        kwargs: ``eval=True`` keeps the order of the rows; others are ignored.

    Raises:
        ConfigError: The rows are given as ``data``.
        DataError: The data cannot be used.
        HubError: The dataset cannot be fetched from the hub.
    """

    answer: Any
    """The right answer to the current problem."""

    def __init__(
        self,
        dataset_name: str | None = "",
        split: str | None = None,
        dataset: Any = None,
        question_key: str = "problem",
        answer_key: str = "answer",
        use_format_error_reward: bool = False,
        seed: int = 0,
        use_mp: bool = True,
        **kwargs: Any,
    ) -> None:
        self.question_key, self.answer_key = question_key, answer_key
        self.use_format_error_reward = use_format_error_reward
        self.use_mp = use_mp
        self.load(
            self.columns(),
            dataset_name=dataset_name,
            split=split,
            dataset=dataset,
            ignored=kwargs,
            seed=seed,
            shuffle=not kwargs.get("eval", False),
        )

    def columns(self) -> dict[str, Any]:
        """Return the columns that are read, with their types."""
        return {self.question_key: str, self.answer_key: Answer}

    def take(self, row: Mapping[str, Any]) -> Any:
        self.answer = row[self.answer_key]
        return row[self.question_key]

    def step(self, action: Any) -> Any:
        """Grade an answer."""
        text = action[-LONGEST_ANSWER:]
        if self.use_format_error_reward and last_boxed(text) is None:
            return TERMINAL_STATE, FORMAT_ERROR_REWARD, True, True, {}
        correct = bool(self.check_correct(text, self.answer))
        return TERMINAL_STATE, float(correct), True, True, {"correct": correct}

    @staticmethod
    def check_correct(model_answer: str, gt_answer: Any) -> bool:
        r"""Return whether a response has the right answer in its last box.

        Args:
            model_answer: A response, which is wrong without a box; or the content of its box, from
                ``extract_last_boxed_answer``.
            gt_answer: The right answer, or a list of right answers.

        Raises:
            ValueError: ``gt_answer`` has another type.
        """
        if not isinstance(gt_answer, str | int | float | list):
            raise ValueError(  # noqa: TRY004 - gem-llm's
                f"The right answer is text, a number or a list; got {gt_answer!r}."
            )
        is_content = isinstance(model_answer, BoxedAnswer)
        answer = model_answer if is_content else last_boxed(model_answer)
        golds = [last_boxed(gold) or gold for gold in gold_answers(gt_answer)]
        return answer is not None and grade(answer, golds).correct

    @functools.cached_property
    def mp_pool(self) -> Any:
        """A pool of one process, for subclasses that grade in it."""
        return multiprocessing.get_context("spawn").Pool(1)

    def spawn(self, same_state: bool = False, **kwargs: Any) -> Self:
        """Return a new environment over the same rows; see ``DatasetEnv.spawn``."""
        twin = super().spawn(same_state, **kwargs)
        twin.__dict__.pop("mp_pool", None)
        return twin

    def sample_random_action(self) -> str:
        return r"\boxed{42}"

    def close(self) -> None:
        pool = self.__dict__.pop("mp_pool", None)
        if pool is not None:
            pool.terminate()
            pool.join()
