"""A small client for tests, which sees what no SDK shows: bytes, statuses and broken streams."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

__all__ = ["Answer", "opened", "post"]


@dataclass
class Answer:
    """An answer.

    Args:
        status: The HTTP status.
        headers: The headers, with names in lower case.
        text: The body.
    """

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.text)

    @property
    def events(self) -> list[Any]:
        """The data of a stream's events; ``[DONE]`` is left as text."""
        lines = [line[6:] for line in self.text.splitlines() if line.startswith("data: ")]
        return [line if line == "[DONE]" else json.loads(line) for line in lines]


@contextmanager
def opened(url: str, body: Any, **headers: str) -> Iterator[http.client.HTTPResponse]:
    """Send a request, and yield the answer once its head is there; leaving closes the connection.

    Args:
        url: The URL.
        body: Bytes, or a value to encode as JSON.
        headers: Headers, with underscores for hyphens.
    """
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request("POST", parts.path, data, {"Content-Type": "application/json", **sent})
        with connection.getresponse() as response:
            yield response
    finally:
        connection.close()


def post(url: str, body: Any, **headers: str) -> Answer:
    """Send a request and return the whole answer.

    Raises:
        ConnectionError: The answer was broken off.
    """
    try:
        with opened(url, body, **headers) as response:
            text = response.read().decode()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, text)
    except (http.client.HTTPException, ConnectionResetError) as error:
        raise ConnectionError(f"The answer was broken off: {error!r}") from error
