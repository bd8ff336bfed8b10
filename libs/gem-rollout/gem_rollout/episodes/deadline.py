"""The deadline of an episode: that of its current turn, or that of the whole episode."""

import asyncio
import math
import time

from gem_core.errors import DeadlineError
from gem_rollout.episodes.policy import FaultPolicy

__all__ = ["Deadline"]


class Deadline:
    """When the current part of an episode must have ended.

    Times are those of ``time.perf_counter``.

    Args:
        policy: The limits for turns and episodes.
    """

    def __init__(self, policy: FaultPolicy) -> None:
        self.until = math.inf
        self.missed = False
        self.timeout: asyncio.Timeout | None = None
        """The timeout of the current wait."""
        self._turn_seconds = policy.turn_deadline
        self._episode_seconds = policy.episode_deadline
        self._end = math.inf
        self._limit = ""
        if self._episode_seconds is not None:
            self._end = time.perf_counter() + self._episode_seconds
            self._limit_to_episode()

    def _limit_to_episode(self) -> None:
        self.until = self._end
        self._limit = f"the {self._episode_seconds:g} seconds of episode_deadline"

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline, at least 0; None if there is none."""
        return None if self.until == math.inf else max(0.0, self.until - time.perf_counter())

    def begin_turn(self, now: float) -> None:
        """Start the clock of a turn."""
        if self._turn_seconds is not None and now + self._turn_seconds < self._end:
            self.until = now + self._turn_seconds
            self._limit = f"the {self._turn_seconds:g} seconds of turn_deadline"
        elif self.until != self._end:
            self._limit_to_episode()

    def pause(self) -> None:
        """Stop the clock of the current wait."""
        if self.until != math.inf and self.timeout is not None:
            self.until = math.inf
            self.timeout.reschedule(None)

    def resume(self) -> None:
        """Start the clock again, for a whole turn."""
        if self.until != math.inf or self.timeout is None or self.timeout.when() is not None:
            return
        self.begin_turn(time.perf_counter())
        left = self.seconds_left
        if left is not None:
            self.timeout.reschedule(asyncio.get_running_loop().time() + left)

    def miss(self, who: str, where: str) -> DeadlineError:
        """Note that the deadline was missed, and return the error.

        Args:
            who: ``agent`` or ``environment``.
            where: The part of the episode, such as ``turn 3``.
        """
        self.missed, self.until = True, math.inf
        return DeadlineError(f"The {who} did not finish {where} within {self._limit}.")
