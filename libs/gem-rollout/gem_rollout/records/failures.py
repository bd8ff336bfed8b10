"""Counts the episodes that ended with an error, to say how many, where and why."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

from gem_rollout.records.trajectory import Trajectory

__all__ = ["Failure", "Failures", "repeat_advice"]

_LONGEST = 300
"""The number of characters of a message that are shown."""
_MOST = 5
"""The number of reasons that are shown."""
_REPEAT = "repeat_errors=true"
_FRAME = re.compile(r'^ *File "(?P<file>.+)", line (?P<line>\d+), in (?P<name>.+)$', re.MULTILINE)


class Failure(NamedTuple):
    """An error that ended an episode."""

    boundary: str
    """Where it came from, such as ``env``."""
    kind: str
    """Its type, such as ``InvalidActionError``."""
    message: str
    """The beginning of its message's first line."""
    place: str
    """Where it was raised, as ``FILE:LINE in FUNCTION``; empty if that is not known."""

    @classmethod
    def of(cls, error: Mapping[str, Any] | None) -> Self | None:
        """Return the failure of a trajectory's ``error``; None without an error."""
        if not error:
            return None
        message = str(error.get("message", "")).partition("\n")[0]
        short = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."
        frames = list(_FRAME.finditer(str(error.get("traceback", ""))))
        place = "{file}:{line} in {name}".format(**frames[-1].groupdict()) if frames else ""
        return cls(str(error.get("boundary", "")), str(error.get("type", "")), short, place)


@dataclass
class _Reason:
    """The failures of the same boundary and type; the first one is the example."""

    example: Failure
    count: int = 0


@dataclass
class Failures:
    """The failures of a run; falsy while there are none."""

    _episodes: Counter[tuple[str, str]] = field(default_factory=Counter)
    _failed: Counter[tuple[str, str]] = field(default_factory=Counter)
    _reasons: dict[tuple[str, str], _Reason] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._failed)

    @property
    def total(self) -> int:
        """The number of episodes that ended with an error."""
        return self._failed.total()

    @property
    def episodes(self) -> int:
        """The number of all episodes."""
        return self._episodes.total()

    @property
    def is_total(self) -> bool:
        """Whether there are episodes, and every one of them failed."""
        return 0 < self.episodes == self.total

    def are_too_many(self, limit: float) -> bool:
        """Return whether a larger share of the episodes failed than a command accepts.

        Args:
            limit: The largest accepted share, 0 to 1. A run of failures only is never accepted.
        """
        return self.is_total or self.total > limit * self.episodes

    def add(self, trajectory: Trajectory) -> None:
        """Count an episode."""
        self.add_episode(trajectory.env_name, trajectory.agent, Failure.of(trajectory.error))

    def add_episode(self, env: str, agent: str, failure: Failure | None) -> None:
        """Count an episode; ``failure`` is None if it ended without an error."""
        self._episodes[env, agent] += 1
        if failure is not None:
            self._failed[env, agent] += 1
            key = failure.boundary, failure.kind
            self._reasons.setdefault(key, _Reason(failure)).count += 1

    def advice(self, limit: float, out: Path | str) -> list[str]:
        """Return the lines to print if too many episodes failed: why the exit status is 1.

        Args:
            limit: See ``are_too_many``.
            out: The run's folder.
        """
        if not self.are_too_many(limit):
            return []
        lines = [repeat_advice(out)]
        if not self.is_total:
            share = self.total / self.episodes
            lines.insert(
                0,
                f"{share:.0%} of the episodes failed, more than fail_on_error={limit:g} accepts, "
                f"so the exit status is 1. fail_on_error=1 accepts any share.",
            )
        return lines

    def lines(self, log: Path | str = "") -> list[str]:
        """Return the lines to print: how many episodes failed, where all did, and the reasons.

        Args:
            log: The file with the episodes and the whole tracebacks, if there is one.
        """
        if not self:
            return []
        lines = [] if self.is_total else self._where_all_failed()
        lines.append(self._heading())
        reasons = sorted(self._reasons.values(), key=lambda one: -one.count)
        lines += [_line(one) for one in reasons[:_MOST]]
        if len(reasons) > _MOST:
            lines.append(f"  and {len(reasons) - _MOST} other reasons")
        return [*lines, f"  The tracebacks are in {log}"] if log else lines

    def _heading(self) -> str:
        if self.is_total:
            return "Every episode failed. The most frequent reasons:"
        return (
            f"{self.total} of {self.episodes} episodes ended with an error. They count as failures "
            f"of the agent. The most frequent reasons:"
        )

    def _where_all_failed(self) -> list[str]:
        return [
            f"Every episode of {agent} in {env} failed: its figures say nothing about the agent."
            for (env, agent), count in self._episodes.items()
            if self._failed[env, agent] == count
        ]


def repeat_advice(out: Path | str) -> str:
    """Return the line that says how to play failed episodes again; ``out`` is the run's folder."""
    return f"To play them again: the same command with out={out} resume=true {_REPEAT}"


def _line(reason: _Reason) -> str:
    boundary, kind, message, place = reason.example
    count = f"{reason.count} {'episode' if reason.count == 1 else 'episodes'}"
    where = f" (raised at {place})" if place else ""
    return f"  {boundary} ({kind}), {count}, for example: {message}{where}"
