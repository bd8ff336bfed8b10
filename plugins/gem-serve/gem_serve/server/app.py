"""The application: routes, connections, and the life of a server."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping

from aiohttp import WSMsgType, web

from gem_core.errors import ConfigError, GemError
from gem_core.factory import EnvFactory
from gem_core.secret import Secret
from gem_serve.errors import RateError, error_reply
from gem_serve.server.calls import Calls
from gem_serve.server.guard import STATUS, Guard
from gem_serve.server.limits import Limits
from gem_serve.server.metrics import Metrics
from gem_serve.server.openenv import OpenEnv
from gem_serve.server.sessions import Reply, Sessions
from gem_serve.server.signing import Signer
from gem_serve.wire import dumps, loads

__all__ = ["Server", "make_app"]

_POLL_SECONDS = 0.05
_MOST_UNANSWERED = 4096
"""Messages of one connection that may wait for their answers at the same time."""


class Server:
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
        self._sockets: set[web.WebSocketResponse] = set()

    def app(self) -> web.Application:
        """Return the application; each is run once."""
        app = web.Application(
            client_max_size=self.limits.max_bytes, middlewares=[self._guard.middleware]
        )
        app.add_routes(
            [
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

        Args:
            seconds: How long to wait.

        Returns:
            How many episodes did not end in time.
        """
        self.sessions.draining = True
        until = asyncio.get_running_loop().time() + seconds
        while (  # noqa: ASYNC110 - an end has no event
            left := self.sessions.playing()
        ) and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(_POLL_SECONDS)
        return left

    async def _life(self, _: web.Application) -> AsyncIterator[None]:
        expiring = asyncio.create_task(self._expire())
        yield
        expiring.cancel()
        await self.sessions.shut()

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
        return web.json_response(reply, status=status, dumps=dumps)

    async def _ready(self, _: web.Request) -> web.Response:
        draining = self.sessions.draining
        return web.json_response({"ready": not draining}, status=503 if draining else 200)

    async def _metrics(self, _: web.Request) -> web.Response:
        text = self.metrics.text(
            sessions=len(self.sessions),
            sessions_limit=self.limits.max_envs,
            episodes_playing=self.sessions.playing(),
            connections=len(self._sockets),
        )
        return web.Response(text=text, headers={"Content-Type": "text/plain; version=0.0.4"})

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        """Answer the messages of a connection, those of different sessions at the same time."""
        socket = self._guard.socket()
        await socket.prepare(request)
        self._sockets.add(socket)
        tasks: set[asyncio.Task[None]] = set()
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    is_full = len(tasks) >= _MOST_UNANSWERED
                    answering = self._reply(request, socket, message.data, is_full=is_full)
                    task = asyncio.create_task(answering)
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
        finally:
            self._sockets.discard(socket)
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
        if not socket.closed:
            await _send(socket, dumps({"id": number, **reply}))
        if socket.closed:
            self.sessions.leave(socket)  # it was closed while the message was being answered


def _number_in(text: str) -> int | None:
    """Return the ``id`` of a message that was refused unread, if it begins with it."""
    digits = text[6:24].partition(",")[0] if text.startswith('{"id":') else ""
    return int(digits) if digits.isascii() and digits.isdigit() else None


async def _send(socket: web.WebSocketResponse, text: str) -> None:
    try:
        await socket.send_str(text)
    except (ConnectionError, RuntimeError):
        return  # the client has gone; it may ask again


def make_app(
    factories: Mapping[str, EnvFactory],
    *,
    limits: Limits | None = None,
    token: Secret | None = None,
    secret: bytes | None = None,
) -> web.Application:
    """Return an aiohttp application that serves environments; see ``Server``."""
    return Server(factories, limits=limits, token=token, secret=secret).app()
