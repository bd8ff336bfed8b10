"""The web server of the viewer, for this machine only.

It listens on the loopback interface, and only answers requests whose ``Host`` is a loopback name.
So a foreign site that points its name to this machine (DNS rebinding) cannot read runs. All that a
request can change are the tags of runs; such a request must come from the page itself, or from a
program that is no browser.
"""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

from gem_core.errors import ClosedError, ConfigError, GemError
from gem_core.records import json_value
from gem_core.web_pages import page_problem
from gem_eval.view.answers import Answers, HomeAnswers, RunAnswers
from gem_eval.view.home import Home
from gem_eval.view.page import MEDIA_TYPES, page_json, static_file
from gem_eval.view.store import Store

__all__ = ["HOST", "ViewServer", "bind"]

HOST = "127.0.0.1"

_PORTS_TRIED = 20
_CHANGES = "/api/tags"
_LARGEST_CHANGE = 10_000
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


class ViewServer(ThreadingHTTPServer):
    """Serves the page of some runs, or of a folder of runs.

    Args:
        shown: The runs or the folder; the caller closes the runs.
        port: The port to listen on; 0 for any free port.

    Raises:
        OSError: The port is in use.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, shown: Store | Home, port: int) -> None:
        self.shown = shown
        self._answers: Answers = (
            HomeAnswers(shown) if isinstance(shown, Home) else RunAnswers(shown)
        )
        self._turns = threading.Condition()
        self._answering, self._is_closing = 0, False
        super().__init__((HOST, port), _Handler)

    @property
    def url(self) -> str:
        """The URL of the page."""
        return f"http://{HOST}:{self.server_address[1]}/"

    def answer(self, path: str, given: Mapping[str, str], names: Sequence[str]) -> Any:
        """Return the answer to a request: see ``Answers``.

        Raises:
            ClosedError: The server is stopping.
        """
        with self._turn():
            return self._answers.answer(path, given, names)

    def change(self, path: str, given: Mapping[str, Any]) -> Any:
        """Change something: see ``Answers``.

        Raises:
            ClosedError: The server is stopping.
        """
        with self._turn():
            return self._answers.change(path, given)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Keep the server from being closed until the end of the block."""
        with self._turns:
            if self._is_closing:
                raise ClosedError("The server is stopping.")
            self._answering += 1
        try:
            yield
        finally:
            with self._turns:
                self._answering -= 1
                self._turns.notify_all()

    def server_close(self) -> None:
        """Close the socket, and wait for the answers that threads are making of the runs."""
        super().server_close()
        with self._turns:
            self._is_closing = True
            self._turns.wait_for(lambda: not self._answering)
        self._answers.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print an error, unless it is a browser that closed its connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def bind(shown: Store | Home, port: int | None, first: int) -> ViewServer:
    """Return a server at a port, or at the first free port from ``first``.

    Raises:
        ConfigError: The port is in use, or no port is free.
    """
    ports = range(first, first + _PORTS_TRIED) if port is None else [port]
    for number in ports:
        try:
            return ViewServer(shown, number)
        except OSError as error:
            problem = error
    asked = f"Port {port} cannot be used" if port is not None else f"No port from {first} is free"
    raise ConfigError(
        f"{asked}: {problem}. Choose another one with --port; --port 0 takes any free one."
    )


def _object(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a request.

    Raises:
        ConfigError: It is something else.
    """
    try:
        found = json_value(body)
    except ValueError as error:
        raise ConfigError(f"The request is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ConfigError("The request must be a JSON object.")
    return found


class _Handler(BaseHTTPRequestHandler):
    server: ViewServer
    protocol_version = "HTTP/1.1"
    server_version = "gem-view"
    sys_version = ""
    timeout: ClassVar[int] = 60

    def do_GET(self) -> None:
        if problem := page_problem(self.headers, HOST):
            self._send(HTTPStatus.FORBIDDEN, problem.encode())
            return
        url = urlsplit(self.path)
        path = unquote(url.path)
        if not path.startswith("/api/"):
            self._send_file(path.removeprefix("/") or "index.html")
            return
        pairs = parse_qsl(url.query, keep_blank_values=True)
        names = [value for name, value in pairs if name == "run"]
        self._send_found(lambda: self.server.answer(path, dict(pairs), names), path)

    def do_POST(self) -> None:
        path = urlsplit(self.path).path
        size = self.headers.get("Content-Length") or ""
        if path != _CHANGES:
            self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)
        elif problem := page_problem(self.headers, HOST):
            self.close_connection = True
            self._send(HTTPStatus.FORBIDDEN, problem.encode())
        elif not size.isdecimal() or int(size) > _LARGEST_CHANGE:
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        elif self.headers.get_content_type() != "application/json":
            # A page elsewhere cannot send this type without asking first, which is refused.
            self.send_error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        else:
            body = self.rfile.read(int(size))
            self._send_found(lambda: self.server.change(path, _object(body)), path)

    def _send_found(self, find: Callable[[], Any], path: str) -> None:
        try:
            found = find()
        except GemError as error:
            self._send(HTTPStatus.BAD_REQUEST, page_json({"error": str(error)}), ".json")
        except OSError as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, page_json({"error": str(error)}), ".json")
        else:
            status = HTTPStatus.NOT_FOUND if found is None else HTTPStatus.OK
            found = {"error": f"There is no {path}."} if found is None else found
            self._send(status, page_json(found), ".json")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request with another method, or one that is not HTTP."""
        self.close_connection = True
        self._send(HTTPStatus(code), (message or HTTPStatus(code).phrase).encode())

    def log_message(self, *details: Any) -> None:
        """Print nothing, as the terminal shows the URL."""

    def _send_file(self, name: str) -> None:
        content = static_file(name)
        if content is None:
            self._send(HTTPStatus.NOT_FOUND, b"There is no such page.")
        else:
            self._send(HTTPStatus.OK, content, name[name.rindex(".") :])

    def _send(self, status: HTTPStatus, body: bytes, kind: str = ".txt") -> None:
        types = {**MEDIA_TYPES, ".json": "application/json", ".txt": "text/plain; charset=utf-8"}
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", types[kind])
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
