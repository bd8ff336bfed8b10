"""Requests to a server of pages: a limited rate, time limits, retries; failures are faults."""

import logging
import time
from collections.abc import Mapping
from http.client import HTTPException
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

from gem_core.errors import ConfigError
from gem_core.lifetimes import Lock
from gem_games.base import check_range
from gem_games.wikigame.errors import PageFault, PageNotFoundError

__all__ = ["Answer", "PageServer"]

_log = logging.getLogger(__name__)
_AGENT = "gem-games (https://pypi.org/project/gem-games/)"
_LARGEST = 16 << 20
"""Bytes of an answer that are read."""
_LONGEST = 30.0
"""Seconds that a server may ask to wait between two attempts."""


class Answer(NamedTuple):
    """The answer to a request.

    Args:
        url: Its address, after redirects.
        text: Its body.
    """

    url: str
    text: str


class PageServer:
    """A server of pages; its requests begin one after the other.

    Args:
        url: Its address, with ``http`` or ``https``.
        delay_ms: Milliseconds between the starts of two requests.
        attempts: Attempts for each request, 1 to 100.
        timeout: Seconds until an attempt is given up.
    """

    def __init__(self, url: str, *, delay_ms: int, attempts: int, timeout: float) -> None:
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).netloc:
            raise ConfigError(f"data must be a URL with http:// or https://; got {url!r}.")
        check_range("delay_ms", delay_ms, 0, 60_000)
        check_range("attempts", attempts, 1, 100)
        if not isinstance(timeout, int | float) or not 0 < timeout <= 600:
            raise ConfigError(f"timeout must be seconds, at most 600; got {timeout!r}.")
        self.url = url.rstrip("/")
        self._delay, self._attempts, self._timeout = delay_ms / 1000, attempts, timeout
        self._lock = Lock()
        self._next = 0.0

    def get(self, path: str = "", parameters: Mapping[str, str] | None = None) -> Answer:
        """Return the answer to a request.

        Raises:
            PageNotFoundError: The server has nothing at this address.
            PageFault: Every attempt failed.
        """
        url = f"{self.url}{path}" + (f"?{urlencode(parameters)}" if parameters else "")
        pause = 0.2
        for attempt in range(1, self._attempts + 1):
            try:
                return self._try(url)
            except (OSError, HTTPException) as error:
                if isinstance(error, HTTPError):
                    error.close()
                    if error.code in {404, 410}:
                        raise PageNotFoundError(f"{url} does not exist: {error}.") from error
                last: Exception = error
            if attempt < self._attempts:
                _log.warning("%s: attempt %d failed: %s", url, attempt, last)
                time.sleep(min(max(pause, _asked_pause(last)), _LONGEST))
                pause *= 1.2
        raise PageFault(
            f"{url} failed {self._attempts} times, the last time with {type(last).__name__}: "
            f"{last}. Check that the server runs and that the address is right."
        ) from last

    def _try(self, url: str) -> Answer:
        with self._lock:
            now = time.monotonic()
            start = max(now, self._next)
            self._next = start + self._delay
        if start > now:
            time.sleep(start - now)
        request = Request(url, headers={"User-Agent": _AGENT})  # noqa: S310 - checked at first
        with urlopen(request, timeout=self._timeout) as answer:  # noqa: S310
            body: bytes = answer.read(_LARGEST)
            charset = answer.headers.get_content_charset() or "utf-8"
            return Answer(answer.geturl(), body.decode(charset, errors="replace"))


def _asked_pause(error: Exception) -> float:
    """Return the seconds that an answer asks to wait; 0 if it does not."""
    if isinstance(error, HTTPError):
        asked = error.headers.get("Retry-After", "")
        return float(asked) if asked.isdigit() else 0.0
    return 0.0
