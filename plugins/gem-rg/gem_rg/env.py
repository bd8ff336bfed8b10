r"""The environment: one item of a reasoning-gym task, one answer, and a score from 0 to 1.

The answer is the content of the last ``\boxed{...}`` of the action or, if there is none, of the
last ``<answer>...</answer>``, without what only formats it, such as ``\text{}``
(``gem_core.boxes.unwrapped``); an answer that is right as it was written stays right. An action
without an answer scores 0.0; a score between 0 and 1 means partly right.
"""

import operator
from collections.abc import Mapping
from typing import Any

from gem_core import Action, BaseEnv, Info, Step
from gem_core.boxes import unwrapped
from gem_core.errors import ConfigError, InvalidActionError
from gem_core.faults import boundary
from gem_core.info import graded
from gem_core.seeding import check_seed, child_seed
from gem_core.thoughts import Thoughts, check_thoughts, spoken
from gem_rg import datasets
from gem_rg.catalog import DESCRIPTIONS
from gem_rg.items import Item, Recipe
from gem_tasks.order import permute
from gem_tasks.parsing import NO_BOX, last_boxed, last_tagged
from gem_tasks.rows import checksum

__all__ = ["HINT", "ReasoningGymEnv"]

HINT = r"Put your final answer, and nothing else, in \boxed{}, in exactly the form asked for above."
LONGEST_ANSWER = 100_000
"""The number of characters of an action that are read, counted from its end."""
USUAL_SIZE = 500
_SEEDS = 2**31


