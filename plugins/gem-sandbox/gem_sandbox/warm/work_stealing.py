"""Work stealing: slots that are free take over inputs of a slow job."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait

from gem_core.errors import SandboxError
from gem_sandbox.warm.jobs import Job
from gem_sandbox.warm.zygote_pool import WorkerExchange, ZygotePool

__all__ = ["WorkStealing"]

_PATIENCE = 0.05
"""Seconds in which an exchange may still end by itself before its supervisor is ended."""


class WorkStealing:
    """The exchanges that work on one job: the caller's, and those of stealing threads.

    A stealing thread uses a slot that is free, and gives it back as soon as a caller waits for it.

    Args:
        pool: Where supervisors and slots come from.
        zygote: The index of the zygote whose supervisors to use.
        job: The job.
    """

    def __init__(self, pool: ZygotePool, zygote: int, job: Job) -> None:
        self._pool = pool
        self._zygote = zygote
        self._job = job
        self._exchanges: dict[Future[None], WorkerExchange[None]] = {}
        """By the future that is done when the exchange is over."""

    def run(self, own: WorkerExchange[None]) -> None:
        """Run the caller's exchange, and start threads that steal from it."""
        with self._registered(own):
            own.run(self._start_threads)

    async def run_async(self, own: WorkerExchange[None]) -> None:
        """Run the caller's exchange without blocking the event loop; see ``run``."""
        with self._registered(own):
            await own.run_async(self._start_threads)

    @contextlib.contextmanager
    def _registered(self, own: WorkerExchange[None]) -> Iterator[None]:
        """Make the caller's exchange known to stealing threads, which may end it."""
        done = self._add(own)
        try:
            yield
        except SandboxError:
            if not self._job.is_over:
                raise
        finally:
            done.set_result(None)

    def _add(self, exchange: WorkerExchange[None]) -> "Future[None]":
        done: Future[None] = Future()
        self._exchanges[done] = exchange
        return done

    def _start_threads(self) -> None:
        """Start as many stealing threads as have enough to do and find a free slot."""
        slots = self._pool.slots
        for _ in range(self._job.workers_wanted):
            if not slots.try_acquire():
                return
            steps = self._job.steps(may_continue=lambda: not slots.has_waiters)
            exchange = WorkerExchange(self._pool, self._zygote, steps)
            done = self._add(exchange)
            try:
                threading.Thread(target=self._steal, args=[done, exchange], daemon=True).start()
            except RuntimeError:  # this process cannot have more threads
                exchange.release()
                self._leave(done)
                return

    def _steal(self, done: "Future[None]", exchange: WorkerExchange[None]) -> None:
        try:
            with exchange, contextlib.suppress(SandboxError):  # the caller gets the same error
                exchange.run()
        finally:
            self._leave(done)
        if self._job.is_over:
            self._end_pending()

    def _leave(self, done: "Future[None]") -> None:
        self._pool.slots.release()
        done.set_result(None)

    def wait(self) -> None:
        """Wait until all exchanges have ended; end them if no more results are wanted."""
        if self._job.is_over:
            self._end_pending()
        if pending := self._pending():
            wait(pending)

    async def wait_async(self) -> None:
        """Wait until all exchanges have ended, without blocking the event loop; see ``wait``."""
        if self._job.is_over and self._pending():
            await asyncio.to_thread(self._end_pending)
        for done in self._pending():
            await asyncio.wrap_future(done)

    def cancel(self) -> None:
        """End all exchanges without waiting for them; any thread may call this."""
        self._job.is_over = True
        for exchange in list(self._exchanges.values()):
            exchange.end()

    def end(self) -> None:
        """End all exchanges: no more results are wanted."""
        self._job.end()
        self._end_pending()
        self.wait()

    async def end_async(self) -> None:
        """End all exchanges without blocking the event loop; see ``end``."""
        self._job.end()
        if self._pending():
            await asyncio.to_thread(self.end)

    def _pending(self) -> list["Future[None]"]:
        return [done for done in list(self._exchanges) if not done.done()]

    def _end_pending(self) -> None:
        """End the exchanges that do not end by themselves very soon."""
        if pending := self._pending():
            for done in wait(pending, _PATIENCE).not_done:
                self._exchanges[done].end()
