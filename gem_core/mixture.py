"""A mixture of environments: each episode is played in one of them, drawn by weight."""

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from gem_core.env import BaseEnv, Env, Step
from gem_core.errors import ConfigError, SnapshotError, near_names
from gem_core.maybe_async import then
from gem_core.observation import Action, Info, Observation
from gem_core.optional import seed_actions

__all__ = ["Component", "MixtureEnv"]


@dataclass(frozen=True)
class Component:
    """One environment of a mixture.

    Args:
        make_env: Makes the environment; called when the component is first drawn.
        weight: Its share of the episodes relative to the other components; 0 or more.
        name: Its name in trajectories and reports; None for the id of the factory's spec.
    """

    make_env: Callable[[], Env]
    weight: float = 1.0
    name: str | None = None


class MixtureEnv(BaseEnv):
    """Draws one of several environments for each episode; ``info["component"]`` is its name.

    Args:
        components: The environments by name.

    Raises:
        ConfigError: There are no components, a weight is negative, or their sum is 0 or infinite.
    """

    shared: ClassVar[tuple[str, ...]] = ("components", "_envs")

    def __init__(self, components: Mapping[str, Component]) -> None:
        weights = [component.weight for component in components.values()]
        if not components or min(weights) < 0 or not 0 < sum(weights) < math.inf:
            raise ConfigError(
                f"A mixture needs components with weights of 0 or more and a finite sum above 0; "
                f"got { {name: component.weight for name, component in components.items()} }."
            )
        self.components = dict(components)
        self._envs: dict[str, Env] = {}
        self._current = ""

    @property
    def env(self) -> Env:
        """The environment of the current episode."""
        return self.env_of(self._current)

    def env_of(self, name: str) -> Env:
        """Return the environment of a component, made when it is first needed."""
        if name not in self.components:
            raise ConfigError(f"There is no component {name!r}.{near_names(name, self.components)}")
        if name not in self._envs:
            self._envs[name] = self.components[name].make_env()
        return self._envs[name]

    @property
    def blocking(self) -> bool:  # type: ignore[override]
        """Whether a step may block in one of the environments drawn so far."""
        return any(env.blocking for env in self._envs.values())

    def start(self, *, component: str | None = None, **options: Any) -> Any:
        """Begin an episode in the named component, or in one that is drawn."""
        weights = [one.weight for one in self.components.values()]
        (drawn,) = self.rng.choices(list(self.components), weights)
        self._current = drawn if component is None else component
        first = self.env.reset(seed=self.rng.getrandbits(63), **options)
        return then(first, self._name_component)

    def _name_component(self, first: tuple[Observation, Info]) -> tuple[Observation, Info]:
        return first[0], {**first[1], "component": self._current}

    def step(self, action: Action) -> Any:
        return then(self.env.step(action), self._name_step)

    def _name_step(self, step: Step) -> Step:
        return step._replace(info={**step.info, "component": self._current})

    def sample_random_action(self) -> Action:
        return self.env.sample_random_action()

    def seed_actions(self, seed: int) -> None:
        """Seed the random actions of the current episode's environment, if it can."""
        seed_actions(self.env, seed)

    def get_state(self) -> dict[str, Any]:
        """Return the state, that of the current environment included."""
        current = self.env.snapshot() if self._current else None
        return {**super().get_state(), "current_env": current}

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state from ``get_state``."""
        own = dict(state)
        snapshot = own.pop("current_env")
        if snapshot is not None:
            if own["_current"] not in self.components:
                raise SnapshotError(
                    f"The snapshot is of component {own['_current']!r}, which this mixture lacks."
                )
            self.env_of(own["_current"]).restore(snapshot)
        super().set_state(own)

    def fork(self) -> Self:
        """Return an independent copy."""
        twin = copy.copy(self)
        twin._envs = {}  # noqa: SLF001 - its own class
        twin.restore(self.snapshot())
        return twin

    def close(self) -> None:
        """Close the environments that were made."""
        for env in self._envs.values():
            env.close()
