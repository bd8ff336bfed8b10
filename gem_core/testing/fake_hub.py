"""A hub of datasets on loopback, so that tests load tasks as users do, and as slowly as they want.

``FakeHub`` answers what ``datasets.load_dataset("org/name")`` asks of the hub, with small parquet
files of the rows it is given. Nothing in between is replaced: the requests, the cache and the
memory-mapped files are real::

    rows = [{"problem": "What is 6 times 7?", "answer": "42"}]
    with FakeHub({"acme/sums": {"train": rows}}) as hub, hub.in_process(tmp_path):
        env = make("math:GSM8K", dataset_name="acme/sums")

With pytest, the fixture ``fake_hub`` is such a hub, in process. Other processes find it through
``hub.environ(home)``. A fault can be ordered: ``hub.break_("acme/sums", "drop")``.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import unquote, urlsplit

from gem_core.tasks import forget_rows

__all__ = ["FakeHub", "Fault"]

Fault = Literal["gated", "drop", "slow", "unavailable"]
"""What may be wrong with a dataset: access must be asked for (401), a file breaks off in the
middle, each answer takes a second, or the hub answers 503."""

_SLOW_SECONDS = 1.0
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


@dataclass
class _Repo:
    """A dataset's files by path, under a commit that is the hash of them all."""

    name: str
    files: dict[str, bytes]
    commit: str


