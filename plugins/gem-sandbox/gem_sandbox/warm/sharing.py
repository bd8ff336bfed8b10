"""Conversations with supervisors about one work: the caller's own, and those of helpers."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait

from gem_core.errors import SandboxError
from gem_sandbox.warm.engine import Conversation, Engine
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
        self._conversations: dict[Future[None], Conversation[None]] = {}
        """By what is done once they are over."""

    def hold(self, own: Conversation[None]) -> None:
        """Have the caller's conversation, and invite helpers."""
        with self._part(own):
            own.hold(self._invite)

    async def hold_async(self, own: Conversation[None]) -> None:
        """Do as ``hold`` does, without blocking the running event loop."""
        with self._part(own):
            await own.hold_async(self._invite)

    @contextlib.contextmanager
    def _part(self, own: Conversation[None]) -> Iterator[None]:
        """Have helpers know of the caller's conversation: they may end it."""
        done = self._add(own)
        try:
            yield
        except SandboxError:
            if not self._work.is_over:
                raise
        finally:
            done.set_result(None)

    def _add(self, conversation: Conversation[None]) -> "Future[None]":
        done: Future[None] = Future()
        self._conversations[done] = conversation
        return done

    def _invite(self) -> None:
        """Have as many help as would find enough to do, if turns are free."""
        turns = self._engine.turns
        for _ in range(self._work.helpers_wanted):
            if not turns.take_free():
                return
            steps = self._work.steps(goes_on=lambda: not turns.are_wanted)
            helper = Conversation(self._engine, self._group, steps)
            done = self._add(helper)
            try:
                threading.Thread(target=self._help, args=[done, helper], daemon=True).start()
            except RuntimeError:  # this process may have no more threads
                helper.release()
                self._leave(done)
                return

    def _help(self, done: "Future[None]", helper: Conversation[None]) -> None:
        try:
            with helper, contextlib.suppress(SandboxError):  # the caller meets the same
                helper.hold()
        finally:
            self._leave(done)
        if self._work.is_over:
            self._end_pending()

    def _leave(self, done: "Future[None]") -> None:
        self._engine.turns.give_back()
        done.set_result(None)

    def wait(self) -> None:
        """Wait until all have done what they have taken; end it if no more is wanted."""
        if self._work.is_over:
            self._end_pending()
        if pending := self._pending():
            wait(pending)

    async def wait_async(self) -> None:
        """Do as ``wait`` does, without blocking the running event loop."""
        if self._work.is_over and self._pending():
            await asyncio.to_thread(self._end_pending)
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
        return [done for done in list(self._conversations) if not done.done()]

    def _end_pending(self) -> None:
        """End conversations that are still going on, unless they come to their end very soon."""
        if pending := self._pending():
            for done in wait(pending, _PATIENCE).not_done:
                self._conversations[done].end()
