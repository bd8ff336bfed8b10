"""Checks of requests: tokens, origins, sizes and rates."""

import hmac
import math
import time
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from gem_core.errors import GemError
from gem_core.web_pages import page_problem
from gem_serve.errors import AccessError, OversizeError, RateError, error_reply
from gem_serve.server.limits import Bucket, Limits
from gem_serve.wire import dumps

__all__ = ["STATUS", "Guard", "later"]

STATUS = {
    "AccessError": 401,
    "CapacityError": 503,
    "MessageError": 400,
    "OversizeError": 413,
    "RateError": 429,
    "RemoteError": 500,
    "SessionLostError": 404,
    "StaleError": 409,
    "UnknownIdError": 404,
}
"""The HTTP status of an error; 422 for others."""
_OPEN = ("/health", "/gem/ready")
_MOST_CLIENTS = 10_000


class Guard:
    """Checks each request and message.

    Args:
        limits: The limits.
        token: What clients must send as ``Authorization: Bearer TOKEN``; None to let all in.
    """

    def __init__(self, limits: Limits, token: str | None) -> None:
        self._limits = limits
        self._token = token
        self._buckets: dict[str, Bucket] = {}

    def socket(self) -> web.WebSocketResponse:
        """Return a WebSocket that notices when its client is gone.

        It takes messages of twice the size allowed, so that these get a typed error.
        """
        return web.WebSocketResponse(
            heartbeat=max(self._limits.idle_timeout / 3, 0.5),
            max_msg_size=2 * self._limits.max_bytes,
            compress=False,
        )

    @property
    def middleware(self) -> Middleware:
        """A middleware that refuses strangers and turns errors into responses."""

        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                self._admit(request)
                return await handler(request)
            except web.HTTPRequestEntityTooLarge:
                return _refusal(self._oversize(request.content_length or 0))
            except GemError as error:
                return _refusal(error)

        return guarded

    def _admit(self, request: web.Request) -> None:
        if request.path in _OPEN:
            return
        if self._token is None:
            self._refuse_pages(request)
        else:
            given = request.headers.get("Authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
                raise AccessError(
                    "This server needs its token: token=... or GEM_SERVE_TOKEN for make, "
                    "'Authorization: Bearer TOKEN' for other clients."
                )
        if request.method == "POST":
            self.check(request, request.content_length or 0)

    @staticmethod
    def _refuse_pages(request: web.Request) -> None:
        """Refuse foreign web pages, which a browser lets talk to servers of this machine."""
        address = request.transport and request.transport.get_extra_info("sockname")
        if problem := page_problem(request.headers, str(address[0]) if address else ""):
            raise AccessError(f"{problem} With a token the server answers from any address.")

    def check(self, request: web.Request, size: int) -> None:
        """Check a message.

        Raises:
            OversizeError: It is too large.
            RateError: Its client sends too many.
        """
        if size > self._limits.max_bytes:
            raise self._oversize(size)
        if self._limits.rate is None:
            return
        now = time.monotonic()
        client = request.remote or ""
        if client not in self._buckets:
            if len(self._buckets) >= _MOST_CLIENTS:
                self._forget(now)
            self._buckets[client] = Bucket(self._limits.rate, now)
        if wait := self._buckets[client].take(now):
            raise RateError(
                f"More than {self._limits.rate:g} messages a second (--rate); "
                f"send it again in {wait:.3g} s.",
                wait,
            )

    def _forget(self, now: float) -> None:
        self._buckets = {key: one for key, one in self._buckets.items() if not one.is_full(now)}

    def _oversize(self, size: int) -> OversizeError:
        return OversizeError(
            f"A message has at most {self._limits.max_bytes:,} bytes (--max-bytes); got {size:,}."
        )


def _refusal(error: GemError) -> web.Response:
    body = error_reply(error)
    status = STATUS.get(body["error"]["type"], 422)
    return web.json_response(body, status=status, headers=later(body), dumps=dumps)


def later(reply: dict[str, Any]) -> dict[str, str]:
    """Return the header of an error that says when to ask again."""
    seconds = reply.get("error", {}).get("retry_after")
    return {} if seconds is None else {"Retry-After": str(math.ceil(seconds))}