class FakeHub:
    """A hub that serves rows from now until it is closed, as a context manager closes it.

    Args:
        datasets: Rows by split by name, as ``add`` takes them. Rows are mappings, images in them
            PIL images.

    Attributes:
        url: Address of the hub, ``http://127.0.0.1:port``.
        requests: What was asked so far, as ``"GET /api/datasets/acme/sums"``.
    """

    def __init__(self, datasets: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self.requests: list[str] = []
        self._repos: dict[str, _Repo] = {}
        self._faults: dict[str, tuple[Fault, float]] = {}
        self._lock = threading.Lock()
        for name, splits in (datasets or {}).items():
            self.add(name, splits)
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving: connections break off, and new ones are refused; may be called twice."""
        self._server.shutdown()
        self._server.server_close()
        self._server.hang_up()

    def add(self, name: str, splits: Mapping[str, Iterable[Mapping[str, Any]] | Any]) -> None:
        """Serve a dataset, or one config of it, in place of what the name served before.

        Args:
            name: ``org/name`` or ``org/name:config``.
            splits: Rows, or a ``datasets.Dataset``, by split.
        """
        name, _, config = name.partition(":")
        folder = config or "data"
        files = dict(self._repos[name].files) if config and name in self._repos else {}
        for split, rows in splits.items():
            files[f"{folder}/{split}-00000-of-00001.parquet"] = _parquet(rows)
        if config:
            files["README.md"] = _readme(files)
        self._repos[name] = _Repo(name, files, _commit_of(files))

    def break_(self, name: str, fault: Fault, *, times: float = float("inf")) -> None:
        """Let requests for a dataset meet a fault.

        Args:
            name: ``org/name``.
            fault: What is wrong.
            times: Requests that meet it; later ones are answered as they should be.
        """
        self._faults[name] = (fault, times)

    def heal(self) -> None:
        """Take back all faults."""
        self._faults.clear()

    def environ(self, home: Path) -> dict[str, str]:
        """Return the environment of a process that uses this hub, with a cache of its own.

        Args:
            home: Folder of the cache.
        """
        kept = {name: value for name, value in os.environ.items() if name not in _CLEARED}
        return {**kept, **self._settings(home)}

    def _settings(self, home: Path) -> dict[str, str]:
        return {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
            "NO_PROXY": "127.0.0.1",
        }

    @contextlib.contextmanager
    def in_process(self, home: Path) -> Iterator[Self]:
        """Let this process use this hub, with a cache of its own.

        ``huggingface_hub`` and ``datasets`` read their settings when they are imported, so what
        they have read is replaced too, until the context ends.

        Args:
            home: Folder of the cache.
        """
        import datasets  # noqa: PLC0415 - only who loads pays for it
        import huggingface_hub  # noqa: PLC0415

        hub = huggingface_hub.constants
        with contextlib.ExitStack() as stack:
            for name in _CLEARED:
                stack.enter_context(_changed(os.environ, name, None))
            for name, value in self._settings(home).items():
                stack.enter_context(_changed(os.environ, name, value))
            for settings, values in (
                (vars(hub), self._hub_constants(home)),
                (vars(datasets.config), self._datasets_constants(home)),
            ):
                for name, value in values.items():
                    stack.enter_context(_changed(settings, name, value))
            forget_rows()
            stack.callback(forget_rows)
            yield self

    def _hub_constants(self, home: Path) -> dict[str, Any]:
        return {
            "ENDPOINT": self.url,
            "HUGGINGFACE_CO_URL_TEMPLATE": self.url + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_CACHE": str(home / "hub"),
            "HF_HUB_OFFLINE": False,
            "HF_HUB_DISABLE_IMPLICIT_TOKEN": True,
        }

    def _datasets_constants(self, home: Path) -> dict[str, Any]:
        return {
            "HF_ENDPOINT": self.url,
            "HUB_DATASETS_URL": self.url + "/datasets/{repo_id}/resolve/{revision}/{path}",
            "HF_DATASETS_CACHE": home / "datasets",
            "DOWNLOADED_DATASETS_PATH": home / "datasets" / "downloads",
            "EXTRACTED_DATASETS_PATH": home / "datasets" / "downloads" / "extracted",
            "HF_HUB_OFFLINE": False,
        }

    def _fault(self, name: str, path: str) -> Fault | None:
        """Return the fault that a request for a file or a route of a dataset meets."""
        with self._lock:
            fault, times = self._faults.get(name, (None, 0.0))
            if fault is None or times <= 0 or (fault == "drop" and not path.endswith(".parquet")):
                return None
            self._faults[name] = (fault, times - 1)
            return fault


_CLEARED = (
    "HF_HUB_OFFLINE",
    "HF_DATASETS_OFFLINE",
    "HF_HUB_CACHE",
    "HF_DATASETS_CACHE",
    "HF_TOKEN",
)
"""Variables of the environment that would lead elsewhere."""


@contextlib.contextmanager
def _changed(settings: Any, name: str, value: Any) -> Iterator[None]:
    """Set an entry of a mapping, or remove it for None, until the context ends."""
    missing = object()
    before = settings.get(name, missing)
    _put(settings, name, missing if value is None else value, missing)
    try:
        yield
    finally:
        _put(settings, name, before, missing)


def _put(settings: Any, name: str, value: Any, missing: object) -> None:
    if value is missing:
        settings.pop(name, None)
    else:
        settings[name] = value


def _parquet(rows: Any) -> bytes:
    import datasets  # noqa: PLC0415 - only who serves rows pays for it

    if not isinstance(rows, datasets.Dataset):
        rows = datasets.Dataset.from_list([dict(row) for row in rows])
    buffer = io.BytesIO()
    was_enabled = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        rows.to_parquet(buffer)
    finally:
        if not was_enabled:
            datasets.enable_progress_bars()
    return buffer.getvalue()


def _readme(files: Iterable[str]) -> bytes:
    """Return the page of a dataset with configs, which says where each one's files are."""
    configs: dict[str, list[dict[str, str]]] = {}
    for path in files:
        folder, _, file = path.partition("/")
        if file:
            entry = {"split": file.partition("-")[0], "path": path}
            configs.setdefault(folder, []).append(entry)
    listed = [{"config_name": name, "data_files": entries} for name, entries in configs.items()]
    return f"---\nconfigs: {json.dumps(listed)}\n---\n".encode()


def _commit_of(files: Mapping[str, bytes]) -> str:
    content = b"".join(path.encode() + _digest(files[path]) for path in sorted(files))
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


class _Server(ThreadingHTTPServer):
    """A server that can hang up on its clients."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._open: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Break off all connections."""
        for connection in list(self._open):
            with contextlib.suppress(OSError):  # the client was faster
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing when a client has gone."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler(hub: FakeHub) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        pass

    Handler.hub = hub
    return Handler


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection; the routes are those that ``load_dataset`` uses."""

    hub: FakeHub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append(f"{self.command} {path}")
        for pattern, answer in _ROUTES:
            if match := re.fullmatch(pattern, path):
                return self._answer(match, answer)
        return self.reply(404)

    do_HEAD = do_GET  # noqa: N815 - the server's name for it

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def _answer(self, match: re.Match[str], answer: Callable[..., None]) -> None:
        name = match["name"]
        repo = self.hub._repos.get(name)  # noqa: SLF001 - its own server
        if repo is None:
            return self.reply(401, code="RepoNotFound")
        if match["revision"] not in {None, "main", repo.commit}:
            return self.reply(404, code="RevisionNotFound")
        fault = self.hub._fault(name, match[0])  # noqa: SLF001
        if fault == "gated":
            return self.reply(401, code="GatedRepo")
        if fault == "unavailable":
            return self.reply(503)
        if fault == "slow":
            time.sleep(_SLOW_SECONDS)
        self.dropping = fault == "drop" and self.command == "GET"
        return answer(self, repo, match["path"] or "")

    def info(self, repo: _Repo, _path: str) -> None:
        """Answer what the repository is."""
        files = [{"rfilename": path} for path in repo.files]
        self.json({"id": repo.name, "sha": repo.commit, "siblings": files, "tags": []})

    def tree(self, repo: _Repo, folder: str) -> None:
        """Answer what a folder holds."""
        start = f"{folder}/" if folder else ""
        entries = {}
        for path, content in repo.files.items():
            if not path.startswith(start):
                continue
            name, below, _ = path.removeprefix(start).partition("/")
            entries[name] = {
                "type": "directory" if below else "file",
                "path": start + name,
                "oid": hashlib.sha1(content, usedforsecurity=False).hexdigest(),
                "size": 0 if below else len(content),
            }
        if not entries:
            return self.reply(404, code="EntryNotFound")
        return self.json(list(entries.values()))

    def file(self, repo: _Repo, path: str) -> None:
        """Answer with a file, or the part of it that was asked for."""
        content = repo.files.get(path)
        headers = {"X-Repo-Commit": repo.commit}
        if content is None:
            return self.reply(404, code="EntryNotFound", headers=headers)
        headers |= {"ETag": f'"{_digest(content).hex()}"', "Accept-Ranges": "bytes"}
        asked = _RANGE.fullmatch(self.headers.get("Range") or "")
        if asked is None:
            return self.reply(200, content, headers=headers)
        start, end = int(asked[1]), int(asked[2] or len(content) - 1)
        headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
        return self.reply(206, content[start : end + 1], headers=headers)

    def json(self, value: Any) -> None:
        """Answer with JSON."""
        self.reply(200, json.dumps(value).encode(), headers={"Content-Type": "application/json"})

    dropping = False

    def reply(
        self, status: int, body: bytes = b"", *, code: str = "", headers: Mapping[str, str] = {}
    ) -> None:
        """Send an answer; half of it, if the connection is to drop."""
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[: len(body) // 2] if self.dropping else body)
        if self.dropping:
            self.close_connection = True


_REPO = r"(?P<name>[^/]+/[^/]+)"
_REVISION = r"(?P<revision>[^/]+)"
_ROUTES: list[tuple[str, Callable[..., None]]] = [
    (rf"/api/datasets/{_REPO}(?:/revision/{_REVISION})?(?P<path>)", _Handler.info),
    (rf"/api/datasets/{_REPO}/tree/{_REVISION}(?:/(?P<path>.*))?", _Handler.tree),
    (rf"/datasets/{_REPO}/resolve/{_REVISION}/(?P<path>.*)", _Handler.file),
]
