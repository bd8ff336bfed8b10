"""An index over a corpus: built once, saved, and mapped into memory from then on.

A saved index is a folder with the files of the index itself, the positions of the passages in the
corpus, and ``manifest.json``, which identifies it. It is written next to its final place and moved
there when it is complete, so an interrupted build leaves no index behind.
"""

import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gem_core.errors import ConfigError, DataError
from gem_core.records import json_value
from gem_tools.search.base import Hit, Index, IndexOptions, Track
from gem_tools.search.passages import Passages

if TYPE_CHECKING:
    from gem_tools.search.dense import DenseIndex

__all__ = ["IndexOptions", "Retriever", "open_retriever", "untracked"]

_FORMAT = 1
_MANIFEST = "manifest.json"


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


def untracked(items: Iterable[Any], what: str, total: int) -> Iterable[Any]:  # noqa: ARG001 - see Track
    """Return the items without showing progress."""
    return items


def open_retriever(
    corpus: str | Path | None,
    options: IndexOptions,
    *,
    index_path: str | Path | None = None,
    track: Track = untracked,
) -> Retriever:
    """Return a corpus with an index over it, loaded if it has been saved, else built.

    Args:
        corpus: JSON lines; None for the corpus that comes with this package.
        options: Kind and options of the index.
        index_path: Folder of the saved index, which is written if it is missing. A dense index
            may also be a file written by faiss, with one vector for each passage. None builds the
            index in memory.
        track: Shows progress.

    Raises:
        ConfigError: The saved index belongs to another corpus or is of another kind; or the model
            or the packages of a dense index are missing.
        DataError: The corpus or the index cannot be read.
    """
    place = None if index_path is None else Path(index_path)
    if place is None or not place.exists():
        passages = Passages.open(corpus)
        built = Retriever(passages, _build(passages, options, track))
        if place is None:
            return built
        _save(built, options, place)
        del built  # it is loaded again, mapped into memory
    if place.is_file():
        return Retriever(Passages.open(corpus), _load(place, options))
    manifest = _manifest(place)
    passages = Passages.open(corpus, np.load(place / "starts.npy", mmap_mode="r"))
    _check(manifest, _identity(passages, options), place)
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
    try:
        from gem_tools.search.dense import DenseIndex  # noqa: PLC0415 - torch takes seconds
    except ImportError as error:
        raise ConfigError(
            f"A dense index needs torch, transformers and faiss ({error}): "
            f"pip install 'gem-tools[dense]'."
        ) from error
    return DenseIndex


def _identity(passages: Passages, options: IndexOptions) -> dict[str, Any]:
    return {"format": _FORMAT, "corpus": passages.fingerprint, **options.identity}


def _save(built: Retriever, options: IndexOptions, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}-"))
    try:
        built.index.save(folder)
        np.save(folder / "starts.npy", built.passages.starts)
        (folder / _MANIFEST).write_text(json.dumps(_identity(built.passages, options), indent=1))
        folder.chmod(0o755)  # temporary folders are private, an index need not be
        folder.rename(place)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _manifest(place: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json_value((place / _MANIFEST).read_text())
    except (OSError, ValueError) as error:
        raise DataError(f"{place} is not a saved index: {error}.") from error
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
