"""What a host process runs: zygotes by what they have imported, and turns to use them.

Sandboxes that are made alike share an engine, so that however many are made, the processes are
few and the machine's cores are shared fairly.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from typing import Generic, NamedTuple, Self, TypeVar

from gem_core.errors import GemError, SandboxError
from gem_sandbox.warm.inside.messages import ENDED
from gem_sandbox.warm.launch import ZygoteLauncher
from gem_sandbox.warm.turns import Turns
from gem_workers.frames import Frame
from gem_workers.launcher import Worker

__all__ = ["Ask", "Conversation", "Engine", "Lease", "Steps"]

_ATTEMPTS = 3


class Engine:
    """Zygotes, started when first wanted.

    Args:
        tier: How runs are kept apart.
        preload: Modules, light ones first; the n-th zygote has imported the first n of them.
        workers: Most runs at once.
    """

    def __init__(self, *, tier: str, preload: Sequence[str], workers: int) -> None:
        self._tier = tier
        self.preload = tuple(preload)
        self._workers = workers
        self._reset()

    def _reset(self) -> None:
        self.turns = Turns(self._workers)
        self.closed = False
        self._launchers = [
            ZygoteLauncher(tier=self._tier, preload=self.preload[:count])
            for count in range(len(self.preload) + 1)
        ]
        self._idle: list[deque[Worker]] = [deque() for _ in self._launchers]

    @contextlib.contextmanager
    def conversation(self, group: int, steps: "Steps[T]") -> "Iterator[Conversation[T]]":
        """Wait for a turn, and hold a conversation with a supervisor meanwhile."""
        conversation = Conversation(self, group, steps)
        # Twice: it ends before the turn is passed on, and if the wait for that is given up.
        with conversation, self.turns.turn(conversation.begin), conversation:
            yield conversation

    @contextlib.asynccontextmanager
    async def conversation_async(
        self, group: int, steps: "Steps[T]"
    ) -> "AsyncIterator[Conversation[T]]":
        """Do as ``conversation`` does, without blocking the running event loop."""
        conversation = Conversation(self, group, steps)
        with conversation:
            async with self.turns.turn_async(conversation.begin):
                with conversation:
                    yield conversation

    def take(self, group: int) -> Worker | None:
        """Return the supervisor that has been idle longest, if enough have been started.

        At least two, and in turns: while one runs a program, the other's room is being furnished.
        """
        if self._launchers[group].count >= min(2, self._workers):
            with contextlib.suppress(IndexError):
                return self._idle[group].popleft()
        return None

    def ready(self, group: int) -> bool:
        """Tell whether a supervisor can be had at once, without starting a zygote."""
        return self._launchers[group].ready

    def start(self, group: int) -> Worker:
        """Start a supervisor.

        Raises:
            SandboxError: No zygote can be started.
        """
        try:
            for _ in range(_ATTEMPTS):
                worker = self._launchers[group].ask_for_worker()
                if worker is not None:
                    return worker
        except (GemError, OSError) as error:
            raise SandboxError(f"The warm sandbox ({self._tier}) cannot start: {error}") from error
        raise SandboxError(f"The warm sandbox's zygote died, {_ATTEMPTS} times in a row.")

    def give_back(self, group: int, worker: Worker) -> None:
        """Take a supervisor back that waits to be asked."""
        if self.closed or len(self._idle[group]) >= self.turns.size:
            self.end(group, worker)
        else:
            self._idle[group].append(worker)

    def end(self, group: int, worker: Worker) -> None:
        """End a supervisor, and kill its run."""
        self._launchers[group].end_worker(worker)

    def close(self) -> None:
        """End all processes; may be called twice."""
        self.closed = True
        for launcher in self._launchers:
            launcher.close()

    def forget(self) -> None:
        """Start anew in a fork of the host, and leave the processes to the parent."""
        for launcher in self._launchers:
            launcher.forget()
        self._reset()


class Ask(NamedTuple):
    """What to ask a supervisor, and how long to wait for the answer, in seconds."""

    request: bytes
    deadline: float


T = TypeVar("T")
Steps = Generator[Ask, Frame, T]
"""A conversation: yields questions, is sent the answers, and returns what comes of it."""


def _nothing() -> None:
    pass


class Lease:
    """A supervisor for a while, once there is something to ask it.

    Afterwards it is given back if ``healthy`` is set, and ended if not: it may still be at work.
    """

    def __init__(self, engine: Engine, group: int) -> None:
        self._engine = engine
        self._group = group
        self.worker: Worker | None = None
        self.healthy = False
        self._is_ended = False

    def ask(self, request: bytes, deadline: float) -> Frame:
        """Return a supervisor's answer; one is started if the last one is gone."""
        worker = self.worker or self._renew()
        return self._note(worker.ask(request, deadline))

    def _renew(self) -> Worker:
        if not self._is_ended:
            self.worker = worker = self._engine.take(self._group) or self._engine.start(self._group)
        if self._is_ended:  # while a zygote was started, perhaps; steps are not this thread's
            Lease.release(self)
            raise SandboxError("This run was ended.")
        return worker

    async def ask_async(self, request: bytes, deadline: float) -> Frame:
        """Do as ``ask`` does, without blocking the running event loop."""
        worker = self.worker or await self._renew_async()
        return self._note(await worker.ask_async(request, deadline))

    async def _renew_async(self) -> Worker:
        if self._engine.ready(self._group):
            return self._renew()
        return await asyncio.to_thread(self._renew)

    def _note(self, frame: Frame) -> Frame:
        """Let go of a supervisor whose answer says that it is dead or late."""
        if frame.kind != ENDED and self.worker is not None:
            worker, self.worker = self.worker, None
            self._engine.end(self._group, worker)
        return frame

    def end(self) -> None:
        """Have who converses learn, from another thread, that the supervisor is gone."""
        self._is_ended = True
        worker = self.worker
        if worker is not None:
            worker.hang_up()

    def release(self) -> None:
        """Give the supervisor back, or end it; may be called twice."""
        self._is_ended = True
        worker, self.worker = self.worker, None
        if worker is not None and self.healthy:
            self._engine.give_back(self._group, worker)
        elif worker is not None:
            self._engine.end(self._group, worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Conversation(Lease, Generic[T]):
    """A lease to take steps with: what they ask, the supervisor answers.

    Args:
        engine: Where supervisors come from.
        group: Which one.
        steps: The steps.
    """

    result: T
    """What came of it."""

    def __init__(self, engine: Engine, group: int, steps: Steps[T]) -> None:
        super().__init__(engine, group)
        self._steps = steps
        self._next: Ask | None = None
        self._take_step(None)

    def begin(self) -> None:
        """Ask the first question ahead, if a supervisor is idle; may be called by any thread."""
        self.worker = self._engine.take(self._group)
        if self.worker is not None and self._next is not None:
            self.worker.ask_ahead(self._next.request)

    def hold(self, answered: Callable[[], None] = _nothing) -> None:
        """Ask all that is to be asked.

        Args:
            answered: Called before each question but the first.

        Raises:
            SandboxError: No supervisor can be started, or the lease has been ended.
        """
        while self._next is not None:
            self._take_step(self.ask(*self._next))
            if self._next is not None:
                answered()

    async def hold_async(self, answered: Callable[[], None] = _nothing) -> None:
        """Do as ``hold`` does, without blocking the running event loop."""
        while self._next is not None:
            self._take_step(await self.ask_async(*self._next))
            if self._next is not None:
                answered()

    def _take_step(self, answer: Frame | None) -> None:
        try:
            self._next = next(self._steps) if answer is None else self._steps.send(answer)
        except StopIteration as end:
            self._next, self.healthy, self.result = None, True, end.value

    def release(self) -> None:
        """Give the supervisor back, or end it; take no more steps."""
        self._steps.close()
        super().release()
