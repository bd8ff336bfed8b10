"""``Env`` and ``EnvWrapper``, the base classes of environments and wrappers."""

import abc
import random
import sys
from typing import Any, Self, TypeVar

from gem.utils.seeds import any_seed
from gem_core.env import Step, Wrapper
from gem_core.maybe_async import then
from gem_core.stateful import Stateful

__all__ = ["ActType", "Env", "EnvWrapper", "ObsType"]

ObsType = TypeVar("ObsType")
ActType = TypeVar("ActType")


class Env(Stateful, abc.ABC):
    """Base of environments: write ``reset`` and ``step``.

    ``make`` sets ``env_id`` and ``entry_point``. Besides what gem-llm has, an environment has
    ``snapshot``, ``restore`` and ``fork``, as long as its attributes can be pickled.
    """

    env_id: str
    entry_point: Any

    @abc.abstractmethod
    def step(self, action: Any) -> Any:
        """Take one action.

        Returns:
            Observation, reward, terminated, truncated and info.
        """

    @abc.abstractmethod
    def reset(self, seed: int | None = None) -> Any:
        """Start an episode and return observation and info.

        Subclasses call this one first. With a seed it seeds the global ``random`` and, if it has
        been imported, ``numpy.random``, because environments for gem-llm use those. The
        environments of this package have their own generators and do not call it.

        Raises:
            ConfigError: The seed is not a number; it is a ValueError.
        """
        number = any_seed(seed)
        if number is None:
            return
        random.seed(number)
        numpy: Any = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed(number % 2**32)

    def sample_random_action(self) -> Any:
        """Return an action."""
        raise NotImplementedError(f"{type(self).__name__} does not sample actions.")

    @property
    def unwrapped(self) -> Any:
        """The environment itself; for a wrapper, the innermost environment."""
        return self

    def spawn(self, same_state: bool = False, **kwargs: Any) -> Any:
        """Return a new environment of the same kind."""
        raise NotImplementedError(f"{type(self).__name__} cannot be spawned.")

    def close(self) -> None:
        """Release the resources of the environment; may be called twice."""


class EnvWrapper(Wrapper, Env):
    """Base of wrappers: override ``reset`` and ``step``.

    Attributes that the wrapper lacks are looked up in ``self.env`` each time.

    Args:
        env: The environment, or another wrapper.
    """

    layer = None

    def __init__(self, env: Any) -> None:
        super().__init__(env)

    def reset(self, seed: int | None = None, **kwargs: Any) -> Any:
        """Reset the wrapped environment."""
        first: Any = self.env.reset(seed=seed, **kwargs)
        return then(first, lambda pair: self.after_reset(*pair))

    def step(self, action: Any) -> Any:
        """Step the wrapped environment."""
        step: Any = self.env.step(action)
        if type(step) is Step:
            return self.after_step(action, step)
        if type(step) is tuple:
            return self.after_step(action, Step(*step))
        return then(step, lambda later: self.after_step(action, Step(*later)))

    def spawn(self, same_state: bool = False, **kwargs: Any) -> Self:
        """Return a new stack of the same kind."""
        return self._around(self.env.spawn(same_state=same_state, **kwargs))
