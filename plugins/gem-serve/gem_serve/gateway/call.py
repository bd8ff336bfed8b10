"""A call that runs: a task asks the engine, and any number of clients follow its events."""

import asyncio
import time
from collections.abc import AsyncIterator

from gem_serve.gateway.answers import Piece
from gem_serve.gateway.events import Ask, CallError, Event, Finish, ReplyMessage
from gem_serve.gateway.memory import Recalled
from gem_serve.gateway.recorder import CallRecord

__all__ = ["PATIENCE", "Call", "fault"]

PATIENCE = 2.0
"""Seconds that a call goes on without a client, for a retry to join it."""


class Call:
    """A call.

    Args:
        record: Its record, which is filled as it goes on.
        ask: What the program asked.
        recalled: The chat as the model sees it, and the call that it continues.

    Attributes:
        prompt_ids: Token ids of the prompt; None while they are unknown.
        events: The events so far.
        error: Why there is no answer; None while there may be one.
        task: The task that asks the engine.
        is_done: Whether there are no more events.
        was_repeated: Whether a retry has taken the place of this call, which failed.
        reserved: Tokens of the episode's budget that are kept for its reply.
    """

    def __init__(self, record: CallRecord, ask: Ask, recalled: Recalled) -> None:
        self.record, self.ask, self.recalled = record, ask, recalled
        self.prompt_ids: list[int] | None = None
        self.events: list[Event] = []
        self.error: CallError | None = None
        self.task: asyncio.Task[None] | None = None
        self.is_done = False
        self.was_repeated = False
        self.reserved = 0
        self._finish: Finish | None = None
        self._reply = ReplyMessage()
        self._clients = 0
        self._changed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._reason = "Every client left before the reply was complete."

    @property
    def sampled(self) -> int:
        """The number of sampled tokens that the engine has told, also of a reply without ids."""
        return 0 if self._finish is None else self._finish.completion_tokens

    @property
    def is_abandoned(self) -> bool:
        """Whether every client has left before it had the whole answer."""
        return self._clients == 0 and not self.record.sent

    async def run(self, pieces: AsyncIterator[Piece]) -> None:
        """Take the pieces of the reply until it ends."""
        try:
            async for piece in pieces:
                self._add(piece)
        except CallError as error:
            self.error = error
        except asyncio.CancelledError:
            self.error = self._stopped()
        except Exception as error:  # noqa: BLE001 - a fault of one call leaves the others alone
            self.fail(error)
        finally:
            self._end()

    def _add(self, piece: Piece) -> None:
        if piece.prompt_ids is not None and self.prompt_ids is None:
            self.prompt_ids = piece.prompt_ids
        self.record.ids += piece.ids
        self.record.logprobs += piece.logprobs
        for event in piece.events:
            self._reply.add(event)
            if isinstance(event, Finish):
                self._finish = event
            else:
                self.events.append(event)
        if piece.events:
            self._changed.set()

    def _end(self) -> None:
        record = self.record
        record.reply = self._reply.message()
        if self.error is None:
            record.finish_reason = self._reply.finish.reason
            record.prompt_tokens = self._reply.finish.prompt_tokens
        else:
            record.status = "partial" if record.ids or self.events else "failed"
            record.error, record.kind = self.error.message, self.error.kind
        if self._timer is not None:
            self._timer.cancel()

    def fail(self, error: Exception) -> None:
        """Take a fault of the gateway itself."""
        self.error = fault(error)

    def refuse(self, error: CallError | None = None) -> None:
        """End a call for which the engine was not asked; None if every client has left."""
        self.error = error or self._stopped()
        self._end()

    def _stopped(self) -> CallError:
        return CallError(503, self._reason, "unavailable")

    def conclude(self) -> None:
        """Let clients see the end, after the call was recorded: the next call may follow it."""
        if self.error is None and self._finish is not None:
            self.events.append(self._finish)
        self.is_done = True
        self.ask, self.recalled, self.prompt_ids = Ask(), Recalled([]), None  # the record has them
        self._changed.set()

    async def follow(self) -> AsyncIterator[list[Event]]:
        """Yield all events in batches, those before the client came first.

        Raises:
            CallError: The engine refused, failed or stopped in the middle.
        """
        at = 0
        while True:
            if at < len(self.events):
                events = self.events[at:]
                at += len(events)
                yield events
                continue
            if self.is_done:
                break
            self._changed.clear()
            await self._changed.wait()
        if self.error is not None:
            raise self.error

    def enter(self) -> None:
        """Count a client."""
        self._clients += 1
        self.record.clients += 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def leave(self) -> None:
        """Forget a client; without any the call is ended after a while."""
        self._clients -= 1
        if self._clients == 0 and not self.is_done:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE, self.abort)

    def abort(self, reason: str = "") -> None:
        """End the call; the engine sees its connection close."""
        self._reason = reason or self._reason
        if self.task is not None and not self.task.done():
            self.task.cancel()

    def begin(self) -> None:
        """Note that the engine is asked now."""
        self.record.waited = time.time() - self.record.started


def fault(error: Exception) -> CallError:
    """Return the error that tells a program of a fault of the gateway itself."""
    message = f"The gateway failed: {type(error).__name__}: {error}"
    return CallError(500, message, "engine")
