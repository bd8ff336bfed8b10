"""The HTTP server of the gateway that programs call.

Programs call ``/e/{episode}/v1/...``, or ``/v1/...`` with the episode's id as their key.
"""

import contextlib
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import orjson
from aiohttp import web
from aiohttp.typedefs import Middleware

from gem_core.web_pages import page_problem
from gem_serve.gateway.answers import LARGEST
from gem_serve.gateway.call import Call
from gem_serve.gateway.dialects import Dialect, Writer, make_dialects
from gem_serve.gateway.episode import ProgramEpisode
from gem_serve.gateway.events import CallError, Finish
from gem_serve.gateway.gateway import Gateway

__all__ = ["program_app", "without_pages"]

_log = logging.getLogger(__name__)


def program_app(gateway: Gateway, names: Collection[str] = ()) -> web.Application:
    """Return the application that programs call.

    Args:
        gateway: The gateway.
        names: Host names under which programs reach it, beside those of the loopback interface.

    Raises:
        GemError: A dialect of a plugin cannot be made; the message names it.
    """
    dialects = make_dialects()
    chat = dialects["chat/completions"]

    def refuse(problem: str) -> web.Response:
        return _error(chat, CallError(403, problem))

    app = web.Application(client_max_size=LARGEST, middlewares=[without_pages(refuse, names)])
    routes = _Routes(gateway, dialects)
    for prefix in ("/e/{episode}/v1", "/v1"):
        for path, dialect in dialects.items():
            app.router.add_post(f"{prefix}/{path}", routes.handler(dialect))
        app.router.add_post(f"{prefix}/messages/count_tokens", routes.count_tokens)
        app.router.add_get(f"{prefix}/models", routes.models)
    app.router.add_route("*", "/{tail:.*}", routes.unknown)
    return app


class _Routes:
    def __init__(self, gateway: Gateway, dialects: Mapping[str, Dialect]) -> None:
        self._gateway, self._dialects = gateway, dialects

    def handler(self, dialect: Dialect) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """Return the handler of a dialect."""

        async def handle(request: web.Request) -> web.StreamResponse:
            episode: ProgramEpisode | None = None
            try:
                episode = self._gateway.find(_key(request))
                return await self._answer(request, dialect, episode)
            except CallError as error:
                if episode is not None and error.kind in {
                    "invalid",
                    "missing",
                    "limit",
                    "conflict",
                }:
                    episode.refuse(error)
                self._gateway.counts["refused"] += 1
                return _error(dialect, error)
            except web.HTTPRequestEntityTooLarge:
                self._gateway.counts["refused"] += 1
                said = f"The request has more than {LARGEST >> 20} MiB."
                return _error(dialect, CallError(413, said))

        return handle

    async def _answer(
        self, request: web.Request, dialect: Dialect, episode: ProgramEpisode
    ) -> web.StreamResponse:
        raw = await request.read()
        ask = dialect.parse(_body(raw))
        key = hashlib.blake2b(raw, digest_size=16).hexdigest()
        is_retry = request.headers.get("x-stainless-retry-count", "0") != "0"
        call = self._gateway.call(episode, ask, dialect.name, key, is_retry=is_retry)
        call.enter()
        try:
            writer = dialect.writer(ask, call.record.id)
            if ask.stream:
                return await _stream(request, episode, call, writer)
            return await _whole(request, episode, call, writer)
        finally:
            call.leave()

    async def count_tokens(self, request: web.Request) -> web.StreamResponse:
        """Answer how many tokens a request of Anthropic's dialect has."""
        dialect = self._dialects["messages"]
        try:
            episode = self._gateway.find(_key(request))
            ask = dialect.parse(_body(await request.read()))
            return web.json_response(
                {"input_tokens": await self._gateway.count_tokens(episode, ask)}
            )
        except CallError as error:
            return _error(dialect, error)

    async def models(self, request: web.Request) -> web.StreamResponse:
        """Answer with the models of the episode."""
        try:
            episode = self._gateway.find(_key(request))
            names = episode.options.models or [await self._gateway.engine.name()]
        except CallError as error:
            return _error(self._dialects["chat/completions"], error)
        cards = [
            {
                "id": name,
                "object": "model",
                "type": "model",
                "display_name": name,
                "created": 0,
                "created_at": "1970-01-01T00:00:00Z",
                "owned_by": "gateway",
            }
            for name in names
        ]
        ends = {"has_more": False, "first_id": names[0], "last_id": names[-1]}
        return web.json_response({"object": "list", "data": cards, **ends})

    async def unknown(self, request: web.Request) -> web.StreamResponse:
        """Refuse a route that does not exist."""
        paths = ", ".join(f"/v1/{path}" for path in self._dialects)
        message = f"There is no route {request.method} {request.path}; there are {paths}."
        return _error(self._dialects["chat/completions"], CallError(404, message, "missing"))


_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def without_pages(refuse: Callable[[str], web.Response], names: Collection[str] = ()) -> Middleware:
    """Return a middleware that refuses foreign web pages.

    Args:
        refuse: Returns the answer for a problem.
        names: Host names of the server, beside those of the loopback interface.
    """

    @web.middleware
    async def guard(request: web.Request, handler: _Handler) -> web.StreamResponse:
        address = request.transport and request.transport.get_extra_info("sockname")
        problem = page_problem(request.headers, str(address[0]) if address else "", names)
        return refuse(problem) if problem else await handler(request)

    return guard


def _key(request: web.Request) -> str:
    """Return the id of the episode, from the path or from the key of the client."""
    named = request.match_info.get("episode")
    if named:
        return named
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
    return request.headers.get("x-api-key") or bearer


def _body(raw: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(raw)
    except ValueError as error:
        raise CallError(400, f"The body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise CallError(400, f"The body must be a JSON object, got {type(body).__name__}.")
    return body


def _error(dialect: Dialect, error: CallError) -> web.Response:
    headers = {}
    if error.retry_after is not None:
        headers["Retry-After"] = error.retry_after
    if error.kind in {"limit", "conflict"} and error.retry_after is None:
        headers["x-should-retry"] = "false"  # what OpenAI's and Anthropic's clients heed
    body = json.dumps(dialect.error(error)).encode()
    return web.Response(
        body=body, status=error.status, headers=headers, content_type="application/json"
    )


async def _whole(
    request: web.Request, episode: ProgramEpisode, call: Call, writer: Writer
) -> web.StreamResponse:
    async for events in call.follow():
        for event in events:
            writer.feed(event)
    response = web.Response(body=orjson.dumps(writer.answer()), content_type="application/json")
    await response.prepare(request)
    await response.write_eof()
    episode.sent(call)
    return response


async def _stream(
    request: web.Request, episode: ProgramEpisode, call: Call, writer: Writer
) -> web.StreamResponse:
    """Send a stream; one that fails in the middle is broken off, so that no client sees an end."""
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
    )
    try:
        async for events in call.follow():
            data = b"".join([writer.feed(event) for event in events])
            if not response.prepared:
                await response.prepare(request)
            if data:
                await response.write(data)
            if isinstance(events[-1], Finish):  # some clients leave when they have read it
                episode.sent(call)
    except CallError:
        if not response.prepared:
            raise
        if request.transport is not None:
            request.transport.abort()
        return response
    except ConnectionError:  # the client has left
        return response
    with contextlib.suppress(ConnectionError):
        await response.write_eof()
    return response
