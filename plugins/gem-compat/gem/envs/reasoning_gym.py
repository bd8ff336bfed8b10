r"""The tasks of reasoning-gym.

Items are made and scored in the workers of gem-rg. Code for gem-llm also sets ``ds`` or ``ds_iter``
to rows of its own, or ``reward_fn`` to a scorer of its own; these are used in this process.
"""

import copy
import functools
import pickle
import random
import warnings
from typing import Any, Self

from gem.core import Env
from gem.requirements import needs
from gem.utils.constants import TERMINAL_STATE
from gem.utils.seeds import any_seed
from gem_core.errors import ConfigError, EpisodeEndedError
from gem_core.seeding import child_seed, fresh_seed
from gem_tasks.parsing import last_boxed, last_tagged

with needs("gem-rg"):
    from gem_rg import env as tasks

__all__ = ["ReasoningGymEnv"]

_SEEDS = 2**31


class _Asked(dict[str, Any]):
    """An entry of reasoning-gym, with the snapshot of the environment that asked it."""

    def __init__(self, entry: dict[str, Any], asked: bytes) -> None:
        super().__init__(entry)
        self.asked = asked

    def __reduce__(self) -> Any:
        return _Asked, (dict(self), self.asked)


class ReasoningGymEnv(Env):
    r"""One item of a task per episode; the reward is its score, 0 to 1.

    The answer is the content of the last ``\boxed{}`` or, without one, of the last ``<answer>``.

    Args:
        name: The task's name in reasoning-gym.
        size: Number of items of a dataset; after the last one another dataset follows.
        seed: Seed of the first dataset: any number, or None for a random one.
        hint: Text after the question, such as ``gem_rg.env.HINT``.
        config: Values for fields of the task's config.
        kwargs: Ignored.

    Raises:
        ConfigError: There is no such task, a parameter is out of range, or rows are given as
            ``data`` or ``dataset``.
    """

    idx: int = 0
    """Number of the next item; from ``size`` on, of one in a further dataset."""
    _options: dict[str, Any] = {"hint": "", "config": None}  # noqa: RUF012 - never changed
    _has_own_rows = False

    def __init__(
        self,
        name: str,
        size: int = 500,
        seed: int = 42,
        *,
        hint: str = "",
        config: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if given := sorted({"data", "dataset"} & set(kwargs)):
            raise ConfigError(
                f"ReasoningGymEnv makes its items itself and takes no {given[0]}=...; set env.ds "
                "to rows of your own."
            )
        self.name, self.size, self.seed = name, size, seed
        self._options = {"hint": hint, "config": config}
        self._env  # noqa: B018 - checks the parameters
        self.idx = 0

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("ds", "ds_iter"):
            self.__dict__["_has_own_rows"] = True
        super().__setattr__(name, value)

    @functools.cached_property
    def _dataset_seed(self) -> int:
        seed = any_seed(self.seed)
        seed = fresh_seed() if seed is None else seed
        return seed if seed < _SEEDS else child_seed(seed) % _SEEDS

    @functools.cached_property
    def _env(self) -> tasks.ReasoningGymEnv:
        return tasks.ReasoningGymEnv(
            name=self.name,
            size=self.size,
            dataset_seed=self._dataset_seed,
            unwrap=False,
            thoughts="count",
            **self._options,
        )

    @functools.cached_property
    def ds(self) -> Any:
        """The first dataset; or rows that were assigned: a sequence of reasoning-gym's entries."""
        import reasoning_gym  # noqa: PLC0415 - heavy, and only for code that reads this

        config = self._options["config"] or {}
        return reasoning_gym.create_dataset(
            self.name, size=self.size, seed=self._dataset_seed, **config
        )

    @functools.cached_property
    def ds_iter(self) -> Any:
        """An iterator over ``ds``; one that was assigned provides the items."""
        return iter(self.ds)

    @property
    def data(self) -> dict[str, Any]:
        """The current item as an entry of reasoning-gym."""
        if "_entry" in self.__dict__:
            entry: dict[str, Any] = self._entry
            return entry
        item = self._env.item
        return {"question": item.question, **pickle.loads(item.entry)}  # noqa: S301 - gem-rg's own

    @data.setter
    def data(self, entry: dict[str, Any]) -> None:
        """Set the item that is scored, for subclasses with a ``reset`` of their own."""
        self._entry = entry

    def reset(self, seed: int | None = None, idx: int | None = None) -> Any:
        """Ask the next item, a random one, or item ``idx``.

        Raises:
            ConfigError: There is no such item.
            DeadlineError: Making the item takes too long.
        """
        if self._has_own_rows:
            self._entry = self._take(seed, idx)
            return self._entry["question"], {}
        self.__dict__.pop("_entry", None)
        if idx is not None:
            first = self._env.reset(idx=idx)
            self.idx = idx + 1
        elif seed is not None:
            first = self._env.reset(seed=any_seed(seed))
            self.idx = self._env.idx + 1
        else:
            self._env._next = divmod(self.idx, self.size)  # noqa: SLF001 - gem-rg's next item
            first = self._env.reset()
            self.idx += 1
        self._asked = self._env.snapshot()
        return first

    def _take(self, seed: int | None, idx: int | None) -> dict[str, Any]:
        """Return an entry of the rows that were assigned."""
        rows = self.ds
        if idx is not None:
            if not 0 <= idx < len(rows):
                raise ConfigError(f"idx must be from 0 to {len(rows) - 1}; got {idx!r}.")
            self.idx = idx + 1
            return dict(rows[idx])
        self.idx += 1
        if seed is not None:
            return dict(rows[random.Random(any_seed(seed)).randrange(len(rows))])
        if "ds_iter" not in self.__dict__:
            return dict(rows[(self.idx - 1) % len(rows)])
        entry = next(self.ds_iter, None)
        if entry is None:  # start over
            self.ds_iter = iter(rows)
            entry = next(self.ds_iter)
        return dict(entry)

    def step(self, action: Any) -> Any:
        """Score an answer; the same item can be answered again."""
        if "_entry" in self.__dict__ or self._has_own_scorer():
            answer = last_boxed(action)
            answer = last_tagged(action) if answer is None else answer
            reward = self.reward_fn(answer=answer, entry=self.data)
            return TERMINAL_STATE, float(reward), True, True, {}
        try:
            step = self._env.step(action)
        except EpisodeEndedError:
            self._env.restore(self._asked)
            step = self._env.step(action)
        return TERMINAL_STATE, step.reward, True, True, step.info

    def reward_fn(self, answer: str | None, entry: dict[str, Any]) -> float:
        """Return the score of an answer to an entry; may be overridden or assigned."""
        return float(self.ds.score_answer(answer=answer, entry=entry))

    def _has_own_scorer(self) -> bool:
        own = getattr(self.reward_fn, "__func__", self.reward_fn)
        return own is not ReasoningGymEnv.reward_fn

    def spawn(self, same_state: bool = False, **kwargs: Any) -> Self:
        """Return a new environment of the same task.

        Args:
            same_state: Ask the same item, and continue in the same order.
            kwargs: ``seed`` of the first dataset, without ``same_state``; default 42.
        """
        if same_state:
            return copy.deepcopy(self)
        seed = kwargs.get("seed", 42)
        if seed == self.seed:
            warnings.warn(f"spawn has the parent's seed, {seed}.", stacklevel=2)
        twin = copy.copy(self)
        made = ["_env", "_dataset_seed", "_entry", "_asked", "ds_iter"]
        for name in made if self._has_own_rows else [*made, "ds"]:
            twin.__dict__.pop(name, None)
        twin.seed, twin.idx = seed, 0
        return twin

    def fork(self) -> Self:
        """Return an independent copy in the same state."""
        return self.spawn(same_state=True)

    def get_state(self) -> dict[str, Any]:
        """Return the number of the next item, and the item."""
        data = dict(self.data) if "_entry" in self.__dict__ else _Asked(self.data, self._asked)
        return {"idx": self.idx, "data": data}

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state from ``get_state``."""
        self.idx = state["idx"]
        self.__dict__.pop("_entry", None)
        data = state["data"]
        if isinstance(data, _Asked):
            self._asked = data.asked
            self._env.restore(self._asked)
        else:
            self._entry = data

    def sample_random_action(self) -> Any:
        return self._env.sample_random_action()
