"""The retrieval server: answers queries over HTTP, in msgpack and in JSON.

``POST /retrieve`` takes the requests that ``wire`` describes, ``GET /health`` returns the status,
and ``GET /metrics`` returns metrics in the format of Prometheus.
"""

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from gem_core.errors import DataError, GemError
from gem_core.web_pages import page_problem
from gem_tools.search.batcher import Batcher
from gem_tools.search.index import Retriever
from gem_tools.search.wire import MEDIA_TYPES, Request, Wire, encode, read_request

__all__ = ["make_app", "serve"]

MOST = 1000
"""Maximum number of documents for a query."""
_LARGEST_BODY = 8 << 20
_SECONDS_TO_FINISH = 10.0
_SIZES = (1, 2, 4, 8, 16, 32, 64)


def make_app(retriever: Retriever, *, topk: int = 3, threads: int = 1) -> web.Application:
    """Return the server as an aiohttp application.

    Args:
        retriever: The corpus and its index.
        topk: Number of documents for a query without ``topk``.
        threads: Number of simultaneous searches.
    """
    server = _Handlers(retriever, topk, threads)
    app = web.Application(client_max_size=_LARGEST_BODY, middlewares=[_refuse_pages, server.count])
    app.router.add_post("/retrieve", server.retrieve)
    app.router.add_get("/health", server.health)
    app.router.add_get("/metrics", server.metrics)
    app.on_cleanup.append(server.close)
    return app


async def serve(
    app: web.Application, *, host: str, port: int, ready: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the requests that were received.

    Args:
        app: The application.
        host: Address to listen at.
        port: Port; 0 for any free port.
        ready: Called with the URL once the server can be reached.

    Raises:
        OSError: The address is in use, or not one of this machine.
    """
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # on Windows, Ctrl-C raises
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SECONDS_TO_FINISH)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, backlog=1024)
        await site.start()
        ready(f"http://{host}:{runner.addresses[0][1]}")
        await stop.wait()
    finally:
        await runner.cleanup()


@web.middleware
async def _refuse_pages(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Refuse requests of foreign web pages, which must not read the answers."""
    address = request.transport and request.transport.get_extra_info("sockname")
    if problem := page_problem(request.headers, str(address[0]) if address else ""):
        return _response({"error": problem}, _wire_for(request), status=403)
    return await handler(request)


class _Handlers:
    """The handlers."""

    def __init__(self, retriever: Retriever, topk: int, threads: int) -> None:
        self._documents = len(retriever)
        self._topk = topk
        self._metrics = _Metrics()
        self._batcher = Batcher(
            retriever.search, threads=threads, observe=self._metrics.batches.observe
        )

    async def retrieve(self, request: web.Request) -> web.Response:
        body = await request.read()
        try:
            asked = read_request(body, request.content_type, most=MOST)
        except DataError as error:
            return _response({"error": str(error)}, _wire_for(request), status=400)
        self._metrics.queries.labels(asked.wire).inc(len(asked.queries))
        try:
            found = await self._batcher.search(asked.queries, asked.topk or self._topk)
        except GemError as error:  # a passage of the corpus cannot be read, or the server ends
            return _response({"error": str(error)}, asked.wire, status=500)
        return _answer(asked, found)

    async def health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "documents": self._documents})

    async def metrics(self, request: web.Request) -> web.Response:
        text = generate_latest(self._metrics.registry)
        return web.Response(body=text, content_type="text/plain", charset="utf-8")

    @web.middleware
    async def count(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if request.path != "/retrieve":
            return await handler(request)
        status, began = 500, time.perf_counter()
        with self._metrics.running.track_inprogress():
            try:
                response = await handler(request)
                status = response.status
            except web.HTTPException as error:
                status = error.status
                raise
            finally:
                self._metrics.requests.labels(status).inc()
                self._metrics.seconds.observe(time.perf_counter() - began)
        return response

    async def close(self, app: web.Application) -> None:
        self._batcher.close()


class _Metrics:
    """The metrics of ``/metrics``."""

    def __init__(self) -> None:
        own: Any = {"registry": CollectorRegistry()}
        self.registry: CollectorRegistry = own["registry"]
        self.requests = Counter("search_requests", "Requests, by status.", ["status"], **own)
        self.queries = Counter("search_queries", "Queries, by format.", ["wire"], **own)
        self.running = Gauge("search_requests_running", "Running requests.", **own)
        self.seconds = Histogram("search_request_seconds", "Duration of a request.", **own)
        self.batches = Histogram(
            "search_batch_queries", "Queries in a batch.", buckets=_SIZES, **own
        )


def _wire_for(request: web.Request) -> Wire:
    return "msgpack" if request.content_type == MEDIA_TYPES["msgpack"] else "json"


def _answer(asked: Request, found: list[Any]) -> web.Response:
    return web.Response(body=asked.answer(found), content_type=MEDIA_TYPES[asked.wire])


def _response(value: Any, wire: Wire, *, status: int) -> web.Response:
    return web.Response(body=encode(value, wire), content_type=MEDIA_TYPES[wire], status=status)
