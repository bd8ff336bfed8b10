"""The JSON and CSV files in which ``datasets`` has found a dataset, in a folder or on the hub.

``datasets`` decides which files belong to a config and its splits. It would convert their values,
``[[3], [2.5]]`` to fractions for example, so ``gem_tasks.file_rows`` reads them. Files of the hub
are in the cache of ``huggingface_hub``, and ``remember`` writes which ones a dataset has, because
nothing else in the cache says so.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

from gem_tasks.file_rows import COMPRESSED, FORMATS, Source

__all__ = ["ENDINGS", "HubFile", "TextFiles", "download", "ending", "recall", "remember"]

ENDINGS = {
    ".parquet": "parquet",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".csv": "csv",
    ".arrow": "arrow",
}
"""The format of each ending."""
_HUB = "hf://"
_RECORD = "text-files.json"


def ending(path: Path) -> str:
    """Return the ending that names the format of a file, compressed or not."""
    return path.with_suffix("").suffix if path.suffix in COMPRESSED else path.suffix


@dataclass(frozen=True)
class TextFiles:
    """The files of a dataset, all of one format.

    Args:
        kind: The format, one of ``file_rows.FORMATS``.
        files: The files of each split, or files without splits.
    """

    kind: str
    files: Mapping[str, Sequence[Source]] | Sequence[Source]

    @classmethod
    def of_builder(cls, datasets: Any, builder: Any) -> "TextFiles | None":
        """Return the files of a builder of ``datasets``, None if it must read them itself.

        That is so for other formats, for files in archives, and for a config that says how to read
        them.
        """
        names = builder.config.data_files or {}
        found = {str(split): [_source(datasets, name) for name in names[split]] for split in names}
        files = [file for split in found.values() for file in split]
        kinds = {ENDINGS.get(ending(Path(str(file))), "") if file else "" for file in files}
        kind = kinds.pop() if len(kinds) == 1 else ""
        is_read = kind in FORMATS and _reads_by_default(datasets, builder.config)
        return cls(kind, found) if is_read else None  # type: ignore[arg-type]


@dataclass(frozen=True)
class HubFile:
    """A file on the hub, read as it is downloaded.

    Args:
        url: ``hf://datasets/org/name@revision/path``.
        endpoint: The address of the hub.
    """

    url: str
    endpoint: str

    def __str__(self) -> str:
        return self.url

    @property
    def suffix(self) -> str:
        """The last ending of the name."""
        return Path(self.url).suffix

    def open(self, mode: str) -> IO[bytes]:
        """Open the file for reading."""
        from huggingface_hub import HfFileSystem  # noqa: PLC0415 - only for streams

        return HfFileSystem(endpoint=self.endpoint).open(self.url, mode)  # type: ignore[no-any-return]


def _source(datasets: Any, name: str) -> Source | None:
    """Return a file that is not in an archive."""
    if name.startswith(_HUB):
        return HubFile(name, datasets.config.HF_ENDPOINT)
    return Path(name) if Path(name).is_file() else None


def _reads_by_default(datasets: Any, config: Any) -> bool:
    """Return whether the options of a config are the defaults, except for those of all formats."""
    usual = {field.name for field in fields(datasets.BuilderConfig)}
    own = [field for field in fields(config) if field.name not in usual]
    return all(getattr(config, field.name) == field.default for field in own)


def download(datasets: Any, builder: Any, kind: str, repository: str) -> TextFiles:
    """Return the files of a builder in the cache, downloaded unless they are there."""
    names = {str(split): list(found) for split, found in builder.config.data_files.items()}
    paths = datasets.DownloadManager(dataset_name=repository).download(names)
    return TextFiles(kind, {split: [Path(path) for path in paths[split]] for split in names})


def remember(datasets: Any, found: TextFiles, repository: str, config: str | None) -> None:
    """Write the names of the cached files of a config, for when the hub is unreachable.

    Args:
        datasets: The library.
        found: The files of each split, downloaded.
        repository: ``org/name``.
        config: The name of the config, None for the default one.
    """
    record, root = _record(datasets, repository), _cache()
    names = {
        split: [os.path.relpath(str(path), root) for path in paths]
        for split, paths in found.files.items()  # type: ignore[union-attr]
    }
    configs = _configs(record) | {config or "": {"kind": found.kind, "splits": names}}
    record.parent.mkdir(parents=True, exist_ok=True)
    written = record.with_suffix(f".{os.getpid()}")
    written.write_text(json.dumps(configs))
    written.replace(record)


def recall(datasets: Any, repository: str, config: str | None) -> TextFiles | None:
    """Return the files that ``remember`` wrote; None if it did not, or if one is missing."""
    known, root = _configs(_record(datasets, repository)).get(config or ""), Path(_cache())
    if known is None:
        return None
    splits = {split: [root / path for path in paths] for split, paths in known["splits"].items()}
    is_there = all(path.is_file() for paths in splits.values() for path in paths)
    return TextFiles(known["kind"], splits) if is_there else None


def _record(datasets: Any, repository: str) -> Path:
    cache = Path(datasets.config.HF_DATASETS_CACHE).expanduser()
    return cache / repository.replace("/", "___") / _RECORD


def _configs(record: Path) -> dict[str, Any]:
    return json.loads(record.read_text()) if record.is_file() else {}


def _cache() -> str:
    from huggingface_hub import constants  # noqa: PLC0415 - it is imported with ``datasets``

    return str(constants.HF_HUB_CACHE)
