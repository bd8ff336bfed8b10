"""Where episodes come from: one environment, or several in shares that are fixed or adapt."""

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Protocol

from gem_core.env import Env
from gem_core.errors import ConfigError, near_names
from gem_core.mixture import Component
from gem_core.seeding import child_seed
from gem_rollout.report import Report
from gem_rollout.trajectory import Trajectory

__all__ = ["Component", "Draw", "Sampler", "Sources", "sources_by_name"]


Sources = Callable[[], Env] | Sequence[Component] | Mapping[str, Component]
"""What ``collect`` takes: what makes the one environment, or the sources of a mixture."""


class Sampler(Protocol):
    """Decides the shares of a mixture while it runs.

    Which episode is of which source then depends on the order in which results came, so it is
    only in the trajectories (``source``). A run is continued with the numbers that are missing; a
    sampler that is to go on where it was is told of the old trajectories by ``update`` first.
    """

    def weights(self, report: Report) -> Mapping[str, float]:
        """Return the share of each source by its name; asked whenever a group begins."""

    def update(self, trajectory: Trajectory) -> None:
        """Take note of an episode that has ended."""


def sources_by_name(sources: Sources) -> dict[str, Component]:
    """Return the sources by name; a single environment has the name ``""``.

    Raises:
        ConfigError: None at all, two of one name, or weights that cannot work.
    """
    if callable(sources):
        return {"": Component(sources)}
    named: dict[str, Component] = {}
    pairs = (
        list(sources.items())
        if isinstance(sources, Mapping)
        else [(_name(source, number), source) for number, source in enumerate(sources)]
    )
    for name, source in pairs:
        if name in named:
            raise ConfigError(f"Two sources are called {name!r}: give one a name of its own.")
        named[name] = source
    _check_weights({name: source.weight for name, source in named.items()}, named)
    return named


def _name(source: Component, number: int) -> str:
    if source.name is not None:
        return source.name
    spec = getattr(source.make_env, "spec", None)
    return getattr(spec, "id", None) or f"source-{number}"


def _check_weights(weights: Mapping[str, float], sources: Mapping[str, Component]) -> None:
    for name in weights:
        if name not in sources:
            raise ConfigError(f"There is no source {name!r}.{near_names(name, sources)}")
    values = list(weights.values())
    if not values or min(values) < 0 or not 0 < sum(values) < math.inf:
        raise ConfigError(
            f"A mixture needs weights of 0 or more with a finite sum above 0; got {dict(weights)}."
        )


class Draw:
    """Says which source a group is of, and the how many-th group of that source it is.

    Without a sampler both depend on the seed and the group's number alone.

    Args:
        sources: By name, as ``sources_by_name`` gives them.
        seed: Seed of the run.
        sampler: Gives the weights; None for those of the sources.
        report: What the sampler is shown.
    """

    def __init__(
        self, sources: Mapping[str, Component], seed: int, sampler: Sampler | None, report: Report
    ) -> None:
        self._sources = sources
        self._names = list(sources)
        self._seed = seed
        self._sampler = sampler
        self._report = report
        self._counts = [0] * len(self._names)
        # One entry for each group up to the largest that was asked for.
        self._drawn, self._ranks = array("I"), array("I")
        self._adapted: dict[int, tuple[str, int]] = {}
        self._shares = list(accumulate(source.weight for source in sources.values()))

    def place(self, group: int) -> tuple[str, int]:
        """Return the name of a group's source, and the number of the group among that source's."""
        if len(self._names) == 1:
            return self._names[0], group
        if self._sampler is not None:
            return self._adapt(self._sampler, group)
        while len(self._drawn) <= group:
            self._note(self._draw(len(self._drawn), self._shares))
        return self._names[self._drawn[group]], self._ranks[group]

    def _note(self, number: int) -> None:
        self._drawn.append(number)
        self._ranks.append(self._counts[number])
        self._counts[number] += 1

    def _draw(self, group: int, shares: list[float]) -> int:
        part = child_seed(self._seed, "source", group) / 2**63
        return min(bisect_right(shares, part * shares[-1]), len(shares) - 1)

    def _adapt(self, sampler: Sampler, group: int) -> tuple[str, int]:
        if group not in self._adapted:
            weights = sampler.weights(self._report)
            _check_weights(weights, self._sources)
            shares = list(accumulate(weights.get(name, 0.0) for name in self._names))
            number = self._draw(group, shares)
            self._adapted[group] = self._names[number], self._counts[number]
            self._counts[number] += 1
        return self._adapted[group]

    def forget(self, group: int) -> None:
        """Forget a group of which no further episode will begin."""
        self._adapted.pop(group, None)
