"""A dataset hub on loopback, so that tests load datasets in the same way as users do.

``FakeHub`` answers the requests of ``datasets.load_dataset("org/name")`` with small parquet files
of the given rows. Nothing else is replaced: the requests, the cache and the memory-mapped files
are real::

    rows = [{"problem": "What is 6 times 7?", "answer": "42"}]
    with FakeHub({"acme/sums": {"train": rows}}) as hub, hub.in_process(tmp_path):
        env = make("math:Custom", dataset_name="acme/sums")

With pytest, the fixture ``fake_hub`` is such a hub for the current process. Other processes use it
through ``hub.environ(home)``. ``hub.break_("acme/sums", "drop")`` injects a fault.
"""

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from unittest import mock

from gem_core.lifetimes import Lifetime
from gem_tasks.rows import forget_rows
from gem_tasks.testing.hub_server import Fault, HubServer, Repository

__all__ = ["FakeHub"]

_CLEARED = (
    "HF_HUB_OFFLINE",
    "HF_DATASETS_OFFLINE",
    "HF_HUB_CACHE",
    "HF_DATASETS_CACHE",
    "HF_TOKEN",
)
"""Environment variables that would override the address or the cache of the fake hub."""


class FakeHub:
    """A hub that serves rows until it is closed; as a context manager it closes itself.

    Args:
        datasets: Splits by dataset name, as ``add`` takes them.

    Attributes:
        url: The address of the hub, ``http://127.0.0.1:port``.
        requests: The requests so far, such as ``"GET /api/datasets/acme/sums"``.
    """

    def __init__(self, datasets: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._server = HubServer()
        self._lifetime = Lifetime(self, self._server.close, what="hub")
        self.requests = self._server.requests
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        for name, splits in (datasets or {}).items():
            self.add(name, splits)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close open connections and refuse new ones; may be called twice.

        It does nothing in a fork of the process.
        """
        self._lifetime.end()

    def add(self, name: str, splits: Mapping[str, Any]) -> None:
        """Serve a dataset, or one config of it; it replaces an earlier one of the same name.

        Args:
            name: ``org/name`` or ``org/name:config``.
            splits: The rows of each split: a ``datasets.Dataset``, or mappings, with images as
                PIL images.
        """
        name, _, config = name.partition(":")
        served = self._server.repositories.get(name)
        files = dict(served.files) if config and served else {}
        for split, rows in splits.items():
            files[f"{config or 'data'}/{split}-00000-of-00001.parquet"] = _parquet(rows)
        if config:
            files["README.md"] = _readme(files)
        self._server.repositories[name] = Repository(name, files)

    def add_files(self, name: str, files: Mapping[str, bytes]) -> None:
        """Serve a dataset of any files; it replaces an earlier one of the same name.

        Args:
            name: ``org/name``.
            files: Contents by path, such as ``"data/train.jsonl"``.
        """
        self._server.repositories[name] = Repository(name, files)

    def commit(self, name: str) -> str:
        """Return the commit of a dataset, ``org/name``."""
        return self._server.repositories[name].commit

    def break_(self, name: str, fault: Fault, *, times: float = float("inf")) -> None:
        """Inject a fault into the requests for a dataset.

        Args:
            name: ``org/name``.
            fault: ``"gated"`` (access must be requested), ``"drop"`` (the connection is closed in
                the middle of a file), ``"silent"`` (no response comes), ``"slow"`` (each response
                takes a second), ``"stall"`` (no file comes) or ``"unavailable"`` (status 503).
            times: The number of requests that fail; later ones succeed.
        """
        self._server.faults[name] = (fault, times)

    def heal(self) -> None:
        """Remove all faults."""
        self._server.faults.clear()

    def environ(self, home: Path) -> dict[str, str]:
        """Return the environment variables of a process that uses this hub with its own cache.

        Args:
            home: The folder of the cache.
        """
        kept = {name: value for name, value in os.environ.items() if name not in _CLEARED}
        return {
            **kept,
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
            "NO_PROXY": "127.0.0.1",
        }

    @contextmanager
    def in_process(self, home: Path) -> Iterator[Self]:
        """Let this process use this hub with its own cache, until the context ends.

        ``huggingface_hub`` and ``datasets`` read their settings when they are imported, so their
        module constants are replaced as well.

        Args:
            home: The folder of the cache.
        """
        import datasets  # noqa: PLC0415 - imported only when needed
        import huggingface_hub  # noqa: PLC0415

        with (
            mock.patch.dict(os.environ, self.environ(home), clear=True),
            mock.patch.multiple(huggingface_hub.constants, **self._hub_settings(home)),
            mock.patch.multiple(datasets.config, **self._datasets_settings(home)),
        ):
            forget_rows()
            try:
                yield self
            finally:
                forget_rows()

    def _hub_settings(self, home: Path) -> dict[str, Any]:
        return {
            "ENDPOINT": self.url,
            "HUGGINGFACE_CO_URL_TEMPLATE": self.url + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_CACHE": str(home / "hub"),
            "HF_HUB_OFFLINE": False,
            "HF_HUB_DISABLE_IMPLICIT_TOKEN": True,
        }

    def _datasets_settings(self, home: Path) -> dict[str, Any]:
        cache = home / "datasets"
        return {
            "HF_ENDPOINT": self.url,
            "HUB_DATASETS_URL": self.url + "/datasets/{repo_id}/resolve/{revision}/{path}",
            "HF_DATASETS_CACHE": cache,
            "DOWNLOADED_DATASETS_PATH": cache / "downloads",
            "EXTRACTED_DATASETS_PATH": cache / "downloads" / "extracted",
            "HF_HUB_OFFLINE": False,
        }


def _parquet(rows: Any) -> bytes:
    import datasets  # noqa: PLC0415 - imported only when needed
    import pyarrow.parquet  # noqa: PLC0415

    if not isinstance(rows, datasets.Dataset):
        rows = datasets.Dataset.from_list([dict(row) for row in rows])
    table = rows.with_format("arrow")[:]
    buffer = io.BytesIO()
    # The metadata marks the columns of images.
    metadata = rows.features.arrow_schema.metadata
    pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), buffer)
    return buffer.getvalue()


def _readme(files: Iterable[str]) -> bytes:
    """Return the README of a dataset with configs, which lists the files of each."""
    configs: dict[str, list[dict[str, str]]] = {}
    for path in files:
        folder, _, file = path.partition("/")
        if file:
            entry = {"split": file.partition("-")[0], "path": path}
            configs.setdefault(folder, []).append(entry)
    listed = [{"config_name": name, "data_files": entries} for name, entries in configs.items()]
    return f"---\nconfigs: {json.dumps(listed)}\n---\n".encode()
