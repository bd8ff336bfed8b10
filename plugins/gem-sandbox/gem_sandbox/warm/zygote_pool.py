"""The processes behind warm sandboxes: zygotes by their imports, and slots to use them.

Equal sandboxes share a pool, so any number of them have few processes and share the machine's
cores fairly.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from typing import Generic, NamedTuple, Self, TypeVar

from gem_core.errors import GemError, SandboxError
from gem_sandbox.fair_semaphore import Endable, FairSemaphore
from gem_sandbox.warm.guest.messages import ENDED
from gem_sandbox.warm.launch import ZygoteLauncher
from gem_workers.cancellation import cancellable
from gem_workers.frames import Frame
from gem_workers.launcher import Worker

__all__ = ["Lease", "Steps", "WorkerExchange", "WorkerRequest", "ZygotePool"]

_ATTEMPTS = 3


class ZygotePool:
    """Zygotes, started when they are first needed.

    Args:
        tier: The kind of isolation.
        preload: Modules, light ones first; zygote ``n`` has imported the first ``n`` of them.
        workers: The number of programs that may run at the same time.
    """

    def __init__(self, *, tier: str, preload: Sequence[str], workers: int) -> None:
        self._tier = tier
        self.preload = tuple(preload)
        self._workers = workers
        self.slots = FairSemaphore(workers)
        self.closed = False
        self._launchers = [
            ZygoteLauncher(tier=tier, preload=self.preload[:count])
            for count in range(len(self.preload) + 1)
        ]
        self._idle: list[deque[Worker]] = [deque() for _ in self._launchers]

    @contextlib.contextmanager
    def exchange(
        self, zygote: int, steps: "Steps[T]", endable: Endable = cancellable
    ) -> "Iterator[WorkerExchange[T]]":
        """Wait for a slot, and exchange messages with a supervisor while it is held.

        Args:
            zygote: The index of the zygote.
            steps: The steps of the exchange.
            endable: Is told how the waits can be ended.
        """
        exchange = WorkerExchange(self, zygote, steps)
        # Entered twice: it ends before the slot is released, and if the wait for one is given up.
        slot = self.slots.acquire(exchange.send_first, endable)
        with exchange, slot, exchange, endable(exchange.end):
            yield exchange

    @contextlib.asynccontextmanager
    async def exchange_async(
        self, zygote: int, steps: "Steps[T]", endable: Endable = cancellable
    ) -> "AsyncIterator[WorkerExchange[T]]":
        """Wait for a slot without blocking the event loop; see ``exchange``."""
        exchange = WorkerExchange(self, zygote, steps)
        with exchange:
            async with self.slots.acquire_async(exchange.send_first, endable):
                with exchange, endable(exchange.end):
                    yield exchange

    def take(self, zygote: int) -> Worker | None:
        """Return the supervisor that has been idle longest, if enough have been started.

        There are at least two, used in turn: while a program runs under one, the other's isolation
        scope is prepared for the next program.
        """
        if self._launchers[zygote].count >= min(2, self._workers):
            with contextlib.suppress(IndexError):
                return self._idle[zygote].popleft()
        return None

    def is_ready(self, zygote: int) -> bool:
        """Return whether a supervisor is available without starting a zygote."""
        return self._launchers[zygote].ready

    def start(self, zygote: int) -> Worker:
        """Start a supervisor.

        Raises:
            SandboxError: No zygote can be started.
        """
        try:
            for _ in range(_ATTEMPTS):
                worker = self._launchers[zygote].ask_for_worker()
                if worker is not None:
                    return worker
        except (GemError, OSError) as error:
            raise SandboxError(f"The warm sandbox ({self._tier}) cannot start: {error}") from error
        raise SandboxError(f"The warm sandbox's zygote died, {_ATTEMPTS} times in a row.")

    def give_back(self, zygote: int, worker: Worker) -> None:
        """Take back a supervisor that is waiting for its next request."""
        if self.closed or len(self._idle[zygote]) >= self.slots.size:
            self.end(zygote, worker)
        else:
            self._idle[zygote].append(worker)

    def end(self, zygote: int, worker: Worker) -> None:
        """End a supervisor, and kill its run."""
        self._launchers[zygote].end_worker(worker)

    def close(self) -> None:
        """End all processes, within some seconds; none is started again."""
        self.closed = True
        for launcher in self._launchers:
            launcher.close()

    def forget(self) -> None:
        """Close the connections to processes, which belong to the parent of this fork."""
        for launcher in self._launchers:
            launcher.forget()


class WorkerRequest(NamedTuple):
    """A message for a supervisor, and the seconds in which it must answer."""

    message: bytes
    deadline: float


T = TypeVar("T")
Steps = Generator[WorkerRequest, Frame, T]
"""The steps of an exchange: yields requests, is sent the answers, and returns a result."""


def _nothing() -> None:
    pass


class Lease:
    """A supervisor for some time, taken when there is a first request for it.

    It is given back if ``healthy`` is set, and otherwise ended, as it may still be busy.
    """

    def __init__(self, pool: ZygotePool, zygote: int) -> None:
        self._pool = pool
        self._zygote = zygote
        self.worker: Worker | None = None
        self.healthy = False
        self._is_ended = False

    def ask(self, message: bytes, deadline: float) -> Frame:
        """Return a supervisor's answer; start a new supervisor if the last one died."""
        worker = self.worker or self._renew()
        return self._note(worker.ask(message, deadline))

    def _renew(self) -> Worker:
        if not self._is_ended:
            pool, zygote = self._pool, self._zygote
            self.worker = worker = pool.take(zygote) or pool.start(zygote)
        if self._is_ended:  # perhaps meanwhile, by another thread, which must not close our steps
            Lease.release(self)
            raise SandboxError("This run was ended.")
        return worker

    async def ask_async(self, message: bytes, deadline: float) -> Frame:
        """Return a supervisor's answer without blocking the event loop; see ``ask``."""
        worker = self.worker or await self._renew_async()
        return self._note(await worker.ask_async(message, deadline))

    async def _renew_async(self) -> Worker:
        if self._pool.is_ready(self._zygote):
            return self._renew()
        return await asyncio.to_thread(self._renew)

    def _note(self, frame: Frame) -> Frame:
        """Drop the supervisor if the answer says that it is dead or late."""
        if frame.kind != ENDED and self.worker is not None:
            worker, self.worker = self.worker, None
            self._pool.end(self._zygote, worker)
        return frame

    def end(self) -> None:
        """Fail the pending request, because its supervisor is ended (thread-safe)."""
        self._is_ended = True
        worker = self.worker
        if worker is not None:
            worker.hang_up()

    def release(self) -> None:
        """Give the supervisor back, or end it; may be called twice."""
        self._is_ended = True
        worker, self.worker = self.worker, None
        if worker is not None and self.healthy:
            self._pool.give_back(self._zygote, worker)
        elif worker is not None:
            self._pool.end(self._zygote, worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class WorkerExchange(Lease, Generic[T]):
    """A series of requests to one supervisor, made by a generator of steps.

    Args:
        pool: Where supervisors come from.
        zygote: The index of the zygote whose supervisors to use.
        steps: The steps.
    """

    result: T
    """The result of the steps, after ``run``."""

    def __init__(self, pool: ZygotePool, zygote: int, steps: Steps[T]) -> None:
        super().__init__(pool, zygote)
        self._steps = steps
        self._next: WorkerRequest | None = None
        self._advance(None)

    def send_first(self) -> None:
        """Send the first request early, if a supervisor is idle; any thread may call this."""
        self.worker = self._pool.take(self._zygote)
        if self.worker is not None and self._next is not None:
            self.worker.ask_ahead(self._next.message)

    def run(self, answered: Callable[[], None] = _nothing) -> None:
        """Make all requests.

        Args:
            answered: Called before each request but the first.

        Raises:
            SandboxError: No supervisor can be started, or the lease has been ended.
        """
        while self._next is not None:
            self._advance(self.ask(*self._next))
            if self._next is not None:
                answered()

    async def run_async(self, answered: Callable[[], None] = _nothing) -> None:
        """Make all requests without blocking the event loop; see ``run``."""
        while self._next is not None:
            self._advance(await self.ask_async(*self._next))
            if self._next is not None:
                answered()

    def _advance(self, answer: Frame | None) -> None:
        try:
            self._next = next(self._steps) if answer is None else self._steps.send(answer)
        except StopIteration as end:
            self._next, self.healthy, self.result = None, True, end.value

    def release(self) -> None:
        """Give the supervisor back, or end it, and close the steps; may be called twice."""
        self._steps.close()
        super().release()
