"""Starting the gateway: in an event loop, or in a thread of its own."""

import asyncio
import secrets
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from aiohttp import web

from gem_core.background import BackgroundLoop, Close
from gem_core.secret import Secret
from gem_serve.gateway.admin import admin_app
from gem_serve.gateway.client import GatewayClient
from gem_serve.gateway.engine import EngineClient
from gem_serve.gateway.gateway import Gateway
from gem_serve.gateway.server import program_app

__all__ = ["GatewayServer", "GatewayThread", "serve_in_thread"]

_BACKLOG = 4096
_CLOSE_SECONDS = 10.0


class GatewayServer:
    """The two servers of a gateway; use it as an asynchronous context manager.

    Args:
        engine: The engine.
        folder: The folder of logs and trajectories; None to keep none.
        host: The address that programs call.
        port: Their port; 0 for a free one.
        admin_host: The address of the admin API.
        admin_port: Its port; 0 for a free one.
        admin_token: Its token; None for a new one.
        public_url: The URL under which programs reach the gateway, for those in containers; None
            for that of the address.

    Attributes:
        gateway: The gateway.
        url: The URL for programs.
        admin_url: The URL of the admin API.
        admin_token: Its token.
    """

    def __init__(
        self,
        engine: EngineClient,
        folder: Path | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        admin_host: str = "127.0.0.1",
        admin_port: int = 0,
        admin_token: Secret | None = None,
        public_url: str | None = None,
    ) -> None:
        self.gateway = Gateway(engine, folder)
        self._host, self._port = host, port
        self._admin = admin_host, admin_port
        self.admin_token = admin_token or secrets.token_urlsafe(24)
        self._public = public_url
        self._runners: list[web.AppRunner] = []
        self.url = self.admin_url = ""

    async def __aenter__(self) -> Self:
        try:
            await self._start_all()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def _start_all(self) -> None:
        await self.gateway.__aenter__()
        app = program_app(self.gateway, self._names())
        here = await self._start(app, self._host, self._port)
        self.url = (self._public or here).rstrip("/")
        admin = admin_app(self.gateway, lambda: self.url, self.admin_token)
        self.admin_url = await self._start(admin, *self._admin)
        await asyncio.to_thread(self.gateway.load)

    def _names(self) -> list[str]:
        """Return the host name of the public URL, if there is one."""
        name = urlsplit(self._public or "").hostname
        return [] if name is None else [name]

    async def _start(self, app: web.Application, host: str, port: int) -> str:
        runner = web.AppRunner(
            app, handler_cancellation=True, shutdown_timeout=1.0, access_log=None
        )
        self._runners.append(runner)
        await runner.setup()
        site = web.TCPSite(runner, host, port, backlog=_BACKLOG)
        await site.start()
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{runner.addresses[0][1]}"

    async def __aexit__(self, *_: object) -> None:
        for runner in self._runners:
            await runner.cleanup()
        await self.gateway.__aexit__()


class GatewayThread:
    """A gateway in a thread, for programs and tests that are not asynchronous.

        with GatewayThread("http://127.0.0.1:8000") as gateway:
            episode = gateway.admin.create(env_id="harness:Fix-v0")

    It ends with the block, within ten seconds. A fork of the process may use the admin API, and
    does not end the gateway.

    Args:
        engine_url: The URL of the engine.
        folder: See ``GatewayServer``.
        engine: Arguments of ``EngineClient``.
        options: Arguments of ``GatewayServer``.

    Attributes:
        url: The URL for programs.
        admin_url: The URL of the admin API.
        admin_token: Its token.
        admin: A client of the admin API.
        gateway: The gateway, which belongs to the thread's event loop.
    """

    def __init__(
        self,
        engine_url: str,
        folder: Path | None = None,
        *,
        engine: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._server = GatewayServer(EngineClient(engine_url, **(engine or {})), folder, **options)

    def __enter__(self) -> Self:
        server = self._server
        self._loop = serve_in_thread("gateways", server.__aenter__, server.__aexit__)
        self.gateway = self._server.gateway
        self.url, self.admin_url = self._server.url, self._server.admin_url
        self.admin_token = self._server.admin_token
        self.admin = GatewayClient(self.admin_url, self.admin_token)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.close()


def serve_in_thread(name: str, start: Close, stop: Close) -> BackgroundLoop:
    """Start a server in an event loop in a thread; its end stops it, within some seconds.

    Args:
        name: What is served, as a plural.
        start: Starts it.
        stop: Stops it, also after half a start; it must not refer to the owner of the loop.
    """
    loop = BackgroundLoop(name, seconds=_CLOSE_SECONDS)
    loop.before_end(stop)
    try:
        loop.run(start())
    except BaseException:
        loop.close()
        raise
    return loop
