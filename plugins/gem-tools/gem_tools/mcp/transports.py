"""Opens the SDK's client for a server.

This module makes some choices that the SDK leaves open: a lost HTTP request fails alone and not
with its session, idle connections are closed before a server would close them, results may be
large but not of any size, a server's schemas are not evaluated, and the standard error of a server
is kept for messages instead of filling the host's terminal.
"""

import asyncio
import contextlib
import json
import logging
import os
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TextIO

import httpx2
from mcp.client import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CONNECTION_CLOSED

from gem_core.specs import load_entry_point
from gem_tools.mcp.config import ServerConfig
from gem_tools.mcp.program import LARGEST_MESSAGE, open_program

__all__ = ["StderrTail", "open_client"]

for _name in ("mcp", "client"):  # the SDK's loggers do not print by default
    logging.getLogger(_name).addHandler(logging.NullHandler())

_CONNECTIONS = 512
"""Maximum number of connections to one HTTP server; further requests wait."""
_IDLE_SECONDS = 3.0
"""Less than the 5 s after which common servers close an idle connection."""


class StderrTail:
    """The last lines that a server wrote to its standard error."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque(maxlen=8)

    def __str__(self) -> str:
        """Return them as text."""
        return b"".join(self._chunks).decode(errors="replace").strip()[-2000:]

    @asynccontextmanager
    async def file(self) -> AsyncIterator[TextIO]:
        """Give a file to write to; it is read until the context ends."""
        reading, writing = os.pipe()
        loop = asyncio.get_running_loop()
        os.set_blocking(reading, False)
        loop.add_reader(reading, self._read, reading)
        try:
            with os.fdopen(writing, "w") as file:
                yield file
        finally:
            self._read(reading)
            loop.remove_reader(reading)
            os.close(reading)

    def _read(self, descriptor: int) -> None:
        with contextlib.suppress(BlockingIOError):
            self._chunks.append(os.read(descriptor, 65536))


class _Bounded(httpx2.AsyncHTTPTransport):
    """Reads answers up to the maximum size of a message; streams of events have no end.

    Compressed answers are refused, because their size is not known before they are unpacked.
    """

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["accept-encoding"] = "identity"
        response = await super().handle_async_request(request)
        encoding = response.headers.get("content-encoding", "identity")
        if encoding != "identity":
            await response.aclose()
            raise httpx2.ReadError(f"{request.url} answers with {encoding}, which was not accepted")
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            return response
        try:
            body = await _body_of(response, str(request.url))
        finally:
            await response.aclose()
        return httpx2.Response(
            response.status_code, headers=response.headers, content=body, request=request
        )


async def _body_of(response: httpx2.Response, url: str) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > LARGEST_MESSAGE:
            raise httpx2.ReadError(f"the answer of {url} is larger than {LARGEST_MESSAGE:,} bytes")
    return bytes(body)


class _LossIsAnAnswer(_Bounded):
    """Answers a request that got lost with a JSON-RPC error.

    The SDK ends the whole session, with all that is going on in it, on an exception.
    """

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await super().handle_async_request(request)
        except httpx2.TransportError as error:
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            loss = {"code": CONNECTION_CLOSED, "message": f"failed to connect ({said})"}
            content = json.dumps({"jsonrpc": "2.0", "id": None, "error": loss})
            headers = {"content-type": "application/json"}
            return httpx2.Response(503, content=content, headers=headers, request=request)


@asynccontextmanager
async def open_client(
    server: ServerConfig, stderr: StderrTail, **options: Any
) -> AsyncIterator[Client]:
    """Connect to a server.

    Args:
        server: Which one.
        stderr: Gets what it writes to its standard error.
        options: Further arguments of the SDK's ``Client``.
    """
    async with contextlib.AsyncExitStack() as stack:
        target: Any
        if server.transport == "stdio":
            target = open_program(server, await stack.enter_async_context(stderr.file()))
        elif server.transport == "http":
            client = await stack.enter_async_context(_http_client(server))
            target = streamable_http_client(
                server.url, http_client=client, max_sse_event_size=LARGEST_MESSAGE
            )
        elif server.transport == "sse":
            target = sse_client(
                server.url,
                headers=dict(server.headers),
                auth=server.auth,
                httpx_client_factory=_sse_http_client,
            )
        else:
            target = load_entry_point(server.entry_point)(**json.loads(server.arguments))
        opened = await stack.enter_async_context(Client(target, **options))
        opened.session.validate_tool_result = _accept  # type: ignore[method-assign]
        yield opened


async def _accept(name: str, result: object) -> None:
    """Accept any result: a server's schema may have patterns that take for ever to match."""


def _http_client(server: ServerConfig) -> httpx2.AsyncClient:
    limits = httpx2.Limits(
        max_connections=_CONNECTIONS,
        max_keepalive_connections=_CONNECTIONS,
        keepalive_expiry=_IDLE_SECONDS,
    )
    return httpx2.AsyncClient(
        headers=dict(server.headers),
        auth=server.auth,
        timeout=httpx2.Timeout(None, connect=10.0),  # calls have their own timeout
        transport=_LossIsAnAnswer(limits=limits),
    )


def _sse_http_client(
    headers: dict[str, str] | None = None,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, transport=_Bounded())
