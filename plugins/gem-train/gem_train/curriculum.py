"""Curricula: how the environments of a mixture share the episodes while a model learns.

A curriculum is a ``Sampler`` of gem_rollout whose state can be saved in a checkpoint. It depends
on nothing but the episodes it was updated with and draws no random numbers, so a resumed run goes
on exactly as the original would have. Levels of one game are ordinary sources of a mixture, in the
order in which they are written.

Episodes that ended in an error do not count. An episode whose success is unknown counts as a
failure.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

from gem_core.errors import ConfigError, near_names
from gem_rollout import Component, Report, Trajectory
from gem_rollout.episodes.components import Sampler

__all__ = ["Curriculum", "Fixed", "LearningProgress", "Levels"]

_LEAST_PROGRESS = 1e-3


class Curriculum(Sampler, Protocol):
    """A sampler whose state can be saved.

    ``weights`` returns the weights of all sources, in their order.
    """

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain data that JSON represents exactly."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a state that ``state_dict`` returned.

        Raises:
            ConfigError: The state belongs to other sources.
        """


class Fixed:
    """Constant shares.

    Args:
        sources: The sources by name.
        weights: Weights by name, 0 for missing names; None for the sources' own weights.

    Raises:
        ConfigError: A name has no source, a weight is negative or not finite, or all are 0.
    """

    def __init__(
        self, sources: Mapping[str, Component], *, weights: Mapping[str, float] | None = None
    ) -> None:
        if weights is None:
            weights = {name: source.weight for name, source in sources.items()}
        for name in weights:
            _check_source(name, sources)
        self._weights = {name: float(weights.get(name, 0)) for name in sources}
        if not all(0 <= weight < float("inf") for weight in self._weights.values()):
            raise ConfigError(f"Weights must be finite and 0 or more; got {dict(weights)}.")
        if not any(self._weights.values()):
            raise ConfigError(f"One weight must be above 0; got {dict(weights)}.")

    def weights(self, report: Report) -> Mapping[str, float]:
        return dict(self._weights)

    def update(self, trajectory: Trajectory) -> None:
        """Do nothing."""

    def state_dict(self) -> dict[str, Any]:
        return {"sources": list(self._weights)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        _check_same(state, self._weights)


class Levels:
    """One source after the other: the next one begins when the current one is mastered.

    Only episodes of the current level count, and only those since it became the current one.

    Args:
        sources: The sources by name, the easiest first.
        threshold: Success over the last ``episodes`` at which the next level begins, in (0, 1].
        episodes: Length of the window, and the least number of episodes of a level.
        earlier: Share of the episodes that all earlier levels keep together, in [0, 1).
        fall_back: Success over the last ``episodes`` below which the previous level returns, in
            [0, ``threshold``); None for never.

    Raises:
        ConfigError: There is no source, or a value is out of range.
    """

    def __init__(
        self,
        sources: Mapping[str, Component],
        *,
        threshold: float = 0.8,
        episodes: int = 64,
        earlier: float = 0.2,
        fall_back: float | None = None,
    ) -> None:
        self._names = _names_of(sources)
        _check(0 < threshold <= 1, f"threshold must be in (0, 1], got {threshold!r}.")
        _check(episodes >= 1, f"episodes must be 1 or more, got {episodes!r}.")
        _check(0 <= earlier < 1, f"earlier must be in [0, 1), got {earlier!r}.")
        _check(
            fall_back is None or 0 <= fall_back < threshold,
            f"fall_back must be in [0, threshold), got {fall_back!r} and {threshold!r}.",
        )
        self._threshold = threshold
        self._earlier = earlier
        self._fall_back = fall_back
        self._latest: deque[bool] = deque(maxlen=episodes)
        self.level = 0
        """Index of the current level, from 0."""

    def weights(self, report: Report) -> Mapping[str, float]:
        weights = dict.fromkeys(self._names, 0.0)
        for name in self._names[: self.level]:
            weights[name] = self._earlier / self.level
        weights[self._names[self.level]] = 1 - self._earlier if self.level else 1.0
        return weights

    def update(self, trajectory: Trajectory) -> None:
        _check_source(trajectory.component, self._names)
        if trajectory.error is not None or trajectory.component != self._names[self.level]:
            return
        self._latest.append(bool(trajectory.success))
        if len(self._latest) < (self._latest.maxlen or 0):
            return
        success = sum(self._latest) / len(self._latest)
        if success >= self._threshold and self.level < len(self._names) - 1:
            self._move(1)
        elif self._fall_back is not None and success < self._fall_back and self.level > 0:
            self._move(-1)

    def _move(self, by: int) -> None:
        self.level += by
        self._latest.clear()

    def state_dict(self) -> dict[str, Any]:
        return {"sources": list(self._names), "level": self.level, "latest": list(self._latest)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        _check_same(state, self._names)
        self.level = state["level"]
        self._latest.clear()
        self._latest.extend(state["latest"])


class LearningProgress:
    """Larger shares for sources whose success is changing, smaller ones for the others.

    Progress is the distance between a fast and a slow moving average of a source's success::

        p_i = |fast_i - slow_i| + 0.001    share_i = floor / n + (1 - floor) p_i / sum_j p_j

    I. Kanitscheider et al. (2021), "Multi-task curriculum learning in a complex, visual,
    hard-exploration domain: Minecraft", arXiv:2106.14876. The absolute value, which brings back
    what is being forgotten, is from T. Matiisen et al. (2017), "Teacher-Student Curriculum
    Learning", arXiv:1707.00183. The constant makes shares equal if there is hardly any progress.

    The averages are exponential over the episodes of a source. The first episode sets both, so a
    source that is solved from the start shows no progress.

    Args:
        sources: The sources by name.
        fast: Span of the fast average in episodes of a source, above 1. A span below the number of
            episodes of a source in a step follows chance.
        slow: Span of the slow average in episodes, above ``fast``.
        floor: Share of the episodes that is divided equally among all sources, in (0, 1].

    Raises:
        ConfigError: There is no source, or a value is out of range.
    """

    def __init__(
        self,
        sources: Mapping[str, Component],
        *,
        fast: float = 64,
        slow: float = 256,
        floor: float = 0.2,
    ) -> None:
        names = _names_of(sources)
        _check(
            1 < fast < slow < float("inf"),
            f"fast must be above 1 and below slow, got {fast!r} and {slow!r}.",
        )
        _check(0 < floor <= 1, f"floor must be in (0, 1], got {floor!r}.")
        self._fast, self._slow, self._floor = 1 / fast, 1 / slow, floor
        self._count = dict.fromkeys(names, 0)
        self._averages = dict.fromkeys(names, (0.0, 0.0))

    def weights(self, report: Report) -> Mapping[str, float]:
        progress = {name: self.progress(name) + _LEAST_PROGRESS for name in self._count}
        total, equal = sum(progress.values()), 1 / len(progress)
        return {
            name: self._floor * equal + (1 - self._floor) * value / total
            for name, value in progress.items()
        }

    def progress(self, name: str) -> float:
        """Return the distance between the averages of a source, in [0, 1]."""
        fast, slow = self._averages[name]
        return abs(fast - slow)

    def update(self, trajectory: Trajectory) -> None:
        name = trajectory.component
        _check_source(name, self._count)
        if trajectory.error is not None:
            return
        self._count[name] += 1
        success, count = float(bool(trajectory.success)), self._count[name]
        fast, slow = self._averages[name]
        # Bias correction as in Adam, in incremental form: the weights of all episodes sum to 1.
        fast += self._fast / (1 - (1 - self._fast) ** count) * (success - fast)
        slow += self._slow / (1 - (1 - self._slow) ** count) * (success - slow)
        self._averages[name] = fast, slow

    def state_dict(self) -> dict[str, Any]:
        averages = {name: list(pair) for name, pair in self._averages.items()}
        return {"sources": list(self._count), "count": dict(self._count), "averages": averages}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        _check_same(state, self._count)
        for name in self._count:
            self._count[name] = state["count"][name]
            fast, slow = state["averages"][name]
            self._averages[name] = fast, slow


def _names_of(sources: Mapping[str, Component]) -> list[str]:
    _check(bool(sources), "A curriculum needs at least one source.")
    return list(sources)


def _check(condition: bool, message: str) -> None:  # noqa: FBT001 - what is checked comes first
    if not condition:
        raise ConfigError(message)


def _check_source(name: str, known: Any) -> None:
    if name not in known:
        raise ConfigError(
            f"There is no source {name!r}.{near_names(name, known)} Sources: {', '.join(known)}."
        )


def _check_same(state: Mapping[str, Any], names: Any) -> None:
    if list(state["sources"]) != list(names):
        raise ConfigError(
            f"The state belongs to the sources {', '.join(state['sources'])}; this run has "
            f"{', '.join(names)}. Resume with the same sources in the same order."
        )
