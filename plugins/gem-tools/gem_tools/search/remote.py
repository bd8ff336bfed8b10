"""The base class of backends that ask a server.

A search uses the cache, or joins an identical search that is running (episodes of one task often
ask the same), or waits for a free connection and asks, with retries if the server is unreachable or
overloaded. All connections of a backend are kept and reused.
"""

import asyncio
import random
import re
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gem_core.errors import ConfigError
from gem_core.extras import require
from gem_core.lifetimes import Lock
from gem_tools import background
from gem_tools.search.backend import Document, SearchError

if TYPE_CHECKING:
    import aiohttp

__all__ = ["Answer", "RemoteBackend", "UnavailableError"]

Found = tuple[Document, ...]

_BUSY = frozenset({429, 500, 502, 503, 504})
_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_LONGEST_ANSWER = 16 << 20
_SHOWN = 200

_jitter = random.Random()


class UnavailableError(SearchError):
    """The server cannot answer now; a retry may succeed."""


class Answer:
    """A successful answer of a server.

    Args:
        body: The bytes.
        content_type: Content type that the server named.
    """

    def __init__(self, body: bytes, content_type: str) -> None:
        self.body = body
        self.content_type = content_type


class RefusedError(SearchError):
    """The server refuses the request.

    Args:
        message: The message.
        status: HTTP status.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message, status)
        self.status = status


class RemoteBackend(ABC):
    """Base class of backends that ask a server: write ``fetch``.

    Args:
        concurrency: Maximum number of simultaneous requests; further searches wait, and this time
            does not count towards their timeout.
        retries: Number of retries, after growing pauses, if the server is unreachable or
            overloaded.
        cache_size: Number of results to keep, the most recently used ones; 0 for none.

    Raises:
        ConfigError: An option is out of range.
        NotInstalledError: The extra ``gem-tools[search]`` is not installed.
    """

    waits = True
    uses_proxy = True
    """Whether requests use the proxy of the environment (``HTTPS_PROXY``)."""

    def __init__(self, *, concurrency: int, retries: int, cache_size: int) -> None:
        require("gem-tools[search]", f"{type(self).__name__} of the search")
        least = {"concurrency": 1, "retries": 0, "cache_size": 0}
        given = {"concurrency": concurrency, "retries": retries, "cache_size": cache_size}
        for name, value in given.items():
            if value < least[name]:
                raise ConfigError(f"{name} must be at least {least[name]}; got {value!r}.")
        self.concurrency = concurrency
        self.retries = retries
        self.cache = _Cache(cache_size)
        self._connections: list[_Connection] = []

    @abstractmethod
    async def fetch(self, query: str, topk: int) -> Sequence[Document]:
        """Ask the server once, with ``request``.

        Raises:
            UnavailableError: A retry may succeed.
            SearchError: A retry cannot succeed.
        """

    def search(self, query: str, *, topk: int, seconds: float) -> Found:
        found = self.cache.get((query, topk))
        return background.run(self._search(query, topk, seconds)) if found is None else found

    async def asearch(self, query: str, *, topk: int, seconds: float) -> Found:
        found = self.cache.get((query, topk))
        if found is None:
            found = await background.wait_for(self._search(query, topk, seconds))
        return found

    async def _search(self, query: str, topk: int, seconds: float) -> Found:
        running, key = self._here().searches, (query, topk, seconds)
        task = running.get(key)
        if task is None or task.cancelling():
            task = running[key] = asyncio.create_task(self._ask(query, topk, seconds))
            task.add_done_callback(lambda done: running.get(key) is done and running.pop(key))
            # Its callers may have been cancelled; reading the error avoids a warning.
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
        waiting = self._here().waiting
        waiting[task] += 1
        try:
            return await asyncio.shield(task)  # others may wait for it too
        finally:
            waiting[task] -= 1
            if not waiting[task]:
                del waiting[task]
                task.cancel()

    async def _ask(self, query: str, topk: int, seconds: float) -> Found:
        async with self._here().slots:
            try:
                async with asyncio.timeout(seconds):
                    found = tuple(await self._ask_until_answered(query, topk))[:topk]
            except TimeoutError as error:
                raise SearchError(f"no answer within {seconds:g} seconds.") from error
        self.cache.put((query, topk), found)
        return found

    async def _ask_until_answered(self, query: str, topk: int) -> Sequence[Document]:
        for attempt in range(self.retries):
            try:
                return await self.fetch(query, topk)
            except UnavailableError:
                longest = min(_LONGEST_PAUSE, _PAUSE * 2**attempt)
                await asyncio.sleep(_jitter.uniform(0, longest))
        return await self.fetch(query, topk)

    async def request(self, method: str, url: str, **options: object) -> Answer:
        """Send a request over a kept connection, and return the answer.

        Raises:
            UnavailableError: The server is unreachable or overloaded.
            SearchError: The server answers with another error.
        """
        import aiohttp  # noqa: PLC0415 - only a search pays for it

        session, where = self._here().session, re.sub("//[^/]*@", "//", url.partition("?")[0])
        try:
            async with session.request(method, url, **options) as response:  # type: ignore[arg-type]  # passed on as they are
                body = await _read(response.content, where)
        except aiohttp.InvalidURL as error:
            raise SearchError(f"{where!r} is not a URL.") from error
        except (aiohttp.ClientError, OSError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise UnavailableError(f"{where} cannot be reached: {reason}.") from None
        return _checked(where, response.status, body, response.content_type)

    def _here(self) -> "_Connection":
        """Return the connections of the running loop, which is another one after a fork."""
        loop = asyncio.get_running_loop()
        if not self._connections or self._connections[-1].loop is not loop:
            # Keep the one before: its sockets are the parent's and must not be closed here.
            self._connections.append(_Connection(self.concurrency, uses_proxy=self.uses_proxy))
        return self._connections[-1]


async def _read(stream: "aiohttp.StreamReader", where: str) -> bytes:
    body = bytearray()
    async for chunk in stream.iter_chunked(1 << 16):
        body += chunk
        if len(body) > _LONGEST_ANSWER:
            raise SearchError(f"the answer of {where} is longer than {_LONGEST_ANSWER:,} bytes.")
    return bytes(body)


def _checked(where: str, status: int, body: bytes, content_type: str) -> Answer:
    # Messages leave out the userinfo and the query of the URL, which may contain a key.
    said = body[:_SHOWN].decode("utf-8", "replace").strip()
    if status in _BUSY:
        raise UnavailableError(f"{where} answered with status {status}: {said}")
    if not 200 <= status < 300:
        raise RefusedError(f"{where} answered with status {status}: {said}", status)
    return Answer(body, content_type)


class _Connection:
    """The connections and running searches of a backend in one event loop."""

    def __init__(self, concurrency: int, *, uses_proxy: bool) -> None:
        import aiohttp  # noqa: PLC0415 - only a search pays for it

        self.loop = asyncio.get_running_loop()
        self.slots = asyncio.Semaphore(concurrency)
        self.searches: dict[tuple[str, int, float], asyncio.Task[Found]] = {}
        self.waiting: Counter[asyncio.Task[Found]] = Counter()
        """The number of callers that wait for each search; without any, it is cancelled."""
        connector = aiohttp.TCPConnector(limit=0)  # the semaphore limits searches; pages need more
        self.session: aiohttp.ClientSession = aiohttp.ClientSession(
            connector=connector, timeout=aiohttp.ClientTimeout(), trust_env=uses_proxy
        )
        background.close_with(self, self.session.close)


class _Cache:
    """A thread-safe cache of the most recently used results."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = Lock()
        self._results: OrderedDict[tuple[str, int], Found] = OrderedDict()

    def get(self, key: tuple[str, int]) -> Found | None:
        with self._lock:
            found = self._results.get(key)
            if found is not None:
                self._results.move_to_end(key)
            return found

    def put(self, key: tuple[str, int], found: Found) -> None:
        with self._lock:
            self._results[key] = found
            self._results.move_to_end(key)
            if len(self._results) > self.size:
                self._results.popitem(last=False)
