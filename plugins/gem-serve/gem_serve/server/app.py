"""The application: routes, connections, and the life of a server."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Coroutine, Mapping
from importlib.metadata import version
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from gem_core.errors import ConfigError, GemError
from gem_core.factory import EnvFactory
from gem_core.secret import Secret
from gem_serve.errors import RateError, error_reply
from gem_serve.exposition import exposed
from gem_serve.server.calls import Calls
from gem_serve.server.guard import STATUS, Guard, later
from gem_serve.server.limits import Limits
from gem_serve.server.metrics import Metrics
from gem_serve.server.openenv import OpenEnv
from gem_serve.server.pages import index_page, openapi
from gem_serve.server.session import Reply
from gem_serve.server.sessions import Sessions
from gem_serve.server.signing import Signer
from gem_serve.wire import dumps, loads

__all__ = ["EnvServer", "make_app"]

_POLL_SECONDS = 0.05
_MOST_UNANSWERED = 4096
"""Messages of one connection that may wait for their answers at the same time."""
_MOST_UNREAD = 4
"""How often the size at which a connection is not listened to may be exceeded before it is cut."""
_MOVED = b"The server is about to end; connect again."


class EnvServer:
    """A server of environments.

    Args:
        factories: Makes the environments, by the name that clients use.
        limits: What clients may do.
        token: What clients must send; None to let all in.
        secret: The key that signs snapshots; None for a new one.

    Raises:
        ConfigError: There is no environment.
        GemError: An environment cannot be made, or is for several agents.
    """

    def __init__(
        self,
        factories: Mapping[str, EnvFactory],
        *,
        limits: Limits | None = None,
        token: Secret | None = None,
        secret: bytes | None = None,
    ) -> None:
        if not factories:
            raise ConfigError("A server needs at least one environment.")
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self.sessions = Sessions(factories, self.limits, self.metrics)
        signer = Signer(secret or secrets.token_bytes(32))
        self._calls = Calls(self.sessions, signer, self.metrics)
        self._guard = Guard(self.limits, token)
        self._needs_token = token is not None
        self._sockets: dict[web.WebSocketResponse, _Traffic] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self.sessions.on_parked = self._tell_parked

    def app(self) -> web.Application:
        """Return the application; each is run once."""
        app = web.Application(
            client_max_size=self.limits.max_bytes, middlewares=[self._guard.middleware]
        )
        app.add_routes(
            [
                web.get("/", self._index),
                web.get("/openapi.json", self._openapi),
                web.get("/gem/ws", self._socket),
                web.get("/gem/ready", self._ready),
                web.get("/metrics", self._metrics),
                web.post(r"/gem/{op:\w+}", self._post),
                *OpenEnv(self._calls, self._guard).routes(),
            ]
        )
        app.cleanup_ctx.append(self._life)
        app.on_shutdown.append(self._hang_up)
        return app

    async def drain(self, seconds: float) -> int:
        """Begin nothing new, and wait for the episodes that are being played.

        Connections without such an episode are closed, so that their clients connect to another
        server.

        Args:
            seconds: How long to wait.

        Returns:
            How many episodes did not end in time.
        """
        self.sessions.drain()
        until = asyncio.get_running_loop().time() + seconds
        while True:
            self._send_away()
            left = self.sessions.playing()
            if not left or asyncio.get_running_loop().time() >= until:
                return left
            await asyncio.sleep(_POLL_SECONDS)

    def _send_away(self) -> None:
        """Close the connections on which no episode is played and no message waits."""
        playing = {one.link for one in self.sessions if one.episode is not None or one.is_busy}
        for socket, traffic in self._sockets.items():
            if socket not in playing and not traffic.tasks and not traffic.is_ending:
                traffic.is_ending = True
                self._start(socket.close(code=WSCloseCode.SERVICE_RESTART, message=_MOVED))

    def _start(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _tell_parked(self, session_id: str, link: object) -> None:
        """Tell a client that the next call of its session may have to wait for a slot."""
        if isinstance(link, web.WebSocketResponse) and link in self._sockets and not link.closed:
            self._start(self._sockets[link].send(link, dumps({"id": -1, "parked": session_id})))

    async def _life(self, _: web.Application) -> AsyncIterator[None]:
        expiring = asyncio.create_task(self._expire())
        yield
        expiring.cancel()
        await self.sessions.shut()
        if self._background:
            await asyncio.wait(self._background, timeout=1.0)  # the last answers

    async def _expire(self) -> None:
        pause = min(max(self.limits.idle_timeout / 4, 0.05), 5.0)
        while True:
            await asyncio.sleep(pause)
            await self.sessions.expire()

    async def _hang_up(self, _: web.Application) -> None:
        for socket in list(self._sockets):
            await socket.close(code=1001, message=b"The server has ended.")

    async def _post(self, request: web.Request) -> web.Response:
        """Answer a single message; its call is the last part of the path."""
        message = loads(await request.read() or "{}")
        reply = await self._calls.answer({**message, "op": request.match_info["op"]})
        status = STATUS.get(reply["error"]["type"], 422) if "error" in reply else 200
        return web.json_response(reply, status=status, headers=later(reply), dumps=dumps)

    async def _ready(self, _: web.Request) -> web.Response:
        draining = self.sessions.draining
        return web.json_response({"ready": not draining}, status=503 if draining else 200)

    async def _index(self, _: web.Request) -> web.Response:
        factories, capacity = self.sessions.factories, self.sessions.capacity
        named = [(name, one.spec.description or one.spec.id) for name, one in factories.items()]
        status = (
            f"{capacity.taken} of {capacity.most} slots are taken, {self.sessions.playing()} "
            f"episodes are played, {self.metrics.steps:,} steps were taken."
        )
        headers = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
        page = index_page(named, status)
        return web.Response(text=page, content_type="text/html", headers=headers)

    async def _openapi(self, _: web.Request) -> web.Response:
        found = openapi(version("gem-serve"), needs_token=self._needs_token)
        return web.json_response(found)

    async def _metrics(self, _: web.Request) -> web.Response:
        found = self.metrics.families(
            sessions=len(self.sessions),
            sessions_limit=self.limits.max_envs,
            sessions_waiting=self.sessions.capacity.waiting,
            episodes_playing=self.sessions.playing(),
            connections=len(self._sockets),
        )
        return exposed(found)

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        """Answer the messages of a connection, those of different sessions at the same time."""
        socket = self._guard.socket()
        await socket.prepare(request)
        traffic = self._sockets[socket] = _Traffic(request, 2 * self.limits.max_bytes)
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    is_full = len(traffic.tasks) >= _MOST_UNANSWERED
                    answering = self._reply(request, socket, message.data, is_full=is_full)
                    task = self._start(answering)
                    traffic.tasks.add(task)
                    task.add_done_callback(traffic.tasks.discard)
                    await traffic.until_read()
        finally:
            del self._sockets[socket]
            self.sessions.leave(socket)
        return socket

    async def _reply(
        self, request: web.Request, socket: web.WebSocketResponse, text: str, *, is_full: bool
    ) -> None:
        number = None
        try:
            self._guard.check(request, len(text))
            message = loads(text)
            number = message.get("id")
            if is_full:
                raise RateError(f"More than {_MOST_UNANSWERED} messages wait for answers.", 0.1)
            reply: Reply = await self._calls.answer(message, socket)
        except GemError as error:
            self.metrics.errors[type(error).__name__] += 1
            reply = error_reply(error)
            number = _number_in(text) if number is None else number
        traffic = self._sockets.get(socket)
        if traffic is not None and not socket.closed:
            await traffic.send(socket, dumps({"id": number, **reply}))
        if socket.closed:
            self.sessions.leave(socket)  # it was closed while the message was being answered


class _Traffic:
    """The messages of a connection that are being answered, and the answers that wait to be read.

    A client that does not read is not listened to either, and in the end its connection is cut.

    Args:
        request: The request that began the connection.
        most: Bytes of answers that may wait before the connection is listened to again.
    """

    def __init__(self, request: web.Request, most: int) -> None:
        self.tasks: set[asyncio.Task[None]] = set()
        self.is_ending = False
        self._request, self._most = request, most
        self._unread = 0
        self._read = asyncio.Event()

    async def until_read(self) -> None:
        """Wait while too many answers are unread."""
        while self._unread > self._most:
            self._read.clear()
            await self._read.wait()

    async def send(self, socket: web.WebSocketResponse, text: str) -> None:
        """Send an answer; cut the connection if its client does not read the earlier ones."""
        if self._unread > _MOST_UNREAD * self._most:
            if self._request.transport is not None:
                self._request.transport.abort()
            return
        self._unread += len(text)
        try:
            await socket.send_str(text)
        except (ConnectionError, RuntimeError):
            return  # the client has gone; it may ask again
        finally:
            self._unread -= len(text)
            self._read.set()


def _number_in(text: str) -> int | None:
    """Return the ``id`` of a message that was refused unread, if it begins with it."""
    digits = text[6:24].partition(",")[0] if text.startswith('{"id":') else ""
    return int(digits) if digits.isascii() and digits.isdigit() else None


def make_app(
    factories: Mapping[str, EnvFactory],
    *,
    limits: Limits | None = None,
    token: Secret | None = None,
    secret: bytes | None = None,
) -> web.Application:
    """Return an aiohttp application that serves environments; see ``EnvServer``."""
    return EnvServer(factories, limits=limits, token=token, secret=secret).app()
