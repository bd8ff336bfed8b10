"""How many calls an endpoint is asked at once: found by asking, as TCP finds a network's.

The limit doubles each round until an endpoint is overloaded for the first time (slow start); from
then on it grows by a constant each round and is cut by a factor at each overload (additive
increase, multiplicative decrease: Chiu and Jain 1989). A round is as many calls as the limit.
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
"""Cuts in a row that make calls no faster, after which it was not the crowd. One shows nothing: the
calls that led to it began in a smaller crowd than those after it."""


class AdaptiveLimit:
    """Limits the calls in flight to an endpoint, and adapts to what it bears.

    An endpoint is overloaded when a caller says so (``slot.overloaded()``, for the statuses 429
    and 503 and for timeouts), or when it has slowed down: the median latency of a round (of at
    least 20 calls) is more than ``latency_factor`` times the smallest such median so far. If two
    cuts in a row make it no faster (by a tenth), the answers have grown longer and it was not the
    crowd: then that latency is what later ones are measured by. A tail of slow calls moves no
    median.

    Overloads of calls that began before the last cut are of the same crowd, and cut nothing. The
    limit grows, and latency counts, only while callers wait: what is not used shows nothing.

    Callers that wait are served in their order. It belongs to one event loop at a time, and to
    any number of tasks there.

    Example:
        >>> limit = AdaptiveLimit(maximum=512)
        >>> async def ask(session, url, body):
        ...     async with limit.slot() as slot:
        ...         async with session.post(url, json=body) as response:
        ...             if response.status in (429, 503):
        ...                 slot.overloaded(retry_after=1.0)
        ...             return await response.json(), slot.waited

    Args:
        initial: Calls at once to begin with.
        minimum: Never fewer; at least 1.
        maximum: Never more.
        increase: Calls by which the limit grows in a round, after the first overload.
        decrease: Factor of a cut, above 0 and below 1.
        latency_factor: How many times slower than at its best an endpoint may be; None to leave
            latency out.

    Raises:
        ConfigError: Numbers that cannot work.
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
        """How often a caller, or the latency, said that the endpoint is overloaded."""

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return int(self._limit)

    @property
    def in_flight(self) -> int:
        """Calls that are in flight."""
        return self._in_flight

    @property
    def waiting(self) -> int:
        """Callers that wait for a slot."""
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
        turn = loop.create_future()
        self._waiting.append(turn)
        self._admit(loop)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():  # admitted and cancelled at once
                self._in_flight -= 1
            turn.cancel()
            self._admit(loop)
            raise

    def _admit(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let callers in while there is room; at a pause, come back when it is over."""
        while self._waiting and (self._waiting[0].done() or self._has_room(loop.time())):
            turn = self._waiting.popleft()
            if not turn.done():
                self._in_flight += 1
                turn.set_result(None)
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
            self._judge(median(self._latencies), self._latency_factor, began, now)

    def _judge(self, latency: float, factor: float, began: float, now: float) -> None:
        """Compare the latency of a round with the best one."""
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
        """Lower the limit, unless the call began before it was lowered last."""
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
    """Room for one call in flight; made by ``AdaptiveLimit.slot``, entered once.

    A call that ends without an exception and was not overloaded is a success.
    """

    __slots__ = ("_began", "_limit", "_loop", "_overloaded", "waited")

    def __init__(self, limit: AdaptiveLimit) -> None:
        self._limit = limit
        self._overloaded = False
        self.waited = 0.0
        """Seconds that it waited for room."""

    def overloaded(self, *, retry_after: float | None = None) -> None:
        """Say that the endpoint is asked too much: 429, 503, or no answer in time.

        Args:
            retry_after: Seconds in which no further call may begin, as the endpoint asked for.
        """
        now = self._loop.time()
        if not self._overloaded:
            self._overloaded = True
            self._limit._cut(self._began, now)  # noqa: SLF001 - one idea in two classes
        if retry_after is not None and retry_after > 0:
            self._limit._pause(now + retry_after)  # noqa: SLF001 - likewise

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        asked = self._loop.time()
        await self._limit._enter(self._loop)  # noqa: SLF001 - likewise
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
            self._limit._succeeded(now - self._began, self._began, now)  # noqa: SLF001 - likewise
        self._limit._leave(self._loop)  # noqa: SLF001 - likewise
