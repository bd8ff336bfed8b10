"""Sessions: one for each server and process, opened on first use and again after a loss.

A session lives in the event loop of ``gem_tools.background``. Its client is entered and left by one
task, as the SDK requires; any number of calls run beside it at the same time. If a server stops
answering, its connection is dropped, and the next call opens another. A session that was closed,
because no tool uses it any more, stays closed.
"""

import asyncio
import contextlib
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from gem_core.errors import ClosedError, GemError
from gem_core.lifetimes import Lock
from gem_tools.background import LOOP
from gem_tools.mcp.config import ServerConfig

if TYPE_CHECKING:
    from mcp.client import Client
    from mcp.types import CallToolResult

__all__ = ["Handlers", "Offer", "Session", "SessionLostError", "Sessions", "sessions"]

_PROBE_SECONDS = 5.0
"""A program is replaced if a call timed out and it then answers nothing for this time."""
_CLOSE_SECONDS = 5.0
"""Seconds in which a server must let go; then the connection to it is abandoned."""
_MOST_PAGES = 100
"""Maximum number of pages in a listing of tools."""


class SessionLostError(GemError, ConnectionError):
    """A server cannot be reached, or the connection to it broke during a call.

    Args:
        message: The message, with the URL or command of the server, which agents should not see.
        why: The reason alone.
    """

    def __init__(self, message: str, why: str = "") -> None:
        super().__init__(message, why)
        self.why = why


@dataclass(frozen=True)
class Handlers:
    """Handlers of messages that a server sends on its own initiative.

    Args:
        log: Receives log messages.
        sampling: Answers a server's request for text from a model.
    """

    log: Callable[..., Any] | None = None
    sampling: Callable[..., Any] | None = None

    def options(self) -> dict[str, Any]:
        """Return them as arguments of the SDK's ``Client``."""
        from gem_tools.mcp.callbacks import log_callback, sampling_callback  # noqa: PLC0415

        options: dict[str, Any] = {}
        if self.log is not None:
            options |= {"logging_callback": log_callback(self.log), "log_level": "debug"}
        if self.sampling is not None:
            options["sampling_callback"] = sampling_callback(self.sampling)
            options["mode"] = "legacy"  # newer protocols do not allow requests by servers
        return options


@dataclass(frozen=True)
class Offer:
    """A tool as its server lists it.

    Args:
        name: Name of the tool at the server.
        description: Description for the model.
        parameters: JSON schema of the arguments.
        repeatable: Whether a call may be repeated; False only if the server denies it.
    """

    name: str
    description: str
    parameters: Mapping[str, Any] = field(hash=False)
    repeatable: bool = True


class _Link:
    """A client that is being opened, is open, or is being closed.

    Cancelling its scope closes it in an orderly way; cancelling its task would not.
    """

    def __init__(self, timeout: float) -> None:
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + timeout)
        self.opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self.heard = anyio.current_time()
        """Time of the server's last answer."""
        self.holder: asyncio.Task[None] | None = None
        self.aside: asyncio.Task[None] | None = None
        """A probe or a listing that runs beside the calls."""


