"""Connections to endpoints: one aiohttp session for each event loop and endpoint.

Agents share a session, because each session has its own connection pool. It is closed with the last
agent that uses it. If agents are never closed, it is closed with the event loop, provided that the
loop closes its asynchronous generators (``asyncio.run`` does). The adaptive limit of the endpoint
is kept for the next loop. A fork of the process has its own sessions, and leaves those of its
parent alone.
"""

import asyncio
import contextlib
import os
import urllib.parse
import urllib.request
from collections.abc import AsyncGenerator, Callable
from typing import Any

import aiohttp

from gem_agents.adaptive_limit import AdaptiveLimit
from gem_core.lifetimes import Lock

__all__ = ["SharedSession", "acquire_session", "call_in"]

_KEEP_ALIVE_SECONDS = 60.0
_CONNECT_SECONDS = 30.0

Key = tuple[str, int]

_loops: dict[asyncio.AbstractEventLoop, "_Sessions"] = {}
_limits: dict[Key, AdaptiveLimit] = {}
_of_parents: list["_Sessions"] = []
"""If they were freed, a fork would change what the event loop of its parent waits for."""
_lock = Lock()


class SharedSession:
    """A reference-counted session: get it with ``acquire_session``, and ``release`` it.

    Attributes:
        http: The aiohttp session.
        limit: The limit of calls in flight.
        proxy: The proxy for the endpoint in the environment variables; None without one.
        users: Number of current users.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, key: Key) -> None:
        base_url, max_in_flight = key
        self.loop = loop
        # A limit belongs to one loop at a time, so it is removed while it is used.
        limit = _limits.pop(key, None)
        self.limit = limit or AdaptiveLimit(min(32, max_in_flight), maximum=max_in_flight)
        self.http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0, keepalive_timeout=_KEEP_ALIVE_SECONDS, ttl_dns_cache=300
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
        )
        self.proxy = _proxy_for(base_url)
        self._key = key
        self.users = 0

    def release(self) -> None:
        """Remove one user, and close the session after the last one."""
        with _lock:
            self.users -= 1
            if self.users:
                return
            sessions = _loops.get(self.loop)
            if sessions is None:  # it is a parent's, or has ended with its loop
                return
            sessions.by_key.pop(self._key, None)
            sessions.closing[self] = None
            if not self.limit.in_flight:
                _limits[self._key] = self.limit
        self._close()

    def _close(self) -> None:
        """Close the session from within its loop, from another thread, or after the loop."""
        if self.loop.is_closed():
            return
        if self.loop.is_running():
            call_in(self.loop, self._start_closing)
        elif not _a_loop_runs_here():
            self.loop.run_until_complete(self.http.close())

    def _start_closing(self) -> None:
        sessions = _loops[self.loop]

        def done(_: asyncio.Task[None]) -> None:
            if self.http.closed:  # a loop that ends may cancel the task before it starts
                sessions.closing.pop(self, None)

        task = sessions.closing[self] = self.loop.create_task(self.http.close())
        task.add_done_callback(done)


class _Sessions:
    """The sessions of one event loop."""

    def __init__(self) -> None:
        self.by_key: dict[Key, SharedSession] = {}
        self.closing: dict[SharedSession, asyncio.Task[None] | None] = {}
        # A loop closes its asynchronous generators when it ends; this one closes the sessions.
        self.guard = self._close_with_loop()

    async def _close_with_loop(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            for session in (*self.by_key.values(), *self.closing):
                await session.http.close()
            await asyncio.sleep(0)  # connections close their sockets


async def acquire_session(base_url: str, max_in_flight: int) -> SharedSession:
    """Return the session for an endpoint in the running loop; the caller must release it.

    Args:
        base_url: The endpoint's URL.
        max_in_flight: Most calls at the same time.
    """
    key, loop = (base_url, max_in_flight), asyncio.get_running_loop()
    with _lock:
        for other in [other for other in _loops if other.is_closed()]:
            del _loops[other]
        is_new = loop not in _loops
        sessions = _loops.setdefault(loop, _Sessions())
        session = sessions.by_key.get(key)
        if session is None or session.http.closed:
            session = sessions.by_key[key] = SharedSession(loop, key)
        session.users += 1
    if is_new:
        await anext(sessions.guard)
    return session


def call_in(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *args: Any) -> None:
    """Call a function in a loop with sessions, unless it has ended or is a parent's."""
    if loop in _loops:
        with contextlib.suppress(RuntimeError):  # it has ended
            loop.call_soon_threadsafe(function, *args)


def _forget() -> None:
    """Leave the sessions to the parent in a fork."""
    _of_parents.extend(_loops.values())
    _loops.clear()


os.register_at_fork(after_in_child=_forget)


def _a_loop_runs_here() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _proxy_for(base_url: str) -> str | None:
    """Return the proxy for a URL according to the environment variables."""
    parts = urllib.parse.urlsplit(base_url)
    if urllib.request.proxy_bypass(parts.netloc):
        return None
    return urllib.request.getproxies().get(parts.scheme)
