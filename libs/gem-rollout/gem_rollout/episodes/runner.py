"""Runs one episode in the event loop, or in a thread where a step blocks, until its deadline."""

import asyncio
import contextlib
import functools
import math
import threading
import time
from collections.abc import Callable, Generator
from typing import Any, Final

from gem_core.maybe_async import is_awaitable
from gem_core.vector.slot import FAULTS
from gem_rollout.episodes.episode import Episode, Phase
from gem_rollout.episodes.threads import Threads

__all__ = ["Runner"]

_ENDED: Final = object()
_CUT_OFF: Final = object()


class Runner:
    """Runs the phases of episodes in the running event loop.

    Args:
        threads: For episodes whose environment blocks.
        poll_seconds: How often to read the deadline of an episode in a thread again, as only the
            thread knows when a turn begins; None to wait for the deadline that is known.
        in_thread: Whether all episodes run in a thread, so that a step which never returns misses
            its deadline.
    """

    def __init__(
        self, threads: Threads, poll_seconds: float | None, *, in_thread: bool = False
    ) -> None:
        self._threads = threads
        self._poll_seconds = poll_seconds
        self._in_thread = in_thread
        self.stopping = False
        """Whether episodes are cut off at their next await or step."""

    async def run(self, episode: Episode, *phases: Phase) -> bool:
        """Run phases of an episode and await their awaitables.

        Returns:
            False if the episode was abandoned in a thread, which closes the environment and the
            agent when the current step returns.
        """
        steps = episode.run(*phases)
        resume: Callable[[], Any] = functools.partial(next, steps)
        while not self.stopping:
            if self._in_thread or episode.env.blocking:
                value = await self._advance_in_thread(episode, steps, resume)
                if value is None:
                    return False
            else:
                value = self._threads.call_inline(_advance, steps, resume, self._is_stopping)
            is_broken = self.stopping and episode.error is not None  # perhaps by Ctrl-C
            if value is _CUT_OFF or (value is _ENDED and is_broken):
                break
            if value is _ENDED:
                return True
            episode.is_waiting = True
            try:
                result = await _in_time(value, episode)
            except FAULTS as error:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                resume = functools.partial(steps.throw, error)
            else:
                resume = functools.partial(steps.send, result)
            finally:
                episode.is_waiting = False
        raise asyncio.CancelledError

    def _is_stopping(self) -> bool:
        return self.stopping

    async def _advance_in_thread(
        self, episode: Episode, steps: Generator[Any, Any, None], resume: Callable[[], Any]
    ) -> Any:
        """Return the value of ``_advance``; None if its thread was abandoned at a deadline."""
        stopped = threading.Event()
        running = self._threads.run(functools.partial(_advance, steps, resume, stopped.is_set))
        try:
            while not running.done():
                is_late = time.perf_counter() > episode.deadline.until
                if is_late and self._abandon(running, stopped, episode, steps):
                    return None
                await asyncio.wait([running], timeout=self._patience(episode))
        except asyncio.CancelledError:
            # The environment will be closed next, which must wait until the thread has left it.
            stopped.set()
            episode.abandoned = await self._threads.cancel(running, self._ender(episode, steps))
            if not episode.abandoned:
                _close_unused(running.result())
            raise
        return running.result()

    def _patience(self, episode: Episode) -> float | None:
        """Return the seconds after which to look at an episode in a thread again."""
        left = episode.deadline.seconds_left
        waits = [self._poll_seconds, None if left is None else left + 0.001]
        return min((seconds for seconds in waits if seconds is not None), default=None)

    def _abandon(
        self,
        running: "asyncio.Future[Any]",
        stopped: threading.Event,
        episode: Episode,
        steps: Generator[Any, Any, None],
    ) -> bool:
        """Abandon a thread; False if it has just returned."""
        stopped.set()
        if not self._threads.abandon(running, self._ender(episode, steps)):
            return False
        episode.abandon()
        return True

    def _ender(self, episode: Episode, steps: Generator[Any, Any, None]) -> Callable[[Any], None]:
        """Return the function that an abandoned thread calls when its step returns."""

        def end(value: Any) -> None:
            _close_unused(value)
            with contextlib.ExitStack() as stack:
                stack.callback(episode.env.close)
                stack.callback(episode.agent.close)
                stack.callback(steps.close)

        return end


async def _in_time(value: Any, episode: Episode) -> Any:
    """Await a value until the episode's deadline."""
    if episode.deadline.until == math.inf:
        return await value
    try:
        async with asyncio.timeout(episode.deadline.seconds_left) as limit:
            episode.deadline.timeout = limit
            result = await value
    except TimeoutError:
        if limit.expired():
            raise episode.overdue() from None
        raise
    if time.perf_counter() > episode.deadline.until:  # it ignored its cancellation
        raise episode.overdue()
    return result


def _advance(
    steps: Generator[Any, Any, None],
    resume: Callable[[], Any],
    is_stopping: Callable[[], bool],
) -> Any:
    """Run an episode to its next awaitable, which is returned, or to its end."""
    try:
        value = resume()
        while not is_awaitable(value):
            if is_stopping():
                return _CUT_OFF
            value = steps.send(value)
    except StopIteration:
        return _ENDED
    return value


def _close_unused(value: Any) -> None:
    if asyncio.iscoroutine(value):
        value.close()
