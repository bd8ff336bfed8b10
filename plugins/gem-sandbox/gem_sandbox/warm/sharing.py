"""Conversations with supervisors about one work: the caller's own, and those of helpers."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait

from gem_core.errors import SandboxError
from gem_sandbox.warm.engine import Engine, Lease
from gem_sandbox.warm.work import Work

__all__ = ["Sharing"]

_PATIENCE = 0.05
"""Seconds in which a conversation may come to its end, before its supervisor is ended."""


class Sharing:
    """Who takes part in a work: its caller, and threads that help while nobody wants their turns.

    Args:
        engine: Where supervisors and turns come from.
        group: Which supervisors.
        work: The work.
    """

    def __init__(self, engine: Engine, group: int, work: Work) -> None:
        self._engine = engine
        self._group = group
        self._work = work
        self._leases: dict[Future[None], Lease] = {}
        """By what is done once their conversation is over."""

    def converse(self, lease: Lease) -> None:
        """Ask a supervisor for what is left, and invite helpers."""
        with self._part(lease):
            lease.converse(self._work.steps(), self._invite)

    async def converse_async(self, lease: Lease) -> None:
        """Do as ``converse`` does, without blocking the running event loop."""
        with self._part(lease):
            await lease.converse_async(self._work.steps(), self._invite)

    @contextlib.contextmanager
    def _part(self, lease: Lease) -> Iterator[None]:
        """Have helpers know of the caller's own conversation: they may end it."""
        own = self._add(lease)
        try:
            yield
        except SandboxError:
            if not self._work.is_over:
                raise
        finally:
            own.set_result(None)

    def _add(self, lease: Lease) -> "Future[None]":
        done: Future[None] = Future()
        self._leases[done] = lease
        return done

    def _invite(self) -> None:
        """Have as many help as would find enough to do, if turns are free."""
        for _ in range(self._work.helpers_wanted):
            if not self._engine.turns.take_free():
                return
            lease = self._engine.lease(self._group)
            done = self._add(lease)
            try:
                threading.Thread(target=self._help, args=[done, lease], daemon=True).start()
            except RuntimeError:  # this process may have no more threads
                lease.healthy = True
                lease.release()
                self._leave(done)
                return

    def _help(self, done: "Future[None]", lease: Lease) -> None:
        try:
            with lease, contextlib.suppress(SandboxError):  # the caller meets the same
                lease.converse(self._work.steps(goes_on=self._is_unwanted))
        finally:
            self._leave(done)
        if self._work.is_over:
            self._end_pending()

    def _is_unwanted(self) -> bool:
        """Tell whether nobody waits for a turn that only helps."""
        return not self._engine.turns.are_wanted

    def _leave(self, done: "Future[None]") -> None:
        self._engine.turns.give_back()
        done.set_result(None)

    def wait(self) -> None:
        """Wait until all have done what they have taken."""
        if pending := self._pending():
            wait(pending)

    async def wait_async(self) -> None:
        """Do as ``wait`` does, without blocking the running event loop."""
        for done in self._pending():
            await asyncio.wrap_future(done)

    def end(self) -> None:
        """End what is under way: nothing of it is wanted any more."""
        self._work.end()
        self._end_pending()
        self.wait()

    async def end_async(self) -> None:
        """Do as ``end`` does, without blocking the running event loop."""
        self._work.end()
        if self._pending():
            await asyncio.to_thread(self.end)

    def _pending(self) -> list["Future[None]"]:
        return [done for done in list(self._leases) if not done.done()]

    def _end_pending(self) -> None:
        """End conversations that are still going on, unless they come to their end very soon."""
        if pending := self._pending():
            for done in wait(pending, _PATIENCE).not_done:
                self._leases[done].end()
