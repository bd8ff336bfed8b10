"""Reserves a part of the budget for each episode in flight, so that the run does not exceed it.

An episode is expected to use no less than it has used so far, and what all episodes of its
environment have used, divided by the number of those that ended: the average of those alone would
be too low, as short episodes end first. Before any has ended, it is ten times what the largest one
in flight has used, so that a run with a large budget need not wait for the first to end. The first
episode of an environment may begin alone as long as anything is left.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable

from gem_rollout.episodes.policy import Budget
from gem_rollout.episodes.report import EnvReport
from gem_rollout.records.trajectory import Trajectory

__all__ = ["Reservations"]

_QUANTITIES: dict[str, Callable[[EnvReport], float]] = {
    "turns": lambda one: one.turns,
    "tokens": lambda one: one.tokens,
    "cost": lambda one: one.cost,
}

_CAUTION = 10
"""How much more than now an episode may use by its end, if none has ended."""


class _Live:
    """An attempt at an episode in flight, and what it has used so far."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.component = trajectory.component
        self._trajectory = trajectory
        self._used = EnvReport()

    def used(self) -> EnvReport:
        self._used.spend_turns(itertools.islice(self._trajectory.turns, self._used.turns, None))
        return self._used


class Reservations:
    """The budget of a run.

    Args:
        budget: The budget.
    """

    def __init__(self, budget: Budget) -> None:
        self._limits = {
            name: limit for name in _QUANTITIES if (limit := getattr(budget, name)) is not None
        }
        self._live: dict[int, _Live] = {}
        self._ended: dict[str, EnvReport] = defaultdict(EnvReport)
        self._total = EnvReport()

    @property
    def in_flight(self) -> int:
        """The number of attempts in flight."""
        return len(self._live)

    def begin(self, trajectory: Trajectory) -> None:
        """Reserve for an attempt at an episode, which adds its turns to the trajectory."""
        if self._limits:
            self._live[id(trajectory)] = _Live(trajectory)

    def end(self, trajectory: Trajectory, result: Trajectory | None) -> None:
        """Count what an attempt has used instead.

        Args:
            trajectory: The trajectory that it began with.
            result: Its record; None if it was cut off.
        """
        if self._live.pop(id(trajectory), None) is None or result is None:
            return
        for report in (self._ended[trajectory.component], self._total):
            report.spend(result)
            report.episodes += 1

    def exceeded(self, component: str) -> str:
        """Return the limit that another episode may exceed; empty if it can begin.

        Args:
            component: The component that the episode belongs to.
        """
        live = [(one.component, one.used()) for one in self._live.values()]
        is_alone = not live and not self._ended[component].episodes
        if live and not self._total.episodes and not any(used.turns for _, used in live):
            return next(iter(self._limits), "")
        for name, limit in self._limits.items():
            of = _QUANTITIES[name]
            now = [(one, of(used)) for one, used in live]
            expected = self._expected(of, now, {component, *(one for one, _ in now)})
            reserved = sum(max(used, expected[one]) for one, used in now)
            used = of(self._total) + reserved
            more = 0.0 if is_alone else expected[component]
            if used >= limit or used + more > limit:
                return name
        return ""

    def _expected(
        self,
        of: Callable[[EnvReport], float],
        live: list[tuple[str, float]],
        components: Iterable[str],
    ) -> dict[str, float]:
        """Return what an episode of each component is expected to use.

        Args:
            of: The quantity.
            live: The component of each attempt in flight, and what it has used so far.
            components: The components.
        """
        if not self._total.episodes:
            return dict.fromkeys(components, _CAUTION * max((used for _, used in live), default=0))
        in_flight = defaultdict[str, float](float)
        for one, used in live:
            in_flight[one] += used
        average = (of(self._total) + sum(in_flight.values())) / self._total.episodes
        return {
            one: (of(ended) + in_flight[one]) / ended.episodes
            if (ended := self._ended[one]).episodes
            else average
            for one in components
        }
