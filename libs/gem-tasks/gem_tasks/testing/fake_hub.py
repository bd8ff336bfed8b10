"""A hub of datasets on loopback, so that tests load tasks in the way that users load them.

``FakeHub`` answers what ``datasets.load_dataset("org/name")`` asks of the hub, with small parquet
files of the rows it is given. Nothing in between is replaced: the requests, the cache and the
memory-mapped files are real::

    rows = [{"problem": "What is 6 times 7?", "answer": "42"}]
    with FakeHub({"acme/sums": {"train": rows}}) as hub, hub.in_process(tmp_path):
        env = make("math:GSM8K", dataset_name="acme/sums")

With pytest, the fixture ``fake_hub`` is such a hub, in process. Other processes find it through
``hub.environ(home)``. A fault can be ordered: ``hub.break_("acme/sums", "drop")``.
"""

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from unittest import mock

from gem_tasks import forget_rows
from gem_tasks.testing.hub_server import Fault, HubServer, Repository

__all__ = ["FakeHub"]

_CLEARED = (
    "HF_HUB_OFFLINE",
    "HF_DATASETS_OFFLINE",
    "HF_HUB_CACHE",
    "HF_DATASETS_CACHE",
    "HF_TOKEN",
)
"""Variables of the environment that would lead elsewhere."""


class FakeHub:
    """A hub that serves rows from now until it is closed, as a context manager closes it.

    Args:
        datasets: Rows by split by name, as ``add`` takes them.

    Attributes:
        url: Address of the hub, ``http://127.0.0.1:port``.
        requests: What was asked so far, as ``"GET /api/datasets/acme/sums"``.
    """

    def __init__(self, datasets: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._server = HubServer()
        self.requests = self._server.requests
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        for name, splits in (datasets or {}).items():
            self.add(name, splits)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving: connections break off, and new ones are refused; may be called twice."""
        self._server.close()

    def add(self, name: str, splits: Mapping[str, Any]) -> None:
        """Serve a dataset, or one config of it, in place of what the name served before.

        Args:
            name: ``org/name`` or ``org/name:config``.
            splits: By split, a ``datasets.Dataset`` or rows: mappings, in which images are PIL
                images.
        """
        name, _, config = name.partition(":")
        served = self._server.repositories.get(name)
        files = dict(served.files) if config and served else {}
        for split, rows in splits.items():
            files[f"{config or 'data'}/{split}-00000-of-00001.parquet"] = _parquet(rows)
        if config:
            files["README.md"] = _readme(files)
        self._server.repositories[name] = Repository(name, files)

    def break_(self, name: str, fault: Fault, *, times: float = float("inf")) -> None:
        """Let requests for a dataset meet a fault.

        Args:
            name: ``org/name``.
            fault: ``"gated"`` (access must be asked for), ``"drop"`` (its files break off in the
                middle), ``"slow"`` (each answer takes a second) or ``"unavailable"`` (503).
            times: Requests that meet it; later ones are answered as they should be.
        """
        self._server.faults[name] = (fault, times)

    def heal(self) -> None:
        """Take back all faults."""
        self._server.faults.clear()

    def environ(self, home: Path) -> dict[str, str]:
        """Return the environment of a process that uses this hub, with a cache of its own.

        Args:
            home: Folder of the cache.
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
        """Let this process use this hub, with a cache of its own.

        ``huggingface_hub`` and ``datasets`` read their settings when they are imported, so what
        they have read is replaced too, until the context ends.

        Args:
            home: Folder of the cache.
        """
        import datasets  # noqa: PLC0415 - only who loads pays for it
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
    import datasets  # noqa: PLC0415 - only who serves rows pays for it
    import pyarrow.parquet  # noqa: PLC0415

    if not isinstance(rows, datasets.Dataset):
        rows = datasets.Dataset.from_list([dict(row) for row in rows])
    table = rows.with_format("arrow")[:]
    buffer = io.BytesIO()
    # The metadata says which columns are images.
    metadata = rows.features.arrow_schema.metadata
    pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), buffer)
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
