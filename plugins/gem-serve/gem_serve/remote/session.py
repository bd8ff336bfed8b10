"""The client's side of a session: its numbered calls, and the wait for their answers."""

import asyncio
import concurrent.futures
import contextlib
import secrets
from collections.abc import Iterator
from concurrent.futures import Future

from gem_core.errors import ClosedError, DeadlineError, GemError
from gem_serve.errors import ConnectionLostError, SessionLostError
from gem_serve.remote.link import Link, Reply, settle

__all__ = ["ClientSession"]

_MOST_UNANSWERED = 6
"""Fewer than the answers that a server keeps for a session."""


class ClientSession:
    """The client's side of a session: numbers its calls, and waits for their answers.

    Args:
        link: The connection.
        capacity_wait: Most seconds to wait for a slot.
    """

    def __init__(self, link: Link, capacity_wait: float) -> None:
        self.id = secrets.token_urlsafe(24)
        self.is_open = False
        self.is_lost = False
        self._link = link
        self._capacity_wait = capacity_wait
        self._opening: Future[Reply] | None = None
        self._number = 0
        self._unanswered: list[Future[Reply]] = []
        self._earlier: list[Future[Reply]] = []
        self._awaited: set[Future[Reply]] = set()
        self._is_closed = False

    @property
    def provisioning_seconds(self) -> float | None:
        """Seconds that it took to make the environment; None if that is not known."""
        opened = self._opening
        if opened is None or not opened.done() or opened.exception() is not None:
            return None
        found: float | None = opened.result().get("provisioning_seconds")
        return found

    def open(self, name: str, snapshot: str | None = None) -> None:
        """Begin it on the server."""
        message: Reply = {"op": "open", "session": self.id, "env": name}
        if self._capacity_wait:
            message["wait"] = self._capacity_wait
        if snapshot is not None:
            message["snapshot"] = snapshot
        self.begun_by(self._link.submit(message))

    def begun_by(self, opening: Future[Reply]) -> None:
        """Note the call that begins it on the server."""
        self.is_open = True
        self._opening = opening
        self._earlier.append(opening)
        self._link.keep(self.id)

    def send(self, op: str, message: Reply, timeout: float) -> Future[Reply]:
        """Send the next call; ``result`` and ``wait`` return its reply.

        Raises:
            OversizeError: The message is too large; the call has not been made.
            DeadlineError: Many earlier calls have no answer, and got none in ``timeout`` seconds.
        """
        self._unanswered = [future for future in self._unanswered if not future.done()]
        is_full = len(self._unanswered) >= _MOST_UNANSWERED
        if is_full and concurrent.futures.wait(self._unanswered, timeout).not_done:
            raise self._cause(self._link.late(timeout))
        number = self._number + 1
        numbered = {"op": op, "session": self.id, "number": number, **message}
        sent = self._link.submit(numbered)
        self._number = number
        self._unanswered.append(sent)
        if op in ("seed", "seed_actions"):  # the copy waits for a fork
            self._earlier.append(sent)
        return sent

    def result(self, sent: Future[Reply], timeout: float) -> Reply:
        """Wait for a reply to a call, and before it until the session has a slot.

        Raises:
            GemError: The call failed, or an earlier one that nobody waited for.
        """
        try:
            with self._awaiting(sent):
                if self._is_beginning and self._opening is not None:
                    concurrent.futures.wait([self._opening], timeout + self._capacity_wait)
                concurrent.futures.wait([sent], timeout)
                if not sent.done() and self._link.is_parked(self.id):
                    timeout = self._capacity_wait
                    concurrent.futures.wait([sent], timeout)
                reply = self._link.result(sent, 0)
        except DeadlineError as error:
            raise self._cause(self._link.late(timeout) if not sent.done() else error) from None
        except GemError as error:
            raise self._cause(error) from None
        self._raise_earlier()
        return reply

    async def wait(self, sent: Future[Reply], seconds: float) -> Reply:
        """Wait for a reply in an event loop; see ``result``."""
        try:
            with self._awaiting(sent):
                if self._is_beginning and self._opening is not None:
                    await _settled(self._opening, seconds + self._capacity_wait)
                waiter = asyncio.wrap_future(sent)
                try:
                    reply = await asyncio.wait_for(asyncio.shield(waiter), seconds)
                except TimeoutError as error:
                    if isinstance(error, GemError) or not self._link.is_parked(self.id):
                        raise
                    seconds = self._capacity_wait
                    reply = await asyncio.wait_for(waiter, seconds)
        except GemError as error:
            raise self._cause(error) from None
        except TimeoutError as error:
            raise self._cause(self._link.late(seconds)) from error
        except asyncio.CancelledError:
            self.is_lost = True  # the server may have done it
            raise
        self._raise_earlier()
        return reply

    @property
    def _is_beginning(self) -> bool:
        """Whether the server has not said yet that it has begun."""
        return self._opening is not None and not self._opening.done()

    def close(self) -> None:
        """End it on the server, if it was begun there; calls that wait for an answer raise."""
        self._is_closed = True
        self._link.end(self.id)
        for future in list(self._awaited):
            settle(future, {}, _closed())

    @contextlib.contextmanager
    def _awaiting(self, sent: Future[Reply]) -> Iterator[None]:
        """Let ``close`` end the wait for a reply; a reply that is not awaited may be a fork's."""
        awaited = {sent} if self._opening is None else {sent, self._opening}
        self._awaited |= awaited
        try:
            if self._is_closed:
                raise _closed()
            yield
        finally:
            self._awaited -= awaited

    def _cause(self, error: GemError) -> GemError:
        """Return the first error of the calls that led to an error, and note if all is lost."""
        if self._is_closed:
            return _closed()
        if isinstance(error, SessionLostError | ConnectionLostError | DeadlineError):
            self.is_lost = True
        try:
            self._raise_earlier()
        except GemError as earlier:
            self.is_lost = True
            return earlier
        return error

    def _raise_earlier(self) -> None:
        earlier, self._earlier = self._earlier, []
        for future in earlier:
            if future.done():
                self._link.result(future, None)
            else:
                self._earlier.append(future)


def _closed() -> ClosedError:
    return ClosedError("This environment on a server was closed during the call.")


async def _settled(future: Future[Reply], seconds: float) -> None:
    """Wait until a future is done, whatever its result."""
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    future.add_done_callback(lambda _: loop.call_soon_threadsafe(done.set))
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), seconds)
