"""The connection to a server, which all environments of a process share.

It lives in a thread with an event loop of its own, so it serves code with and without a loop. When
it is lost it is made again, and every message without an answer is sent again. The server knows a
repeated message by its number, and answers it from memory. A fork of the process makes connections
of its own.
"""

import asyncio
import contextlib
import functools
import itertools
from collections.abc import Coroutine
from concurrent.futures import Future, InvalidStateError, wait
from typing import Any

import aiohttp

from gem_core.background import BackgroundLoop
from gem_core.errors import DeadlineError, GemError
from gem_core.lifetimes import Lock
from gem_serve.errors import (
    AccessError,
    ConnectionLostError,
    OversizeError,
    RemoteError,
    error_from,
)
from gem_serve.wire import dumps, loads

__all__ = ["Link", "Reply", "known_token", "link_to", "settle"]

Reply = dict[str, Any]

_PROTOCOL = 1
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0
_FIRST_PATIENCE = 5.0
"""Seconds for the first connection: few, so that a wrong address is reported soon, but enough for a
server that is being restarted."""
_HEARTBEAT = 20.0
_RESTART_PAUSE = 0.25
_AWAY = (502, 503, 504)
"""What a proxy answers while the server behind it is exchanged."""


class Link:
    """A connection to a server, made when it is first needed.

    Args:
        url: ``http://HOST:PORT`` or ``https://HOST:PORT``.
        token: The server's token; None if it has none.
        reconnect: Seconds in which a lost connection must be made again.
        loop: The event loop of the connections.
    """

    def __init__(self, url: str, token: str | None, reconnect: float, loop: BackgroundLoop) -> None:
        self.url = url
        self._token = token
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._reconnect = reconnect
        self._numbers = itertools.count()
        self._waiting: dict[int, tuple[str, Future[Reply]]] = {}
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._runs = False
        self._loop = loop
        self._hello: Reply | None = None
        self._most = 0
        self._open: set[str] = set()
        self._parked: set[str] = set()

    def hello(self, timeout: float) -> Reply:
        """Return the description of the server; it is asked once in each connection.

        After a restart, another server may answer at the same address.

        Raises:
            ConnectionLostError: The server cannot be reached.
            GemError: It is another kind of server, or refuses this client.
        """
        if self._hello is None:
            future = self.submit({"op": "hello"})
            future.add_done_callback(self._note)
            found = self.result(future, timeout)
            if found.get("protocol") != _PROTOCOL:
                raise ConnectionLostError(
                    f"{self.url} speaks version {found.get('protocol')} of the protocol, and this "
                    f"client version {_PROTOCOL}. Install the same gem-serve on both sides."
                )
            self._most = int(found["max_bytes"])
            if self._token is not None:
                _TOKENS[self.url] = self._token
            return found
        return self._hello

    def _note(self, future: Future[Reply]) -> None:
        """Keep what the server said, in the loop's thread, before the connection can be lost."""
        if future.exception() is None and future.result().get("protocol") == _PROTOCOL:
            self._hello = future.result()

    def submit(self, message: Reply) -> Future[Reply]:
        """Send a message from any thread; return a future of its reply.

        Messages of a session reach the server in the order of the calls.

        Raises:
            OversizeError: The server does not take messages of this size.
        """
        number = next(self._numbers)
        text = dumps({"id": number, **message})
        if self._most and len(text) > self._most:
            raise OversizeError(
                f"{self.url} takes messages of {self._most:,} bytes (--max-bytes); this one "
                f"({message.get('op')}) has {len(text):,}."
            )
        future: Future[Reply] = Future()
        self._loop.call_soon(self._begin, number, text, future)
        return future

    def result(self, future: Future[Reply], timeout: float | None) -> Reply:
        """Wait for a reply.

        Raises:
            DeadlineError: There was none in time.
            GemError: The reply is an error.
        """
        try:
            return future.result(timeout)
        except TimeoutError as error:
            if isinstance(error, GemError):
                raise
            raise self.late(timeout) from error

    def late(self, timeout: float | None) -> DeadlineError:
        """Return the error about a reply that did not come in time."""
        return DeadlineError(f"{self.url} did not answer within {timeout:g} s (timeout=).")

    def keep(self, session_id: str) -> None:
        """Keep a session alive as long as this process runs."""
        self._open.add(session_id)

    def end(self, session_id: str) -> None:
        """End a session that is kept alive, without waiting for it."""
        if session_id in self._open:
            self._open.discard(session_id)
            self._parked.discard(session_id)
            self.submit({"op": "close", "session": session_id})

    def is_parked(self, session_id: str) -> bool:
        """Return whether the server has ever given the slot of a session to another one."""
        return session_id in self._parked

    def unanswered(self) -> list[Future[Reply]]:
        """Return the futures of all messages without an answer."""
        return [future for _, future in list(self._waiting.values())]

    def drop(self) -> None:
        """Cut the connection, as a failing network does; it is made again."""
        self._loop.call_soon(self._cut)

    def _cut(self) -> None:
        response = getattr(self._socket, "_response", None)
        if response is not None and response.connection is not None:
            response.connection.transport.abort()

    def _begin(self, number: int, text: str, future: Future[Reply]) -> None:
        self._waiting[number] = text, future
        if self._socket is not None and not self._socket.closed:
            self._start(self._send(self._socket, text))
        elif not self._runs:
            self._runs = True
            self._start(self._run())

    @staticmethod
    def _start(work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        _TASKS.add(task)
        task.add_done_callback(_TASKS.discard)

    @staticmethod
    async def _send(socket: aiohttp.ClientWebSocketResponse, text: str) -> None:
        try:
            await socket.send_str(text)
        except (ConnectionError, RuntimeError, aiohttp.ClientError):
            return  # the connection is lost, and the message is sent again

    async def _run(self) -> None:
        """Keep the connection as long as it is needed."""
        while self._runs:
            try:
                async with aiohttp.ClientSession(headers=self._headers) as client:
                    await self._keep(client)
            except BaseException as error:
                found = error if isinstance(error, GemError) else RemoteError(repr(error))
                self._fail(found)  # all that wait are told
                if not isinstance(error, Exception):
                    raise
            finally:
                self._socket, self._hello = None, None
                self._runs = bool(self._waiting)  # what came while the connection ended

    async def _keep(self, client: aiohttp.ClientSession) -> None:
        while True:
            socket = await self._connected(client)
            self._socket = socket
            try:
                await self._serve(socket)
            finally:
                await _closed(socket)
            self._socket, self._hello = None, None
            if not self._waiting and not self._open:
                return
            if socket.close_code == aiohttp.WSCloseCode.SERVICE_RESTART:
                await asyncio.sleep(_RESTART_PAUSE)  # it may be the ending server that answers

    async def _serve(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        if self._open:
            kept = {"op": "attach", "sessions": list(self._open)}
            await self._send(socket, dumps({"id": -1, **kept}))
        for text, _ in list(self._waiting.values()):
            await self._send(socket, text)
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                self._take(loads(message.data))

    async def _connected(self, client: aiohttp.ClientSession) -> aiohttp.ClientWebSocketResponse:
        """Return a connection; try again with growing pauses.

        Raises:
            AccessError: The server refuses the token.
            ConnectionLostError: There is none after ``reconnect`` seconds.
        """
        seconds = min(self._reconnect, _FIRST_PATIENCE) if self._most == 0 else self._reconnect
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        pause = _FIRST_PAUSE
        while True:
            try:
                async with asyncio.timeout(max(seconds, 1.0)):
                    return await client.ws_connect(
                        f"{self.url}/gem/ws", heartbeat=_HEARTBEAT, max_msg_size=0, compress=0
                    )
            except aiohttp.WSServerHandshakeError as error:
                if error.status not in _AWAY or loop.time() + pause > until:
                    raise _refused(self.url, error.status) from error
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                if loop.time() + pause > until:
                    raise ConnectionLostError(
                        f"{self.url} cannot be reached: {str(error) or type(error).__name__}. "
                        f"Start it with 'gem-core serve', or check the address."
                    ) from error
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _take(self, reply: Reply) -> None:
        if (parked := reply.get("parked")) in self._open:
            self._parked.add(parked)
        error = reply.get("error")
        if error and error.get("type") == "RateError" and reply.get("id") in self._waiting:
            text, _ = self._waiting[reply["id"]]
            seconds = float(error.get("retry_after", 1.0))
            asyncio.get_running_loop().call_later(seconds, self._again, text)
            return
        text, future = self._waiting.pop(reply.get("id", -1), ("", None))
        if future is not None:
            settle(future, reply, None if error is None else error_from(error))

    def _again(self, text: str) -> None:
        if self._socket is not None:
            self._start(self._send(self._socket, text))

    def _fail(self, error: GemError) -> None:
        waiting, self._waiting = list(self._waiting.values()), {}
        for _, future in waiting:
            settle(future, {}, error)


async def _closed(socket: aiohttp.ClientWebSocketResponse) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_EXIT_SECONDS):
            await socket.close()


def _refused(url: str, status: int) -> GemError:
    if status == 401:
        return AccessError(
            f"{url} refuses this client: the token is missing or wrong. Give token=..., or set "
            f"GEM_SERVE_TOKEN."
        )
    return ConnectionLostError(
        f"{url} is not a server of gem-core: it answered /gem/ws with the status {status}."
    )


def settle(future: "Future[Reply]", reply: Reply, error: GemError | None) -> None:
    """Set the result or error of a reply, unless it has one."""
    try:
        if error is None:
            future.set_result(reply)
        else:
            future.set_exception(error)
    except InvalidStateError:
        return  # the caller no longer waits


_TASKS: set["asyncio.Task[None]"] = set()
_TOKENS: dict[str, str] = {}
"""The tokens that servers have accepted, by their URL."""
_LOCK = Lock()
_EXIT_SECONDS = 1.0


class _Connections:
    """The connections of a process, which live in one event loop until it ends."""

    def __init__(self) -> None:
        self.links: dict[tuple[str, str | None, float], Link] = {}
        self.loop = BackgroundLoop("remote environments", seconds=2 * _EXIT_SECONDS)
        self.loop.before_end(functools.partial(_finish, self.links))


_connections: _Connections | None = None


async def _finish(links: dict[Any, Link]) -> None:
    """Give the last messages, which end sessions, a moment to be answered."""
    waiting = [one for link in links.values() for one in link.unanswered()]
    await asyncio.to_thread(wait, waiting, _EXIT_SECONDS)


def known_token(url: str) -> str | None:
    """Return a token that a server has accepted from this process; None without one."""
    return _TOKENS.get(url)


def link_to(url: str, token: str | None, reconnect: float) -> Link:
    """Return this process's connection to a server."""
    global _connections  # noqa: PLW0603 - one for each process
    with _LOCK:
        if _connections is None or not _connections.loop.is_running:
            _connections = _Connections()
        key = url, token, reconnect
        if key not in _connections.links:
            _connections.links[key] = Link(url, token, reconnect, _connections.loop)
        return _connections.links[key]
