"""Starting the gateway: in an event loop, or in a thread of its own."""

import asyncio
import secrets
import threading
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from aiohttp import web

from gem_core.secret import Secret
from gem_serve.gateway.admin import admin_app
from gem_serve.gateway.client import GatewayClient
from gem_serve.gateway.engine import Engine
from gem_serve.gateway.gateway import Gateway
from gem_serve.gateway.server import program_app

__all__ = ["GatewayServer", "GatewayThread"]

_BACKLOG = 4096


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
        url: The URL for programs.
        admin_url: The URL of the admin API.
        admin_token: Its token.
    """

    def __init__(
        self,
        engine: Engine,
        folder: Path | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        admin_host: str = "127.0.0.1",
        admin_port: int = 0,
        admin_token: Secret | None = None,
        public_url: str | None = None,
    ) -> None:
        self._engine, self._folder = engine, folder
        self._host, self._port = host, port
        self._admin = admin_host, admin_port
        self.admin_token = admin_token or secrets.token_urlsafe(24)
        self._public = public_url
        self._runners: list[web.AppRunner] = []
        self.url = self.admin_url = ""

    async def __aenter__(self) -> Self:
        self.gateway = Gateway(self._engine, self._folder)
        await self.gateway.__aenter__()
        app = program_app(self.gateway, self._names())
        here = await self._start(app, self._host, self._port)
        self.url = (self._public or here).rstrip("/")
        admin = admin_app(self.gateway, lambda: self.url, self.admin_token)
        self.admin_url = await self._start(admin, *self._admin)
        await asyncio.to_thread(self.gateway.load)
        return self

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

    Args:
        engine_url: The URL of the engine.
        folder: See ``GatewayServer``.
        engine: Arguments of ``Engine``.
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
        self._server = GatewayServer(Engine(engine_url, **(engine or {})), folder, **options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, daemon=True, name="gem-gateway"
        )

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._server.__aenter__(), self._loop).result()
        except BaseException:
            self._stop()
            raise
        self.gateway = self._server.gateway
        self.url, self.admin_url = self._server.url, self._server.admin_url
        self.admin_token = self._server.admin_token
        self.admin = GatewayClient(self.admin_url, self.admin_token)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._server.__aexit__(), self._loop).result()
        self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
