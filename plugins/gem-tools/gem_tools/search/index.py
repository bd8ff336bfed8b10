"""An index over a corpus: built once, saved, and mapped into memory from then on.

A saved index is a folder with the files of the index itself, the positions of the passages in the
corpus, and ``manifest.json``, which identifies it. It is written next to its final place and moved
there when it is complete, so an interrupted build leaves no index behind. Of several processes that
want it, one builds it. Without a place, the index of a large corpus is kept in the cache folder,
where it is built again when the corpus has changed or it cannot be read.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from gem_core.caches import cache_folder
from gem_core.errors import ConfigError, DataError
from gem_core.extras import require
from gem_core.notices import notice_after
from gem_core.records import json_value
from gem_tools.search.base import Hit, Index, IndexOptions, Track
from gem_tools.search.passages import Passages

if TYPE_CHECKING:
    from gem_tools.search.dense import DenseIndex

__all__ = ["IndexOptions", "Retriever", "open_retriever", "reported"]

_FORMAT = 2
_MANIFEST = "manifest.json"
_LARGE = 4_000_000
"""The number of bytes of a corpus from which its index is kept; a smaller one takes a second."""
_NOTICE_SECONDS, _REPORT_SECONDS = 2.0, 10.0


class Retriever:
    """An index with its passages.

    Args:
        passages: The corpus.
        index: An index over it.

    Raises:
        DataError: Their lengths differ.
    """

    def __init__(self, passages: Passages, index: Index) -> None:
        if len(index) != len(passages):
            raise DataError(
                f"The index has {len(index)} entries, but the corpus {passages.origin} has "
                f"{len(passages)} passages: they do not belong together."
            )
        self.passages = passages
        self.index = index

    def __len__(self) -> int:
        return len(self.passages)

    def search(self, queries: Sequence[str], topk: int) -> list[list[Hit]]:
        """Return for each query at most ``topk`` passages with their scores, best first."""
        return [
            [(self.passages[int(n)], float(score)) for n, score in zip(*ranks, strict=True)]
            for ranks in self.index.search(queries, topk)
        ]


def reported(items: Iterable[Any], what: str, total: int) -> Iterable[Any]:
    """Yield the items, and write a line to the standard error every few seconds."""
    last = time.monotonic()
    for number, item in enumerate(items):
        if time.monotonic() - last > _REPORT_SECONDS:
            last = time.monotonic()
            sys.stderr.write(f"The search index: {what}, {number:,} of {total:,} passages.\n")
        yield item


def open_retriever(
    corpus: str | Path | None,
    options: IndexOptions,
    *,
    index_path: str | Path | None = None,
    track: Track = reported,
) -> Retriever:
    """Return a corpus with an index over it, loaded if it has been saved, else built.

    Args:
        corpus: JSON lines; None for the corpus that comes with this package.
        options: Kind and options of the index.
        index_path: Folder of the saved index, which is written if it is missing. A dense index
            may also be a file written by faiss, with one vector for each passage. With None, an
            index by words over 4 MB or more is kept in the cache folder
            (``$XDG_CACHE_HOME/gem-core/search``), one for each corpus; any other stays in memory.
        track: Shows progress.

    Raises:
        ConfigError: The saved index belongs to another corpus or is of another kind; or the model
            or the packages of a dense index are missing.
        DataError: The corpus or the index cannot be read, or the index cannot be written.
    """
    if index_path is None:
        return _from_cache(corpus, options, track)
    place = Path(index_path)
    if place.is_file():
        return Retriever(Passages.open(corpus), _load(place, options))
    if not place.exists():
        try:
            with _locked(place):
                if not place.exists():
                    _save(_built(corpus, options, track), options, place)
        except OSError as error:
            raise DataError(f"The index cannot be written to {place}: {error}.") from error
    return _saved(corpus, options, place)


def _from_cache(corpus: str | Path | None, options: IndexOptions, track: Track) -> Retriever:
    """Return the index that the cache folder has of a corpus, after it was built if need be."""
    if corpus is None or options.kind != "bm25" or not _is_large(Path(corpus)):
        return _built(corpus, options, track)
    place, stamp = _cache_place(Path(corpus)), _stamp(Path(corpus))
    with contextlib.suppress(ConfigError, DataError):
        return _saved(corpus, options, place, stamp)
    built = None
    try:
        with _locked(place):
            with contextlib.suppress(ConfigError, DataError):
                return _saved(corpus, options, place, stamp)
            what = f"Building the search index of {corpus}, which is kept in {place} ..."
            with notice_after(_NOTICE_SECONDS, what):
                built = _built(corpus, options, track)
            shutil.rmtree(place, ignore_errors=True)
            _save(built, options, place, stamp)
            built = None  # it is mapped into memory instead
            return _saved(corpus, options, place, stamp)
    except OSError as error:
        reason = error.strerror or error
        warnings.warn(
            f"The search index of {corpus} stays in memory, as it cannot be kept in {place}: "
            f"{reason}.",
            stacklevel=2,
        )
        return built or _built(corpus, options, track)


def _is_large(corpus: Path) -> bool:
    return corpus.is_file() and corpus.stat().st_size >= _LARGE


def _cache_place(corpus: Path) -> Path:
    name = hashlib.blake2b(os.fsencode(corpus.resolve()), digest_size=8).hexdigest()
    return cache_folder("search") / f"{corpus.stem}-{name}" / "index"


def _stamp(corpus: Path) -> dict[str, Any]:
    """Return what the index of a corpus depends on beside its identity, which reads its ends."""
    status = corpus.stat()
    packages = {name: version(name) for name in ("bm25s", "PyStemmer")}
    times = [status.st_mtime_ns, status.st_ctime_ns]  # a program can set the first back
    return {"times": times, "file": status.st_ino, **packages}


@contextlib.contextmanager
def _locked(place: Path) -> Iterator[None]:
    """Wait until no other process builds an index in the folder above a place."""
    place.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems have no locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _built(corpus: str | Path | None, options: IndexOptions, track: Track) -> Retriever:
    passages = Passages.open(corpus)
    return Retriever(passages, _build(passages, options, track))


def _saved(
    corpus: str | Path | None,
    options: IndexOptions,
    place: Path,
    stamp: Mapping[str, Any] = MappingProxyType({}),
) -> Retriever:
    manifest = _manifest(place)
    try:
        starts = np.load(place / "starts.npy", mmap_mode="r")
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"The index in {place} cannot be read: {error}.") from error
    passages = Passages.open(corpus, starts)
    _check(manifest, _identity(passages, options, stamp), place)
    return Retriever(passages, _load(place, options))


def _build(passages: Passages, options: IndexOptions, track: Track) -> Index:
    if options.kind == "bm25":
        from gem_tools.search.bm25 import Bm25Index  # noqa: PLC0415 - only a search pays for it

        return Bm25Index.build(passages, track)
    return _dense().build(passages, options, track)


def _load(place: Path, options: IndexOptions) -> Index:
    if options.kind == "bm25":
        from gem_tools.search.bm25 import Bm25Index  # noqa: PLC0415 - as above

        return Bm25Index.load(place)
    return _dense().load(place, options)


def _dense() -> "type[DenseIndex]":
    require("gem-tools[dense]", "A dense index")
    from gem_tools.search.dense import DenseIndex  # noqa: PLC0415 - torch takes seconds

    return DenseIndex


def _identity(
    passages: Passages, options: IndexOptions, stamp: Mapping[str, Any]
) -> dict[str, Any]:
    return {"format": _FORMAT, "corpus": passages.fingerprint, **options.identity, **stamp}


def _save(
    built: Retriever,
    options: IndexOptions,
    place: Path,
    stamp: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    identity = _identity(built.passages, options, stamp)
    folder = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}-"))
    try:
        built.index.save(folder)
        np.save(folder / "starts.npy", built.passages.starts)
        (folder / _MANIFEST).write_text(json.dumps(identity, indent=1))
        folder.chmod(0o755)  # temporary folders are private, an index need not be
        folder.rename(place)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _manifest(place: Path) -> dict[str, Any]:
    try:
        manifest = json_value((place / _MANIFEST).read_text())
    except (OSError, ValueError) as error:
        raise DataError(f"{place} is not a saved index: {error}.") from error
    if not isinstance(manifest, dict):
        raise DataError(f"{place} is not a saved index: its {_MANIFEST} is not an object.")
    return manifest


def _check(manifest: Mapping[str, Any], wanted: Mapping[str, Any], place: Path) -> None:
    other = [
        f"{name} {manifest.get(name)!r} instead of {value!r}"
        for name, value in wanted.items()
        if manifest.get(name) != value
    ]
    if other:
        raise ConfigError(
            f"The index in {place} is another one: it has {', '.join(other)}. Give another "
            f"index path, or delete that folder to build the index again."
        )
