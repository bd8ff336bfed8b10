"""An HTTP client that repeats failed requests within limits.

Pauses between attempts grow exponentially with full jitter (uniform between 0 and the whole pause),
so that episodes that fail together do not retry together. All of them respect ``Retry-After``.
"""

import asyncio
import contextlib
import email.utils
import random
import time
import urllib.parse
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, NamedTuple, TypeVar

import aiohttp
import yarl

from gem_agents.errors import (
    EndpointError,
    EndpointTimeoutError,
    MalformedReplyError,
    ReplyTooLargeError,
    UnreachableError,
    error_of_status,
    excerpt,
)
from gem_agents.fast_json import read_json
from gem_agents.sessions import SharedSession, acquire_session, call_in
from gem_core.errors import ClosedError, ConfigError
from gem_core.secret import Secret

__all__ = ["Client", "Timing", "retry_after"]

Out = TypeVar("Out")

_answered: set[str] = set()
"""The URLs of endpoints that have answered in this process."""
_FIRST_ATTEMPTS = 3
"""Most attempts to connect to an endpoint that has never answered: its URL is probably wrong."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0
_QUICK, _QUICK_RETRIES, _QUICK_CONNECTION = 10.0, 2.0, 2.5
"""Seconds that a quick client waits for an answer, repeats failed requests, and connects."""
_OVERLOADED = {429, 503}
_LARGE = 1 << 20
_LARGEST_ANSWER = 64 << 20
"""Bytes of an answer after decompression."""
_LARGEST_ERROR, _PIECE = 1 << 16, 1 << 16
_STATUSES = range(400, 600)

_jitter = random.Random()


class Timing(NamedTuple):
    """The timing of a request.

    Args:
        queue_seconds: Wall time before the successful attempt.
        model_seconds: Wall time of the successful attempt.
        attempts: Number of attempts.
    """

    queue_seconds: float
    model_seconds: float
    attempts: int


class Client:
    """A client of one endpoint for one agent; all agents of an endpoint share connections.

    Args:
        base_url: The URL of the endpoint, including ``/v1``.
        api_key: The bearer token; None for no authentication.
        timeout: Time limit of an attempt in seconds.
        max_attempts: Most attempts for one answer.
        max_seconds: Seconds after which no further attempt begins.
        max_in_flight: Most calls to this endpoint at the same time.
        connect_timeout: Time limit of a connection in seconds.

    Raises:
        ConfigError: The URL is not an http or https URL, or a limit is out of range.
    """

    def __init__(
        self,
        base_url: str,
        api_key: Secret | None,
        *,
        timeout: float,
        max_attempts: int,
        max_seconds: float,
        max_in_flight: int,
        connect_timeout: float = 30.0,
    ) -> None:
        _check_url(base_url)
        if not (timeout > 0 and max_attempts >= 1 and max_seconds >= 0 and max_in_flight >= 1):
            raise ConfigError(
                f"An endpoint needs timeout > 0, max_attempts >= 1, max_retry_seconds >= 0 and "
                f"max_in_flight >= 1; got {timeout}, {max_attempts}, {max_seconds} and "
                f"{max_in_flight}."
            )
        self._base_url = base_url.rstrip("/")
        self._key = api_key
        self._headers = {"Content-Type": "application/json", "User-Agent": "gem-agents"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        connect = min(connect_timeout, timeout)
        self._timeout = aiohttp.ClientTimeout(total=timeout, sock_connect=connect)
        self._max_attempts, self._first_attempts = max_attempts, _FIRST_ATTEMPTS
        self._max_seconds = max_seconds
        self._max_in_flight = max_in_flight
        self._session: SharedSession | None = None
        self._is_closed = False
        self._calls: dict[asyncio.Timeout, asyncio.AbstractEventLoop] = {}
        self._urls: dict[str, tuple[yarl.URL, str]] = {}

    def quick(self) -> "Client":
        """Return a client of this endpoint that gives up within seconds."""
        client = Client(
            self._base_url,
            self._key,
            timeout=min(_QUICK, self._timeout.total or _QUICK),
            max_attempts=min(_FIRST_ATTEMPTS, self._max_attempts),
            max_seconds=min(_QUICK_RETRIES, self._max_seconds),
            max_in_flight=self._max_in_flight,
            connect_timeout=_QUICK_CONNECTION,
        )
        client._first_attempts = 1
        return client

    async def post(
        self, path: str, body: bytes, read: Callable[[Mapping[str, Any]], Out]
    ) -> tuple[Out, Timing]:
        """Send a request and return the parsed answer.

        Args:
            path: Path below the base URL.
            body: The request as JSON.
            read: Parses the answer; raises if it is malformed.

        Raises:
            EndpointError: The endpoint refused, or all attempts failed.
            ClosedError: The client was closed, before or during the request.
        """
        call = asyncio.timeout(None)  # until the client is closed
        try:
            async with call:
                self._calls[call] = asyncio.get_running_loop()
                if not self._is_closed:
                    return await self._posted(path, body, read)
        except Exception as error:
            if not self._is_closed:
                raise
            raise _closed() from error
        finally:
            self._calls.pop(call, None)
        raise _closed()

    async def _posted(
        self, path: str, body: bytes, read: Callable[[Mapping[str, Any]], Out]
    ) -> tuple[Out, Timing]:
        session = await self._connected()
        if path not in self._urls:
            whole = yarl.URL(f"{self._base_url}/{path}")
            self._urls[path] = whole, str(whole.with_user(None))  # errors quote no password
        url, shown = self._urls[path]
        started, attempt = time.perf_counter(), 0
        while True:
            attempt += 1
            pause: float | None = None
            try:
                async with session.limit.slot() as slot:
                    asked = time.perf_counter()
                    try:
                        status, headers, data = await self._send(session, url, shown, body)
                        if status >= 300:
                            pause = retry_after(headers, time.time())
                            raise error_of_status(status, shown, self._text(data))
                        answer = self.read(data, shown, read)
                    except EndpointError as error:
                        if error.status in _OVERLOADED or _is_late(error):
                            # The limit pauses no longer than this client would wait.
                            slot.overloaded(retry_after=min(pause or 0.0, self._max_seconds))
                        raise
                    now = time.perf_counter()
                    return answer, Timing(asked - started, now - asked, attempt)
            except EndpointError as error:
                spent = time.perf_counter() - started
                seconds = _pause(attempt, pause)
                if not error.can_repeat:
                    raise
                if attempt >= self._most_attempts(error) or spent + seconds > self._max_seconds:
                    raise _exhausted(error, attempt, spent) from error
            await asyncio.sleep(seconds)

    def _most_attempts(self, error: EndpointError) -> int:
        """Return the number of attempts after which an error is final."""
        is_connected = not isinstance(error.__cause__, aiohttp.ClientConnectorError)
        if is_connected or self._base_url in _answered:
            return self._max_attempts
        return min(self._max_attempts, self._first_attempts)

    async def models(self) -> dict[str, Mapping[str, Any]]:
        """Return what the endpoint says of its models, by name; empty if it does not list them."""
        session, url = await self._connected(), yarl.URL(f"{self._base_url}/models")
        try:
            response = await session.http.get(
                url,
                headers=self._headers,
                timeout=self._timeout,
                proxy=session.proxy,
                allow_redirects=False,
            )
            listed = read_json(await self._body(response, str(url)))["data"]
            return {str(one["id"]): one for one in listed}
        except (aiohttp.ClientError, OSError, EndpointError, ValueError, LookupError, TypeError):
            return {}

    async def _connected(self) -> SharedSession:
        session = self._session
        if session is not None:
            if session.loop is asyncio.get_running_loop():
                return session
            self.release()
        session = self._session = await acquire_session(self._base_url, self._max_in_flight)
        if self._is_closed:  # meanwhile
            self.release()
            raise _closed()
        return session

    async def _send(
        self, session: SharedSession, url: yarl.URL, shown: str, body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        # aiohttp warns about large bytes objects, because it writes them in one go.
        data = body if len(body) < _LARGE else BytesIO(body)
        try:
            response = await session.http.post(
                url,
                data=data,
                headers=self._headers,
                timeout=self._timeout,
                proxy=session.proxy,
                allow_redirects=False,
            )
            _answered.add(self._base_url)
            # A response that was read to its end, or failed, releases its connection by itself.
            return response.status, response.headers, await self._body(response, shown)
        except aiohttp.ConnectionTimeoutError as error:
            raise UnreachableError(
                f"{shown} cannot be reached; check base_url, and whether the server is running: no "
                f"connection within {self._timeout.sock_connect:g} s.",
                url=shown,
            ) from error
        except TimeoutError as error:
            raise EndpointTimeoutError(
                f"{shown} did not answer within {self._timeout.total:g} s.", url=shown
            ) from error
        except aiohttp.ClientConnectorError as error:
            raise UnreachableError(
                f"{shown} cannot be reached; check base_url, and whether the server is running: "
                f"{error}.",
                url=shown,
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            raise UnreachableError(
                f"{shown} cannot be reached, or the connection was lost: "
                f"{type(error).__name__}: {error}.",
                url=shown,
            ) from error

    async def _body(self, response: aiohttp.ClientResponse, url: str) -> bytes:
        """Return the decompressed body, of which no more than the limit is ever in memory."""
        is_error = response.status >= 300
        most = _LARGEST_ERROR if is_error else _LARGEST_ANSWER
        body = bytearray()
        try:
            async for piece in response.content.iter_chunked(_PIECE):
                body += piece
                if len(body) > most:
                    break
            else:
                return bytes(body)
        except BaseException:
            response.close()
            raise
        response.close()
        if is_error:
            return bytes(body[:most])
        raise ReplyTooLargeError(
            f"The answer of {url} is larger than {most:,} bytes. Request fewer tokens or "
            f"log-probabilities, or ask the endpoint's operator.",
            response.status,
            url,
            excerpt(self._text(bytes(body[:_PIECE]))),
        )

    def read(self, data: bytes, url: str, read: Callable[[Mapping[str, Any]], Out]) -> Out:
        """Return a parsed answer of a successful status.

        Args:
            data: The answer.
            url: The URL of the request.
            read: As in ``post``; any exception means that the answer is malformed.

        Raises:
            EndpointError: The answer is malformed, or contains an error.
        """
        try:
            answer = read_json(data)
        except ValueError as error:
            raise self._malformed(data, url, f"is not JSON ({error})") from error
        if not isinstance(answer, dict):
            raise self._malformed(data, url, "is not a JSON object")
        problem = answer.get("error")
        if problem and not answer.get("choices"):
            code = problem.get("code") if isinstance(problem, dict) else None
            status = code if isinstance(code, int) and code in _STATUSES else 500
            raise error_of_status(status, url, self._text(data))
        if not answer.get("choices"):
            raise self._malformed(data, url, "has no choices")
        try:
            return read(answer)
        except Exception as error:
            problem = f"has no valid reply ({type(error).__name__}: {error})"
            raise self._malformed(data, url, problem) from error

    def _malformed(self, data: bytes, url: str, problem: str) -> MalformedReplyError:
        shown = excerpt(self._text(data))
        return MalformedReplyError(f"The answer of {url} {problem}: {shown}", 200, url, shown)

    def _text(self, data: bytes) -> str:
        text = data.decode("utf-8", "replace")
        return text.replace(self._key, "***") if self._key else text

    def close(self) -> None:
        """Release the connections; may be called twice. Requests in progress raise ``ClosedError``.

        It does not wait for them.
        """
        self._is_closed = True
        for call, loop in list(self._calls.items()):
            call_in(loop, _end, call)
        self.release()

    def release(self) -> None:
        """Release the connections until the next request."""
        session, self._session = self._session, None
        if session is not None:
            session.release()


def _is_late(error: EndpointError) -> bool:
    """Return whether a connection or an answer was not there in time."""
    return isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError)


def _end(call: asyncio.Timeout) -> None:
    with contextlib.suppress(RuntimeError):  # it has ended
        call.reschedule(0.0)


def _closed() -> ClosedError:
    return ClosedError("This agent is closed.")


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds to wait according to ``Retry-After``, which holds seconds or a date.

    Args:
        headers: Headers of the answer.
        now: The current Unix time.
    """
    if milliseconds := _number(headers.get("retry-after-ms")):
        return max(0.0, milliseconds / 1000)
    value = headers.get("retry-after")
    if value is None:
        return None
    seconds = _number(value)
    if seconds is None:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _pause(attempt: int, requested: float | None) -> float:
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(attempt - 1, 20))
    return (requested or 0.0) + _jitter.uniform(0.0, longest)


def _exhausted(error: EndpointError, attempts: int, seconds: float) -> EndpointError:
    """Return the last error with the number of attempts in its message."""
    message = f"{error} (attempts: {attempts}, in {seconds:.1f} s)"
    return type(error)(message, error.status, error.url, error.body)


def _check_url(url: str) -> None:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(
            f"base_url must be the URL of an endpoint, such as http://localhost:8000/v1; "
            f"got {url!r}."
        )
