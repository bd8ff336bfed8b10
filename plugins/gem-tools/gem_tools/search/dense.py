"""Dense retrieval: a text encoder makes vectors, and faiss finds those nearest to a query."""

import math
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from gem_core.errors import DataError
from gem_tools.search.base import IndexOptions, Ranks, Track
from gem_tools.search.encoder import Encoder
from gem_tools.search.passages import Passages

__all__ = ["DenseIndex"]

Vectors = NDArray[np.float32]

_FILE = "vectors.faiss"
_CHUNK = 1024
"""Number of passages in a batch for the encoder and the index."""
_NEIGHBOURS, _EFFORT = 32, 128
_TRAINED_ON = 64
"""Number of passages for each cluster from which the clusters are learned."""


class DenseIndex:
    """An index by vectors; the score of a passage is its inner product with the query.

    Args:
        index: The index of faiss.
        encoder: Makes the vectors of queries.
    """

    def __init__(self, index: Any, encoder: Encoder) -> None:
        self._index = index
        self._encoder = encoder

    @classmethod
    def build(cls, passages: Passages, options: IndexOptions, track: Track) -> "DenseIndex":
        """Encode all passages and build the index.

        Raises:
            ConfigError: The model cannot be used.
            DataError: A passage cannot be read.
        """
        encoder = Encoder(options.model, pooling=options.pooling)
        # Not a TemporaryDirectory, which a fork of the process would delete at its exit.
        folder = Path(tempfile.mkdtemp(prefix="gem-tools-"))
        try:
            vectors = _encode_all(passages, encoder, folder / "vectors.npy", track)
            index = _new_index(options.faiss, vectors)
            for start in track(
                range(0, len(vectors), _CHUNK), "indexing", -(-len(vectors) // _CHUNK)
            ):
                index.add(np.ascontiguousarray(vectors[start : start + _CHUNK]))
            del vectors  # the file is mapped, and about to be deleted
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return cls(index, encoder)

    @classmethod
    def load(cls, place: Path, options: IndexOptions) -> "DenseIndex":
        """Map a saved index into memory: a folder, or a file that faiss wrote.

        Raises:
            ConfigError: The model cannot be used.
            DataError: The index cannot be read.
        """
        file = place / _FILE if place.is_dir() else place
        try:
            index: Any = faiss.read_index(str(file), faiss.IO_FLAG_MMAP_IFC)
        except RuntimeError as error:
            raise DataError(f"The index {file} cannot be read: {error}") from error
        if hasattr(index, "nprobe"):
            index.nprobe = _probes(index.nlist)
        return cls(index, Encoder(options.model, pooling=options.pooling))

    def save(self, folder: Path) -> None:
        faiss.write_index(self._index, str(folder / _FILE))

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def search(self, queries: Sequence[str], topk: int) -> list[Ranks]:
        vectors = self._encoder.encode(queries, is_query=True)
        scores, numbers = self._index.search(vectors, min(topk, len(self)))
        # faiss fills up the results of small clusters with -1.
        return [(n[n >= 0], s[n >= 0]) for n, s in zip(numbers, scores, strict=True)]


def _encode_all(passages: Passages, encoder: Encoder, file: Path, track: Track) -> Vectors:
    """Return the vectors of all passages, in a file that is mapped into memory."""
    vectors: Vectors = np.lib.format.open_memmap(
        file, mode="w+", dtype=np.float32, shape=(len(passages), encoder.dimension)
    )
    starts = range(0, len(passages), _CHUNK)
    for start in track(starts, "encoding", len(starts)):
        texts = [passage["contents"] for passage in passages[start : start + _CHUNK]]
        vectors[start : start + len(texts)] = encoder.encode(texts, is_query=False)
    return vectors


def _new_index(kind: str, vectors: Vectors) -> Any:
    count, dimension = vectors.shape
    if kind == "flat":
        return faiss.IndexFlatIP(dimension)
    if kind == "hnsw":
        graph = faiss.IndexHNSWFlat(dimension, _NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = graph.hnsw.efSearch = _EFFORT
        return graph
    clusters = max(1, min(int(4 * math.sqrt(count)), count // _TRAINED_ON))
    index: Any = faiss.index_factory(dimension, f"IVF{clusters},Flat", faiss.METRIC_INNER_PRODUCT)
    some = np.random.default_rng(0).permutation(count)[: clusters * _TRAINED_ON]
    index.train(np.ascontiguousarray(vectors[np.sort(some)]))
    index.nprobe = _probes(clusters)
    return index


def _probes(clusters: int) -> int:
    """Return the number of clusters to search, which grows with their number."""
    return min(clusters, 8 + int(math.sqrt(clusters)))
