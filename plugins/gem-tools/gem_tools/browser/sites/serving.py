"""Serves a site to the browser of one environment.

The server is the proxy of that browser: each environment has its own port on loopback, and the site
has the same name everywhere, which is no name of the internet. So addresses are the same in each
episode, no browser sees the site of another, and what is not the site is refused here.
"""

import asyncio
import contextlib
import copy
import io
from collections.abc import Mapping
from http import HTTPStatus
from http.client import parse_headers
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from gem_core.errors import DataError, near_names
from gem_core.lifetimes import Lifetime, Lock
from gem_tools import background
from gem_tools.browser.sites.app import App, Request, Response
from gem_tools.browser.sites.cottages import Cottages
from gem_tools.browser.sites.forum import Forum
from gem_tools.browser.sites.shop import Shop
from gem_tools.browser.sites.tickets import Tickets

__all__ = ["HOME", "SITES", "SiteServer", "new_site"]

SITES: Mapping[str, type[App]] = {
    "shop": Shop,
    "forum": Forum,
    "tickets": Tickets,
    "cottages": Cottages,
}
HOME = "http://site.test/"
"""The first address of each site."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'"
_LARGEST = 1_000_000
"""Maximum number of bytes of a form."""


def new_site(name: str, seed: int) -> dict[str, Any]:
    """Return the state of a new site: ``{"site": name, "data": ...}``.

    Raises:
        DataError: There is no such site.
    """
    return {"site": name, "data": _app(name).first_data(seed)}


def _app(name: str) -> type[App]:
    if name not in SITES:
        raise DataError(
            f"There is no site {name!r}.{near_names(name, SITES)} There are: {', '.join(SITES)}."
        )
    return SITES[name]


class SiteServer:
    """A site and its server, which runs in the background.

    It ends with ``close``, when it is dropped, or with the process. In a fork of the process it
    raises ``ForkError``: the port is the parent's.
    """

    def __init__(self) -> None:
        self._served = _Served()
        self._server = background.run(self._served.start())
        self.proxy = "http://127.0.0.1:{}".format(*self._server.sockets[0].getsockname()[1:2])
        self._lifetime = Lifetime(self, _stop, self._server, what="site", at_exit=False)

    @property
    def state(self) -> dict[str, Any]:
        """A copy of the state of the site, which is JSON-able."""
        self._lifetime.check()
        with self._served.lock:
            return copy.deepcopy({"site": self._served.name, "data": self._served.app.data})

    @state.setter
    def state(self, state: Mapping[str, Any]) -> None:
        self._lifetime.check()
        with self._served.lock:
            self._served.name = state["site"]
            self._served.app = _app(state["site"])(copy.deepcopy(state["data"]))

    def close(self) -> None:
        """End the server; may be called twice."""
        self._lifetime.end()


class _Served:
    """What the server serves; it does not refer to its owner."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.name = ""
        self.app: App

    async def start(self) -> asyncio.Server:
        return await asyncio.start_server(self.serve, "127.0.0.1", 0)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ValueError):
            head = io.BytesIO(await reader.readuntil(b"\r\n\r\n"))
            method, target, _ = head.readline().decode("latin-1").split(" ", 2)
            headers = parse_headers(head)
            length = int(headers.get("content-length") or 0)
            if length <= _LARGEST:
                body = await reader.readexactly(length)
                writer.write(_encoded(self._answer(method, target, headers.get("cookie"), body)))
                await writer.drain()
        writer.close()

    def _answer(self, method: str, target: str, cookies: str | None, body: bytes) -> Response:
        parts = urlsplit(target)
        with self.lock:
            if f"{parts.scheme}://{parts.netloc}/" != HOME:
                return Response("Only the site of this task can be reached.", 403)
            if method not in {"GET", "POST"}:
                return Response("Only GET and POST.", 405)
            if parts.path == "/favicon.ico":
                return Response(status=404)
            request = Request(
                method,
                unquote(parts.path),
                dict(parse_qsl(parts.query)),
                dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True)),
                _cookies(cookies),
            )
            return self.app.respond(request)


def _cookies(header: str | None) -> dict[str, str]:
    with contextlib.suppress(CookieError):
        return {name: one.value for name, one in SimpleCookie(header).items()}
    return {}


def _encoded(response: Response) -> bytes:
    body = response.body.encode()
    lines = [
        f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        f"Content-Security-Policy: {_POLICY}",
        "Connection: close",
    ]
    if response.location:
        lines.append(f"Location: {response.location}")
    for name, value in response.cookies.items():
        lines.append(f"Set-Cookie: {name}={value}; Path=/; HttpOnly" + "; Max-Age=0" * (not value))
    return "\r\n".join([*lines, "", ""]).encode() + body


def _stop(server: asyncio.Server) -> None:
    if background.LOOP.is_running:
        background.LOOP.call_soon(server.close)
