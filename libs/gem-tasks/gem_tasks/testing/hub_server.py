"""The server behind ``FakeHub``: repositories of files, the routes of the hub, and faults."""

import contextlib
import hashlib
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from gem_core.lifetimes import Lock

__all__ = ["Fault", "HubServer", "Repository"]

Fault = Literal["gated", "drop", "silent", "slow", "stall", "unavailable"]
"""A fault of a dataset: access must be requested (401), the connection is closed in the middle of
a file, no response comes before the server is closed, each takes a second, no file comes, or the
hub is unavailable (503)."""

_OF_FILES = ("drop", "stall")
SLOW_SECONDS = 1.0
_ROWS = (".parquet", ".jsonl", ".csv", ".gz")
"""The endings of files of rows."""
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


@dataclass(frozen=True)
class Repository:
    """A dataset on the hub.

    Args:
        name: ``org/name``.
        files: Contents by path.
    """

    name: str
    files: Mapping[str, bytes]

    @property
    def commit(self) -> str:
        """The hash of the files and their paths; the only revision besides ``main``."""
        parts = [path.encode() + _sha256(self.files[path]).encode() for path in sorted(self.files)]
        return _sha1(b"".join(parts))


class HubServer(ThreadingHTTPServer):
    """A server on a free port of loopback, which serves until it is closed.

    Attributes:
        repositories: The repositories by name.
        faults: The fault of each repository, and the number of requests that it still affects.
        requests: The requests so far, such as ``"GET /api/datasets/acme/sums"``.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, Repository] = {}
        self.faults: dict[str, tuple[Fault, float]] = {}
        self.requests: list[str] = []
        self.closed = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = Lock()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Refuse new connections and close the open ones."""
        self.closed.set()
        self.shutdown()
        self.server_close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):  # the client has closed it
                connection.shutdown(socket.SHUT_RDWR)

    def take_fault(self, name: str, *, is_file: bool) -> Fault | None:
        """Return the fault that affects a request, and count the request.

        Args:
            name: The repository.
            is_file: Whether the request is for a file of rows; ``"drop"`` and ``"stall"``
                affect only these.
        """
        with self._lock:
            fault, times = self.faults.get(name, (None, 0.0))
            if fault is None or times <= 0 or (fault in _OF_FILES and not is_file):
                return None
            self.faults[name] = (fault, times - 1)
            return fault

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing when a client has disconnected."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """The handler of the requests that ``load_dataset`` sends."""

    server: HubServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    drops_connection = False

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.requests.append(f"{self.command} {path}")
        for pattern, answer in _ROUTES:
            if match := re.fullmatch(pattern, path):
                return self._answer(match, answer)
        return self.reply(404)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server requires

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def _answer(self, match: re.Match[str], answer: Callable[..., None]) -> None:
        repository = self.server.repositories.get(match["name"])
        if repository is None:
            return self.reply(401, code="RepoNotFound")
        if match["revision"] not in {None, "main", repository.commit}:
            return self.reply(404, code="RevisionNotFound")
        is_file = self.command == "GET" and match[0].endswith(_ROWS)
        fault = self.server.take_fault(match["name"], is_file=is_file)
        if fault == "gated":
            return self.reply(401, code="GatedRepo")
        if fault == "unavailable":
            return self.reply(503)
        if fault in ("silent", "stall"):
            self.server.closed.wait()
        if fault == "slow":
            time.sleep(SLOW_SECONDS)
        self.drops_connection = fault == "drop"
        return answer(self, repository, match["path"] or "")

    def about(self, repository: Repository, _path: str) -> None:
        """Respond with a description of the repository."""
        files = [
            {"rfilename": path, "size": len(content)} for path, content in repository.files.items()
        ]
        facts = {"id": repository.name, "sha": repository.commit, "siblings": files, "tags": []}
        self.reply_json(facts)

    def folder(self, repository: Repository, folder: str) -> None:
        """Respond with the entries of a folder."""
        start = f"{folder}/" if folder else ""
        entries = {}
        for path, content in repository.files.items():
            if path.startswith(start):
                name, below, _ = path.removeprefix(start).partition("/")
                entries[name] = {
                    "type": "directory" if below else "file",
                    "path": start + name,
                    "oid": _sha1(content),
                    "size": 0 if below else len(content),
                }
        if not entries:
            return self.reply(404, code="EntryNotFound")
        return self.reply_json(list(entries.values()))

    def file(self, repository: Repository, path: str) -> None:
        """Respond with a file, or with the requested range of it."""
        content = repository.files.get(path)
        headers = {"X-Repo-Commit": repository.commit}
        if content is None:
            return self.reply(404, code="EntryNotFound", headers=headers)
        headers |= {"ETag": f'"{_sha256(content)}"', "Accept-Ranges": "bytes"}
        asked = _RANGE.fullmatch(self.headers.get("Range") or "")
        if asked is None:
            return self.reply(200, content, headers=headers)
        start, end = int(asked[1]), int(asked[2] or len(content) - 1)
        headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
        return self.reply(206, content[start : end + 1], headers=headers)

    def reply_json(self, value: Any) -> None:
        """Respond with JSON."""
        self.reply(200, json.dumps(value).encode(), headers={"Content-Type": "application/json"})

    def reply(
        self,
        status: int,
        body: bytes = b"",
        *,
        code: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send a response, of which only half is sent if the connection is to be dropped."""
        self.send_response(status)
        for name, value in {"X-Error-Code": code, **(headers or {})}.items():
            if value:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[: len(body) // 2] if self.drops_connection else body)
        self.close_connection = self.close_connection or self.drops_connection


def _sha1(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


_REPOSITORY = r"(?P<name>[^/]+/[^/]+)"
_REVISION = r"(?P<revision>[^/]+)"
_ROUTES: list[tuple[str, Callable[..., None]]] = [
    (rf"/api/datasets/{_REPOSITORY}(?:/revision/{_REVISION})?(?P<path>)", _Handler.about),
    (rf"/api/datasets/{_REPOSITORY}/tree/{_REVISION}(?:/(?P<path>.*))?", _Handler.folder),
    (rf"/datasets/{_REPOSITORY}/resolve/{_REVISION}/(?P<path>.*)", _Handler.file),
]
