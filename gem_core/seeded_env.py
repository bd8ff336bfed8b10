"""The common base of environments for one agent and for several: randomness, copies, closing."""

import functools
import random
from typing import Any, ClassVar, Self

from gem_core.errors import ConfigError, EpisodeEndedError
from gem_core.seeding import check_seed, child_seed, fresh_seed
from gem_core.specs import EnvSpec
from gem_core.stateful import Stateful

__all__ = ["SeededEnv", "check_single_agent"]


class SeededEnv(Stateful):
    """An environment with its own random generator, snapshots and forks."""

    shared: ClassVar[tuple[str, ...]] = ("spec",)
    multi_agent: ClassVar[bool] = False
    """Whether ``step`` takes a mapping from agents to actions instead of one action."""
    blocking: bool = False
    unseeded_info: ClassVar[frozenset[str]] = frozenset()
    """Keys of ``info`` whose values the seed does not decide, such as times."""
    spec: EnvSpec | None = None
    _ended: bool | None = None
    """None before the first reset."""
    _action_rng: random.Random | None = None
    _action_seed: int | None = None
    _seed: int | None = None

    @functools.cached_property
    def rng(self) -> random.Random:
        """The environment's own generator, seeded by ``reset(seed=)``."""
        return random.Random()

    def seed(self, seed: int) -> None:
        """Make the next ``reset()`` and all that follow it repeatable."""
        self._seed = check_seed(seed)
        self._action_rng = self._action_seed = None
        self.rng.seed(self._salted(self._seed))

    def get_state(self) -> dict[str, Any]:
        """Return the attributes that make up the state."""
        return {**super().get_state(), "rng": self.rng}

    @property
    def action_rng(self) -> random.Random:
        """The generator of ``sample_random_action``: sampling never changes the episode."""
        if self._action_rng is None:
            seed = self._action_seed
            if seed is None and self._seed is not None:
                seed = child_seed(self._seed, "actions")
            self._action_rng = random.Random(None if seed is None else self._salted(seed))
        return self._action_rng

    def _salted(self, seed: int) -> str:
        """Return the seed with a salt, so that different environments draw differently from it."""
        return f"{self.spec.id if self.spec else type(self).__qualname__} {seed}"

    def seed_actions(self, seed: int) -> None:
        """Seed ``action_rng``; by default its seed is derived from the episode's."""
        self._action_rng, self._action_seed = None, check_seed(seed)  # created on first use

    def spawn(self, *, seed: int | None = None, same_state: bool = False) -> Self:
        """Return a new environment of the same configuration; see ``Env.spawn``."""
        twin = self.fork()
        if not same_state:
            twin._ended = None  # noqa: SLF001 - its own class
            twin.seed(fresh_seed() if seed is None else seed)
        return twin

    def close(self) -> None:
        """Release the environment's resources; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _not_running(self) -> EpisodeEndedError:
        why = "no episode has been started" if self._ended is None else "the episode has ended"
        return EpisodeEndedError(f"{type(self).__name__}.step: {why}. Call reset() first.")


def check_single_agent(env: object, what: str) -> None:
    """Refuse an environment for several agents where one for a single agent is needed.

    Args:
        env: The environment.
        what: What needs it, for the message.

    Raises:
        ConfigError: ``env.multi_agent`` is true.
    """
    if getattr(env, "multi_agent", False):
        raise ConfigError(
            f"{type(env).__name__} is for several agents, and {what} is for one. "
            f"gem_rollout.as_single(env, agent, others=...) makes an environment for one of them."
        )