class ReasoningGymEnv(BaseEnv):
    """A task of reasoning-gym.

    Items come in the order of the dataset; after the last one, a dataset with another seed follows.
    ``reset(seed=)`` starts at a random item. ``reset(idx=)`` selects an item of the first dataset,
    and the next ``reset()`` continues from there.

    Args:
        name: The task's name in reasoning-gym.
        size: The number of items of a dataset.
        dataset_seed: The seed of the first dataset, which determines the items; ``reset(seed=)``
            only determines where to start. The items are those of
            ``reasoning_gym.create_dataset(name, size=size, seed=dataset_seed)``.
        config: Values for fields of the task's own config, such as ``{"min_animals": 2}``.
        level: The level of the task's curriculum, from 0; or levels of some of its attributes by
            name. ``config`` overrides the values of the level.
        hint: The text after the question; an empty text shows the question alone.
        time_limit: The time in seconds in which a reset must make an item.
        score_limit: The time in seconds for scoring an answer; after it, the answer scores 0.0.
        unwrap: Whether an answer is read without what only formats it; False scores it as written.
        thoughts: Whether an answer in a thought counts if there is none later (``count``) or not.

    Raises:
        ConfigError: An option has an invalid value.
        EntryPointError: In ``reset``: the installed reasoning-gym cannot be used.
    """

    shared = (
        "_recipe",
        "_dataset_seed",
        "_hint",
        "_time_limit",
        "_score_limit",
        "_thoughts",
        "_unwrap",
    )
    blocking = True

    idx: int
    """The number of the current item in its dataset."""
    epoch: int
    """The number of datasets before the current one."""
    item: Item
    """The current item."""
    _next: tuple[int, int] | None = None
    """The epoch and number of the next item; None if a new starting point is to be drawn."""

    def __init__(
        self,
        *,
        name: str,
        size: int = USUAL_SIZE,
        dataset_seed: int = 42,
        config: Mapping[str, Any] | None = None,
        level: int | Mapping[str, int] | None = None,
        hint: str = HINT,
        time_limit: float = 10.0,
        score_limit: float = 2.0,
        unwrap: bool = True,
        thoughts: Thoughts = "ignore",
    ) -> None:
        for key, limit in (("time_limit", time_limit), ("score_limit", score_limit)):
            if not limit > 0:
                raise ConfigError(f"{key} must be a positive number of seconds; got {limit!r}.")
        self._dataset_seed = check_seed(dataset_seed)
        if self._dataset_seed >= _SEEDS:
            raise ConfigError(f"dataset_seed must be below {_SEEDS}; got {dataset_seed}.")
        self._recipe = _recipe(name, size, config, level, time_limit)
        self._hint = hint
        self._time_limit = time_limit
        self._score_limit = score_limit
        self._unwrap = unwrap
        self._thoughts = check_thoughts(thoughts)

    def seed(self, seed: int) -> None:
        super().seed(seed)
        self._next = None

    def start(self, *, idx: int | None = None) -> tuple[str, Info]:
        """Take the next item, or item ``idx``.

        Raises:
            ConfigError: There is no item ``idx``.
            DeadlineError: Making the item exceeded the time limit.
        """
        in_order = idx is None and self._next is not None
        self.epoch, self.idx = self._position() if idx is None else (0, self._checked(idx))
        last = self.idx + 1 == self._recipe.size
        self._next = (self.epoch + 1, 0) if last else (self.epoch, self.idx + 1)
        self.item = datasets.item(
            self._recipe,
            self._current_seed,
            self.idx,
            self._time_limit,
            count=datasets.BATCH if in_order else 1,
        )
        question = self.item.question
        info = {"task_id": checksum([self.item.task, question]), "idx": self.idx}
        return (f"{question.rstrip()}\n\n{self._hint}" if self._hint else question), info

    @property
    def task_count(self) -> int:
        """The number of items of a dataset."""
        return self._recipe.size

    def reset_options(self, number: int, seed: int | None = None) -> dict[str, Any]:
        """Return the item of episode ``number`` of a run: each once, then each once more."""
        if seed is None:
            return {}
        epoch, position = divmod(number, self._recipe.size)
        return {"idx": permute(position, self._recipe.size, child_seed(seed, "rows", epoch))}

    def _position(self) -> tuple[int, int]:
        if self._next is not None:
            return self._next
        return 0, 0 if self._seed is None else self.rng.randrange(self._recipe.size)

    def _checked(self, idx: int) -> int:
        is_number = hasattr(idx, "__index__") and not isinstance(idx, bool)
        number = operator.index(idx) if is_number else -1
        if not 0 <= number < self._recipe.size:
            raise ConfigError(f"idx must be from 0 to {self._recipe.size - 1}; got {idx!r}.")
        return number

    @property
    def _current_seed(self) -> int:
        """The seed of the current dataset. Item n of seed s is often item 0 of seed s + n."""
        return (self._dataset_seed + self.epoch * self._recipe.size) % _SEEDS

    def step(self, action: Action) -> Step:
        if not isinstance(action, str):
            got = type(action).__name__
            raise InvalidActionError(f"An action of {type(self).__name__} is text; got {got}.")
        said = action if self._thoughts == "count" else spoken(action)
        answer = _answer_in(said[-LONGEST_ANSWER:])
        score, error = 0.0, ""
        if answer:
            with boundary("grader"):
                score, error = self._score(answer)
        info: Info = {"correct": score == 1.0, "score": score, "task": self.item.task}
        info["grading"] = graded(
            question=self.item.question,
            expected=self.item.gold,
            extracted=answer,
            score=score,
            reason=_reason(answer, score, error),
        )
        if error:
            info["error"] = error
        if answer is None:
            info["format_error"] = True
        return Step(self._feedback(score), score, True, False, info)

    def _score(self, answer: str) -> tuple[float, str]:
        """Return the score of an answer, unwrapped unless only its own text is right."""
        plain = unwrapped(answer) if self._unwrap else answer
        score, error = self._scored(plain)
        if plain == answer or score == 1.0:
            return score, error
        as_written = self._scored(answer)
        return as_written if as_written[0] == 1.0 else (score, error)

    def _scored(self, answer: str) -> tuple[float, str]:
        return datasets.score(
            self._recipe, self._current_seed, self.item, answer, self._score_limit
        )

    def _feedback(self, score: float) -> str:
        if score == 1.0:
            return "Correct."
        gold = "" if self.item.gold is None else f" The answer is {self.item.gold}."
        return f"Wrong.{gold}" if score == 0.0 else f"Partly right: {score:.2f} of 1.{gold}"

    def solution(self) -> str:
        """Return an action that is graded correct for the current item.

        A few items of ``propositional_logic`` have no such answer, because nothing follows from
        their premises; the action is then the one with the highest score.

        Raises:
            ConfigError: No answer is known.
        """
        answer = datasets.solve(self._recipe, self._current_seed, self.item, self._time_limit)
        if answer is None:
            raise ConfigError(f"No answer to this item of rg:{self.item.task} is known.")
        boxed = f"\\boxed{{{answer}}}"
        return boxed if last_boxed(boxed) == answer else f"<answer>{answer}</answer>"

    def sample_random_action(self) -> Action:
        return f"\\boxed{{{self.action_rng.randrange(100)}}}"


def _reason(answer: str | None, score: float, error: str) -> str:
    if answer is None:
        return f"{NO_BOX}, and no <answer> tag"
    if error:
        return f"the task's scorer: {error}"
    return f"the task's scorer gave {score:.3g} of 1" if answer else "the answer is empty"


def _recipe(
    name: str,
    size: int,
    config: Mapping[str, Any] | None,
    level: int | Mapping[str, int] | None,
    time_limit: float,
) -> Recipe:
    """Return a recipe; a worker checks it unless all options are the defaults."""
    if name in DESCRIPTIONS and size == USUAL_SIZE and not config and level is None:
        return Recipe(name=name, size=size)
    return datasets.make_recipe(name, size=size, config=config, level=level, time_limit=time_limit)


def _answer_in(action: str) -> str | None:
    boxed = last_boxed(action)
    return last_tagged(action) if boxed is None else boxed
