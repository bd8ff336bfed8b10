"""Several environments with one ``reset`` and ``step``, based on ``gem_core.vector.VectorEnv``."""

import enum
import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from gem.core import Env
from gem_core import vector
from gem_core.errors import ConfigError, EnvironmentFault
from gem_core.plugins import default_registry
from gem_core.specs import EXECUTORS
from gem_core.vector.slot import Autoreset

__all__ = ["ArrayType", "AutoresetMode", "VectorEnv"]

ArrayType = TypeVar("ArrayType")


class AutoresetMode(enum.Enum):
    """When the next episode starts after the end of one."""

    NEXT_STEP = "NextStep"
    """The next step ignores its action and returns the new episode's first observation."""
    SAME_STEP = "SameStep"
    """The step has the old episode's reward and flags, and the new one's observation and info.

    ``info["final_obs"]`` and ``info["final_info"]`` belong to the old episode.
    """


_MODES: dict[AutoresetMode, Autoreset] = {
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
}


class VectorEnv(Env):
    """Several environments with one ``step``.

    Args:
        env_ids: Their ids.
        env_fns: Functions that make them.
        autoreset_mode: An ``AutoresetMode``, or its value.

    Raises:
        ConfigError: There is no such mode.
    """

    executor: ClassVar[str] = "serial"
    """The executor: ``serial`` or ``threads``."""

    def __init__(
        self,
        env_ids: Sequence[str],
        env_fns: Sequence[Callable[[], Any]],
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
    ) -> None:
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError as error:
            names = ", ".join(repr(mode.value) for mode in AutoresetMode)
            raise ConfigError(f"autoreset_mode is {names}; got {autoreset_mode!r}.") from error
        self.env_ids, self.env_fns = env_ids, env_fns
        self.envs = [make_env() for make_env in env_fns]
        self.num_envs = len(self.envs)

    @functools.cached_property
    def _vector(self) -> vector.VectorEnv:
        return vector.VectorEnv(
            [partial(_Element, self.envs, index) for index in range(self.num_envs)],
            executor=default_registry().make(EXECUTORS, self.executor),
            autoreset=_MODES[self.autoreset_mode],
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to copy and to pickle; threads are started anew."""
        return {name: value for name, value in self.__dict__.items() if name != "_vector"}

    def reset(self, seed: int | Sequence[int | None] | None = None, **kwargs: Any) -> Any:
        """Start an episode in every environment.

        Args:
            seed: An int s, so that environment i gets s + i; or a seed for each.
            kwargs: ``env0_kwargs={...}`` goes to the reset of environment 0, and so on; others
                cause a warning.

        Returns:
            A list of observations and a list of infos.

        Raises:
            ConfigError: The number of seeds is wrong.
        """
        if seed is None or isinstance(seed, Sequence | np.ndarray):
            seeds: list[int | None] = [None] * self.num_envs if seed is None else list(seed)
        else:
            seeds = [seed + index for index in range(self.num_envs)]
        if not self.envs:
            return [], []
        options = [kwargs.pop(f"env{index}_kwargs", None) or {} for index in range(self.num_envs)]
        if kwargs:
            warnings.warn(
                f"reset ignores {', '.join(kwargs)}: the environments take env0_kwargs to "
                f"env{self.num_envs - 1}_kwargs.",
                stacklevel=2,
            )
        return _unwrapped(partial(self._vector.reset, seed=seeds, options=options))

    def step(self, actions: Sequence[Any] | Mapping[int, Any]) -> Any:
        """Step every environment, or those that are keys of a mapping.

        Returns:
            A list of observations, arrays of rewards (float64), of terminations and of truncations
            (bool), and a list of infos, in the order of the actions.

        Raises:
            ConfigError: The number of actions is wrong, or an index does not exist.
        """
        if isinstance(actions, Mapping):
            actions = {int(index): action for index, action in actions.items()}
        elif not isinstance(actions, str):
            actions = list(actions)
        batch = _NOTHING
        if self.envs:
            batch = _unwrapped(partial(self._vector.step, actions))
        for info in batch.infos:
            if "final_observation" in info:
                info["final_obs"] = info.pop("final_observation")
        return (
            batch.observations,
            np.array(batch.rewards, dtype=np.float64),
            np.array(batch.terminated, dtype=np.bool_),
            np.array(batch.truncated, dtype=np.bool_),
            batch.infos,
        )

    def sample_random_action(self) -> list[Any]:
        """Return an action of every environment."""
        return [env.sample_random_action() for env in self.envs]

    def close(self) -> None:
        """Close every environment and end all threads; may be called twice."""
        if "_vector" in self.__dict__:
            self._vector.close()


_NOTHING = vector.BatchStep([], [], [], [], [])


class _Element:
    """The environment that ``envs`` has now at an index; it may be replaced."""

    def __init__(self, envs: list[Any], index: int) -> None:
        self._envs, self._index = envs, index

    def reset(self, **options: Any) -> Any:
        return self._envs[self._index].reset(**options)

    def step(self, action: Any) -> Any:
        return self._envs[self._index].step(action)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._envs[self._index], name)


def _unwrapped(call: Callable[[], Any]) -> Any:
    """Return the result of a call; raise an environment's own exception."""
    try:
        return call()
    except EnvironmentFault as fault:
        raise (fault.__cause__ or fault) from None
