"""The web server of the viewer: read-only, and for this machine only.

It listens on the loopback interface, and only answers requests whose ``Host`` is a loopback name.
So a foreign site that points its name to this machine (DNS rebinding) cannot read runs.
"""

import sys
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

from gem_core.errors import ClosedError, ConfigError, GemError
from gem_core.lifetimes import Lock
from gem_core.web_pages import page_problem
from gem_eval.view.overview import overview
from gem_eval.view.page import MEDIA_TYPES, page_json, static_file
from gem_eval.view.query import EpisodeQuery
from gem_eval.view.store import Store
from gem_eval.view.training import training

__all__ = ["HOST", "ViewServer", "bind"]

HOST = "127.0.0.1"

_PORTS_TRIED = 20
_REFRESH_SECONDS = 2.0
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
    """Serves the page of some runs.

    Args:
        store: The runs.
        port: The port to listen on; 0 for any free port.

    Raises:
        OSError: The port is in use.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, store: Store, port: int) -> None:
        self.store = store
        self._refreshed = time.monotonic()
        self._refreshing = Lock()
        self._kept: dict[tuple[str, ...], Any] = {}
        self._turns = threading.Condition()
        self._answering, self._is_closing = 0, False
        super().__init__((HOST, port), _Handler)

    @property
    def url(self) -> str:
        """The URL of the page."""
        return f"http://{HOST}:{self.server_address[1]}/"

    def refresh(self) -> None:
        """Index what the runs have added, at most every two seconds and in one thread at a time."""
        if time.monotonic() - self._refreshed < _REFRESH_SECONDS:
            return
        if self._refreshing.acquire(blocking=False):
            try:
                if self.store.refresh():
                    self._kept = {}
                self._refreshed = time.monotonic()
            finally:
                self._refreshing.release()

    def answer(self, path: str, given: Mapping[str, str]) -> Any:
        """Return the answer to a request; None if the path does not exist.

        Args:
            path: The path of the URL.
            given: The parameters of the URL.

        Raises:
            ConfigError: A parameter is out of its range.
            ClosedError: The server is stopping.
        """
        with self._turns:
            if self._is_closing:
                raise ClosedError("The server is stopping.")
            self._answering += 1
        try:
            return self._answer(path, given)
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

    def _answer(self, path: str, given: Mapping[str, str]) -> Any:
        answers = {
            "/api/size": self._size,
            "/api/overview": self._overview,
            "/api/training": self._training,
            "/api/episodes": self._episodes,
            "/api/episode": self._episode,
            "/api/tasks": self._tasks,
        }
        return answers[path](given) if path in answers else None

    def _size(self, _: Mapping[str, str]) -> Any:
        self.refresh()
        return {"episodes": self.store.size, "training": self.store.state}

    def _overview(self, given: Mapping[str, str]) -> Any:
        env = given.get("env", "")
        return self._cached(("overview", env), lambda: overview(self.store, env))

    def _training(self, given: Mapping[str, str]) -> Any:
        every = given.get("every", "")
        return self._cached(("training", every), lambda: training(self.store, every=every == "1"))

    def _episodes(self, given: Mapping[str, str]) -> Any:
        return self.store.page(EpisodeQuery.of(given))

    def _episode(self, given: Mapping[str, str]) -> Any:
        episode_id = given.get("id", "")
        places = self.store.neighbours(episode_id, EpisodeQuery.of(given))
        return {**self.store.episode(episode_id), **places}

    def _tasks(self, given: Mapping[str, str]) -> Any:
        a, b = (_series(self.store, given.get(side, "")) for side in ("a", "b"))
        query = EpisodeQuery.of(given)
        return self.store.tasks(a, b, env=query.env, offset=query.offset, limit=query.limit)

    def _cached(self, key: tuple[str, ...], make: Callable[[], Any]) -> Any:
        """Return what is made for a key once, until the runs grow."""
        kept = self._kept
        if key not in kept:
            kept[key] = make()
        return kept[key]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print an error, unless it is a browser that closed its connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def bind(store: Store, port: int | None, first: int) -> ViewServer:
    """Return a server at a port, or at the first free port from ``first``.

    Raises:
        ConfigError: The port is in use, or no port is free.
    """
    ports = range(first, first + _PORTS_TRIED) if port is None else [port]
    for number in ports:
        try:
            return ViewServer(store, number)
        except OSError as error:
            problem = error
    asked = f"Port {port} cannot be used" if port is not None else f"No port from {first} is free"
    raise ConfigError(
        f"{asked}: {problem}. Choose another one with --port; --port 0 takes any free one."
    )


def _series(store: Store, text: str) -> int:
    if text.isdecimal() and len(text) < 9 and int(text) < len(store.series):
        return int(text)
    raise ConfigError(f"There is no series {text!r}: there are {len(store.series)}.")


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
        try:
            found = self.server.answer(path, dict(parse_qsl(url.query, keep_blank_values=True)))
        except GemError as error:
            self._send(HTTPStatus.BAD_REQUEST, page_json({"error": str(error)}), ".json")
            return
        except OSError as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, page_json({"error": str(error)}), ".json")
            return
        if found is None:
            self._send(HTTPStatus.NOT_FOUND, page_json({"error": f"There is no {path}."}), ".json")
        else:
            self._send(HTTPStatus.OK, page_json(found), ".json")

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
