"""A limit of concurrent calls to an endpoint that adapts to its capacity, as TCP does.

The limit doubles each round until the endpoint is overloaded for the first time (slow start). From
then on it grows by a constant each round, and is multiplied by a factor below 1 at each overload
(additive increase, multiplicative decrease: Chiu and Jain 1989). A round is as many calls as the
limit.
"""

import asyncio
import math
from collections import deque
from statistics import median
from types import TracebackType
from typing import Self

from gem_core.errors import ConfigError

__all__ = ["AdaptiveLimit", "LimitSlot"]

_USELESS_CUTS = 2
"""Consecutive cuts without faster calls after which concurrency is not the cause. A single cut
proves nothing: the calls that caused it began at a lower concurrency than those after it."""


class AdaptiveLimit:
    """Limits the calls in flight to an endpoint, and adapts the limit to its capacity.

    An endpoint is overloaded if a caller reports it (``slot.overloaded()``, for the statuses 429
    and 503 and for timeouts), or if it has slowed down: the median latency of a round (of at least
    20 calls) is more than ``latency_factor`` times the smallest such median so far. If two
    consecutive cuts do not reduce the latency by at least a tenth, the answers have become longer
    and concurrency is not the cause: this latency then becomes the new baseline. A few slow calls
    do not change a median.

    Overloads of calls that began before the last cut do not cut the limit again. The limit grows,
    and latency counts, only while callers wait, because an unused limit proves nothing.

    Waiting callers are served in order. A limit belongs to one event loop at a time, and to any
    number of tasks in it.

    Example:
        >>> limit = AdaptiveLimit(maximum=512)
        >>> async def ask(session, url, body):
        ...     async with limit.slot() as slot:
        ...         async with session.post(url, json=body) as response:
        ...             if response.status in (429, 503):
        ...                 slot.overloaded(retry_after=1.0)
        ...             return await response.json(), slot.waited

    Args:
        initial: Initial limit, in calls at the same time.
        minimum: Lowest limit, at least 1.
        maximum: Highest limit.
        increase: Growth of the limit per round in calls, after the first overload.
        decrease: Factor of a cut, above 0 and below 1.
        latency_factor: Latency, as a multiple of the best, above which an endpoint is overloaded;
            None to ignore latency.

    Raises:
        ConfigError: A number is out of range.
    """

    def __init__(
        self,
        initial: int = 32,
        *,
        minimum: int = 1,
        maximum: int = 4096,
        increase: float = 4.0,
        decrease: float = 0.7,
        latency_factor: float | None = 4.0,
    ) -> None:
        if not 1 <= minimum <= initial <= maximum:
            raise ConfigError(
                f"An adaptive limit needs 1 <= minimum <= initial <= maximum; "
                f"got {minimum}, {initial} and {maximum}."
            )
        if not increase > 0 or not 0 < decrease < 1:
            raise ConfigError(
                f"increase must be above 0 and decrease between 0 and 1; "
                f"got {increase} and {decrease}."
            )
        if latency_factor is not None and not latency_factor > 1:
            raise ConfigError(f"latency_factor must be above 1, or None; got {latency_factor}.")
        self._minimum, self._maximum = minimum, maximum
        self._increase, self._decrease = increase, decrease
        self._latency_factor = latency_factor
        self._limit = float(initial)
        self._slow_start = True
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._latencies: list[float] = []
        self._round = max(20, initial)
        self._best = math.inf
        self._too_slow = math.inf
        self._useless_cuts = 0
        self._last_cut = -math.inf
        self._closed_until = -math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._timer_loop: asyncio.AbstractEventLoop | None = None
        self.overloads = 0
        """Number of overloads so far, reported by callers or seen from the latency."""

    @property
    def limit(self) -> int:
        """The current limit of calls in flight."""
        return int(self._limit)

    @property
    def in_flight(self) -> int:
        """Number of calls in flight."""
        return self._in_flight

    @property
    def waiting(self) -> int:
        """Number of callers that wait for a slot."""
        return sum(not future.done() for future in self._waiting)

    def slot(self) -> "LimitSlot":
        """Return a slot for one call: ``async with limit.slot() as slot``."""
        return LimitSlot(self)

    def _has_room(self, now: float) -> bool:
        return self._in_flight < int(self._limit) and now >= self._closed_until

    async def _enter(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._has_room(loop.time()) and not self._waiting:
            self._in_flight += 1
            return
        admitted = loop.create_future()
        self._waiting.append(admitted)
        self._admit(loop)
        try:
            await admitted
        except BaseException:
            if admitted.done() and not admitted.cancelled():  # admitted just before cancellation
                self._in_flight -= 1
            admitted.cancel()
            self._admit(loop)
            raise

    def _admit(self, loop: asyncio.AbstractEventLoop) -> None:
        """Admit callers while there is room; during a pause, try again at its end."""
        while self._waiting and (self._waiting[0].done() or self._has_room(loop.time())):
            admitted = self._waiting.popleft()
            if not admitted.done():
                self._in_flight += 1
                admitted.set_result(None)
        if self._waiting and loop.time() < self._closed_until:
            self._wake_at(loop, self._closed_until)

    def _wake_at(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        if self._timer is not None:
            if self._timer_loop is loop and self._timer.when() >= when:
                return
            self._timer.cancel()

        def wake() -> None:
            self._timer = None
            self._admit(loop)

        self._timer, self._timer_loop = loop.call_at(when, wake), loop

    def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        self._in_flight -= 1
        self._admit(loop)

    def _succeeded(self, latency: float, began: float, now: float) -> None:
        if not self._waiting:
            return
        growth = 1.0 if self._slow_start else self._increase / self._limit
        self._limit = min(float(self._maximum), self._limit + growth)
        if self._latency_factor is None or began <= self._last_cut:
            return
        self._latencies.append(latency)
        if len(self._latencies) >= self._round:
            self._end_round(median(self._latencies), self._latency_factor, began, now)

    def _end_round(self, latency: float, factor: float, began: float, now: float) -> None:
        """Compare the latency of a round with the best one, and cut the limit if it is worse."""
        self._begin_round()
        self._best = min(self._best, latency)
        if latency <= self._best * factor:
            self._useless_cuts = 0
            self._too_slow = math.inf
            return
        self._useless_cuts = self._useless_cuts + 1 if latency > self._too_slow * 0.9 else 0
        self._too_slow = latency
        if self._useless_cuts < _USELESS_CUTS:
            self._cut(began, now)
        else:
            self._best = latency

    def _cut(self, began: float, now: float) -> None:
        """Lower the limit, unless the call began before the last cut."""
        self.overloads += 1
        if began <= self._last_cut:
            return
        self._last_cut, self._slow_start = now, False
        self._limit = max(float(self._minimum), self._limit * self._decrease)
        self._begin_round()

    def _begin_round(self) -> None:
        self._latencies.clear()
        self._round = max(20, int(self._limit))

    def _pause(self, until: float) -> None:
        self._closed_until = max(self._closed_until, until)


class LimitSlot:
    """A slot for one call, made by ``AdaptiveLimit.slot``; it can be entered once.

    A call succeeds if it ends without an exception and without a reported overload.
    """

    __slots__ = ("_began", "_limit", "_loop", "_overloaded", "waited")

    def __init__(self, limit: AdaptiveLimit) -> None:
        self._limit = limit
        self._overloaded = False
        self.waited = 0.0
        """Seconds that the caller waited for the slot."""

    def overloaded(self, *, retry_after: float | None = None) -> None:
        """Report that the endpoint is overloaded: status 429 or 503, or a timeout.

        Args:
            retry_after: Seconds for which no further call may begin, as the endpoint requested.
        """
        now = self._loop.time()
        if not self._overloaded:
            self._overloaded = True
            self._limit._cut(self._began, now)  # noqa: SLF001 - the two classes belong together
        if retry_after is not None and retry_after > 0:
            self._limit._pause(now + retry_after)  # noqa: SLF001 - as above

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        asked = self._loop.time()
        await self._limit._enter(self._loop)  # noqa: SLF001 - as above
        self._began = self._loop.time()
        self.waited = self._began - asked
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and not self._overloaded:
            now = self._loop.time()
            self._limit._succeeded(now - self._began, self._began, now)  # noqa: SLF001 - as above
        self._limit._leave(self._loop)  # noqa: SLF001 - as above
