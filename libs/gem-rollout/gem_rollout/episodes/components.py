"""The environments of a run: one, or the components of a mixture with fixed or adaptive weights."""

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from gem_core.env import Env
from gem_core.errors import ConfigError, near_names
from gem_core.factory import make_factory
from gem_core.mixture import Component, MixtureEnv
from gem_core.optional import reset_options
from gem_core.seeding import child_seed
from gem_core.specs import EnvSpec
from gem_rollout.episodes.report import Report
from gem_rollout.records.trajectory import Trajectory

__all__ = [
    "Component",
    "ComponentSampler",
    "Environments",
    "Sampler",
    "components_by_name",
    "options_of_reset",
]


Environments = str | EnvSpec | Callable[[], Env] | Sequence[Component] | Mapping[str, Component]
"""The environments that ``collect`` takes: an id, a spec or a factory, or those of a mixture."""


class Sampler(Protocol):
    """Adapts the weights of a mixture during a run.

    The component of an episode then depends on the order of earlier results, so only the
    trajectories record it (``component``). To continue such a run, first pass the old trajectories
    to ``update``, and play the missing numbers in whole groups.
    """

    def weights(self, report: Report) -> Mapping[str, float]:
        """Return the weight of each component by its name; called when a group begins."""

    def update(self, trajectory: Trajectory) -> None:
        """Take note of an episode that has ended."""


def components_by_name(envs: Environments) -> dict[str, Component]:
    """Return the components by name; a single environment has the name ``""``.

    Raises:
        ConfigError: No components, something else than components, two of one name, or weights
            that are negative or sum to 0.
        UnknownIdError: No environment has the id.
    """
    if isinstance(envs, str | EnvSpec):
        return {"": Component(make_factory(envs))}
    if callable(envs):
        return {"": Component(envs)}
    named: dict[str, Component] = {}
    for name, component in _pairs(envs):
        if not isinstance(component, Component):
            raise ConfigError(f"A mixture consists of gem_rollout.Component; got {component!r}.")
        if name in named:
            raise ConfigError(f"Two components are called {name!r}: give one another name.")
        named[name] = component
    _check_weights({name: component.weight for name, component in named.items()}, named)
    return named


def _pairs(envs: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(envs, Mapping):
        return envs.items()
    if isinstance(envs, Sequence):
        return [(_name(component, number), component) for number, component in enumerate(envs)]
    raise ConfigError(
        f"make_env is an id, a spec, a function that makes an environment, or a list or mapping of "
        f"gem_rollout.Component; got {envs!r}. Episodes that run at the same time need an "
        f"environment each, so pass a function such as lambda: MyEnv() instead of an environment."
    )


def _name(component: Any, number: int) -> str:
    name = getattr(component, "name", None)
    if name is not None:
        return str(name)
    spec = getattr(getattr(component, "make_env", None), "spec", None)
    return getattr(spec, "id", None) or f"component-{number}"


def _check_weights(weights: Mapping[str, float], components: Mapping[str, Component]) -> None:
    for name in weights:
        if name not in components:
            raise ConfigError(f"There is no component {name!r}.{near_names(name, components)}")
    values = list(weights.values())
    if not values or min(values) < 0 or not 0 < sum(values) < math.inf:
        raise ConfigError(
            f"A mixture needs weights of 0 or more with a finite sum above 0; got {dict(weights)}."
        )


class ComponentSampler:
    """Decides to which component each group belongs.

    Without a sampler this depends only on the seed and the group's number.

    Args:
        components: By name, from ``components_by_name``.
        seed: Seed of the run.
        sampler: Gives the weights; None for the components' own.
        report: The report that the sampler gets.
    """

    def __init__(
        self,
        components: Mapping[str, Component],
        seed: int,
        sampler: Sampler | None,
        report: Report,
    ) -> None:
        self._components = components
        self._names = list(components)
        self._seed = seed
        self._sampler = sampler
        self._report = report
        self._counts = [0] * len(self._names)
        # One entry per group, up to the largest group that was asked for.
        self._drawn, self._ranks = array("I"), array("I")
        self._adapted: dict[int, tuple[str, int]] = {}
        self._shares = list(accumulate(component.weight for component in components.values()))

    def component_of(self, group: int) -> tuple[str, int]:
        """Return the name of a group's component, and how many earlier groups belong to it."""
        if len(self._names) == 1:
            return self._names[0], group
        if self._sampler is not None:
            return self._adapt(self._sampler, group)
        while len(self._drawn) <= group:
            number = self._draw(len(self._drawn), self._shares)
            self._drawn.append(number)
            self._ranks.append(self._counts[number])
            self._counts[number] += 1
        return self._names[self._drawn[group]], self._ranks[group]

    def _draw(self, group: int, shares: list[float]) -> int:
        part = child_seed(self._seed, "source", group) / 2**63
        return min(bisect_right(shares, part * shares[-1]), len(shares) - 1)

    def _adapt(self, sampler: Sampler, group: int) -> tuple[str, int]:
        if group not in self._adapted:
            weights = sampler.weights(self._report)
            _check_weights(weights, self._components)
            shares = list(accumulate(weights.get(name, 0.0) for name in self._names))
            number = self._draw(group, shares)
            self._adapted[group] = self._names[number], self._counts[number]
            self._counts[number] += 1
        return self._adapted[group]

    def forget(self, group: int) -> None:
        """Forget a group whose episodes have all ended."""
        self._adapted.pop(group, None)


_samplers: WeakKeyDictionary[MixtureEnv, tuple[int, ComponentSampler]] = WeakKeyDictionary()


def options_of_reset(env: Env, number: int, seed: int | None) -> dict[str, Any]:
    """Return the options of ``reset`` for an episode of a run.

    For a ``MixtureEnv`` these are the component of the episode and that component's own options, so
    that each component goes through its tasks as it would in a run of its own.

    Args:
        env: The environment.
        number: Number of the episode's group.
        seed: Seed of the run; None for the options that do not depend on it.
    """
    inner = env.unwrapped
    if seed is None or not isinstance(inner, MixtureEnv):
        return reset_options(env, number, seed)
    known, sampler = _samplers.get(inner, (None, None))
    if sampler is None or known != seed:
        sampler = ComponentSampler(inner.components, seed, None, Report())
        _samplers[inner] = seed, sampler
    name, rank = sampler.component_of(number)
    return {"component": name, **options_of_reset(inner.env_of(name), rank, seed)}