class Session:
    """The connection to one server. All coroutines run in the background.

    Args:
        server: The server.
        handlers: Handlers of its messages.
    """

    def __init__(self, server: ServerConfig, handlers: Handlers) -> None:
        self.server = server
        self.handlers = handlers
        self._known: tuple[Offer, ...] | None = None
        self._is_closed = False
        self._current: _Link | None = None
        self._links: set[_Link] = set()

    async def offers(self, connect_timeout: float) -> tuple[Offer, ...]:
        """Return the tools of the server, as listed when the session was opened or changed.

        Args:
            connect_timeout: Seconds to open the session.

        Raises:
            SessionLostError: The server cannot be reached, or does not answer in time.
            ClosedError: The session was closed.
        """
        if self._known is None:
            await self._opened(connect_timeout)
        return self._known or ()

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        connect_timeout: float,
        timeout: float,  # noqa: ASYNC109 - a caller can also cancel its future
        progress: Any = None,
    ) -> "CallToolResult":
        """Call a tool.

        Args:
            name: Name of the tool at the server.
            arguments: Arguments of the call.
            connect_timeout: Seconds to connect, if necessary.
            timeout: Seconds for the call; then it is cancelled at the server.
            progress: Receives progress, total and message.

        Raises:
            SessionLostError: The connection could not be made, or broke.
            ClosedError: The session was closed.
            TimeoutError: There was no answer in time.
            MCPError: The server refused the request.
        """
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - imported by now
        from mcp.types import CONNECTION_CLOSED  # noqa: PLC0415

        link, client = await self._opened(connect_timeout)
        try:
            async with asyncio.timeout(timeout):
                answer = await client.call_tool(name, dict(arguments), progress_callback=progress)
        except TimeoutError:
            self._doubt(link)
            raise
        except MCPError as error:
            if error.code == CONNECTION_CLOSED or "session terminated" in str(error).lower():
                self._drop(link)
                raise self._lost(str(error)) from error
            raise
        link.heard = anyio.current_time()
        return answer

    async def close(self) -> None:
        """Disconnect for good, within ``_CLOSE_SECONDS``."""
        self._is_closed = True
        links = list(self._links)
        for link in links:
            self._drop(link)
        holders = [link.holder for link in links if link.holder is not None]
        if holders:
            _, late = await asyncio.wait(holders, timeout=_CLOSE_SECONDS)
            for holder in late:
                holder.cancel()

    async def _opened(self, connect_timeout: float) -> tuple[_Link, "Client"]:
        """Return the open client; callers share one that is being opened."""
        if self._is_closed:
            raise ClosedError(f"The session of the MCP server {str(self.server)!r} is closed.")
        link = self._current
        if link is None:
            link = self._current = _Link(connect_timeout)
            self._links.add(link)
            link.holder = asyncio.ensure_future(self._hold(link, connect_timeout))
        return link, await asyncio.shield(link.opened)

    async def _hold(self, link: _Link, connect_timeout: float) -> None:
        """Enter a client, and leave it when its link is dropped or the transport fails."""
        from gem_tools.mcp.transports import StderrTail, open_client  # noqa: PLC0415 - the SDK

        stderr, why = StderrTail(), "it was closed"
        try:
            with link.scope:
                options = {**self.handlers.options(), "message_handler": self._noticed}
                async with open_client(self.server, stderr, **options) as client:
                    self._known = await _list_offers(client)
                    link.scope.deadline = math.inf
                    link.opened.set_result(client)
                    await anyio.sleep_forever()
            if link.scope.deadline <= anyio.current_time():
                why = f"there was no answer within {connect_timeout:g} s"
        except Exception as error:  # noqa: BLE001 - waiting callers get every error
            why = _innermost(error)
        finally:
            self._drop(link)
            self._links.discard(link)
            if not link.opened.done():
                link.opened.set_exception(self._lost(why, str(stderr)))
                link.opened.exception()  # there may be no waiting caller left

    async def _noticed(self, message: Any) -> None:
        """List the tools again when the server reports a change."""
        link = self._current
        if link is not None and getattr(message, "method", "").endswith("tools/list_changed"):
            link.aside = asyncio.ensure_future(self._list_again(link))

    async def _list_again(self, link: _Link) -> None:
        with contextlib.suppress(Exception):  # the old listing stays
            self._known = await _list_offers(await link.opened)

    def _drop(self, link: _Link) -> None:
        """Abandon a link, so that the next call opens another."""
        link.scope.cancel()
        if self._current is link:
            self._current = None

    def _doubt(self, link: _Link) -> None:
        """Check, beside running calls, whether the server still answers."""
        is_program = self.server.transport == "stdio"  # only programs are ours to replace
        if is_program and (link.aside is None or link.aside.done()):
            link.aside = asyncio.ensure_future(self._probe(link))

    async def _probe(self, link: _Link) -> None:
        began = anyio.current_time()
        with contextlib.suppress(Exception):  # every failure means the same here
            async with asyncio.timeout(_PROBE_SECONDS):
                await (await link.opened).list_tools(cache_mode="refresh")
                link.heard = anyio.current_time()
        if link.heard < began:  # a busy server would have answered other calls
            self._drop(link)

    def _lost(self, why: str, stderr: str = "") -> SessionLostError:
        said = f" It wrote: {stderr}" if stderr else ""
        return SessionLostError(
            f"failed to connect to the MCP server {str(self.server)!r} "
            f"({self.server.transport}): {why}.{said}",
            why,
        )


def _innermost(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


async def _list_offers(client: "Client") -> tuple[Offer, ...]:
    tools: list[Any] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tuple(map(_offer, tools))


def _offer(tool: Any) -> Offer:
    notes = tool.annotations
    denies = notes is not None and notes.idempotent_hint is False and not notes.read_only_hint
    return Offer(tool.name, tool.description or "", tool.input_schema, repeatable=not denies)


class Sessions:
    """The sessions of one process, each kept as long as a tool uses it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: dict[tuple[ServerConfig, Handlers], tuple[Session, int]] = {}
        self._unused: set[Session] = set()
        """Sessions that nothing uses and that may be open."""

    def hold(self, server: ServerConfig, handlers: Handlers) -> Session:
        """Return the session of a server; give it back with ``release``."""
        with self._lock:
            session, count = self._held.get((server, handlers), (None, 0))
            session = session or Session(server, handlers)
            self._held[server, handlers] = session, count + 1
        return session

    def release(self, held: Iterable[Session]) -> list[Session]:
        """Give sessions back, and return those that are unused now, for ``end``."""
        unused = []
        for session in held:
            key = session.server, session.handlers
            with self._lock:
                _, count = self._held.pop(key)
                if count > 1:
                    self._held[key] = session, count - 1
                else:
                    unused.append(session)
                    self._unused.add(session)
        return unused

    async def end(self, unused: Iterable[Session]) -> None:
        """Close sessions that ``release`` has returned."""
        sessions = list(unused)
        await asyncio.gather(*(session.close() for session in sessions))
        self._unused.difference_update(sessions)

    async def close(self) -> None:
        """Close all sessions, also those that are being closed."""
        held = [session for session, _ in list(self._held.values())]
        ends = [session.close() for session in (*held, *self._unused)]
        await asyncio.gather(*ends, return_exceptions=True)


_lock = Lock()
_current: Sessions | None = None
_of_parents: list[Sessions] = []
"""Sessions of parent processes, kept so that a fork does not disconnect what they use."""


def sessions() -> Sessions:
    """Return the sessions of this process; they are closed when it ends."""
    global _current  # noqa: PLW0603 - one for each process
    with _lock:
        if _current is None:
            _current = Sessions()
            LOOP.before_end(_current.close)
        return _current


def _forget() -> None:
    """Keep the parent's sessions open; their thread does not exist in a fork."""
    global _current  # noqa: PLW0603 - one for each process
    if _current is not None:
        _of_parents.append(_current)
    _current = None


os.register_at_fork(after_in_child=_forget)
