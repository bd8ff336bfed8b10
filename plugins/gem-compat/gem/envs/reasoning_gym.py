"""The tasks of reasoning-gym."""

import warnings
from typing import Any, Self

from gem.core import Env
from gem.requirements import needs
from gem.utils.constants import TERMINAL_STATE
from gem_core.errors import EpisodeEndedError

with needs("gem-rg"):
    from gem_rg import env as tasks

__all__ = ["ReasoningGymEnv"]


class ReasoningGymEnv(Env):
    r"""One item of a task per episode; the reward is its score, 0 to 1.

    The answer is the content of the last ``\boxed{}`` or, without one, of the last ``<answer>``.

    Args:
        name: The task's name in reasoning-gym.
        size: Number of items of a dataset; after the last one another dataset follows.
        seed: Seed of the first dataset.
        hint: Text after the question, such as ``gem_rg.env.HINT``.
        config: Values for fields of the task's config.
        kwargs: Ignored.

    Raises:
        ConfigError: There is no such task, or a parameter is out of range.
    """

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
        self.name, self.size, self.seed = name, size, seed
        self._options = {"hint": hint, "config": config}
        self._env = tasks.ReasoningGymEnv(
            name=name, size=size, dataset_seed=seed, hint=hint, config=config
        )

    @property
    def idx(self) -> int:
        """Number of the current item in its dataset."""
        return self._env.idx

    def reset(self, seed: int | None = None, idx: int | None = None) -> Any:
        """Ask the next item, a random one, or item ``idx``.

        Raises:
            ConfigError: There is no such item.
            DeadlineError: Making the item takes too long.
        """
        first = self._env.reset(seed=seed, **({} if idx is None else {"idx": idx}))
        self._asked = self._env.snapshot()
        return first

    def step(self, action: Any) -> Any:
        """Score an answer; the same item can be answered again."""
        try:
            step = self._env.step(action)
        except EpisodeEndedError:
            self._env.restore(self._asked)
            step = self._env.step(action)
        return TERMINAL_STATE, step.reward, True, True, step.info

    def spawn(self, same_state: bool = False, **kwargs: Any) -> Self:
        """Return a new environment of the same task.

        Args:
            same_state: Ask the same item, and continue in the same order.
            kwargs: ``seed`` of the first dataset, without ``same_state``; default 42.
        """
        seed = self.seed if same_state else kwargs.get("seed", 42)
        if seed == self.seed and not same_state:
            warnings.warn(f"spawn has the parent's seed, {seed}.", stacklevel=2)
        twin = type(self)(self.name, self.size, seed, **self._options)  # type: ignore[arg-type]
        if same_state:
            twin.set_state(self.get_state())
        return twin

    def fork(self) -> Self:
        """Return an independent copy in the same state."""
        return self.spawn(same_state=True)

    def get_state(self) -> dict[str, Any]:
        """Return the number of the item, and the item."""
        return {"idx": self.idx, "data": self._asked}

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state from ``get_state``."""
        self._asked = state["data"]
        self._env.restore(self._asked)

    def sample_random_action(self) -> Any:
        return self._env.sample_random_action()
