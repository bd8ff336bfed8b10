"""BM25: ranks passages by the words that they share with a query; rare words count more."""

from array import array
from collections.abc import Sequence
from pathlib import Path

import bm25s
import numpy as np
from bm25s.tokenization import Tokenized
from numpy.typing import NDArray

from gem_core.errors import DataError
from gem_tools.search.base import Ranks, Track
from gem_tools.search.passages import Passages
from gem_tools.search.words import words

__all__ = ["Bm25Index", "best"]

K1, B = 0.9, 0.4
"""Saturation of repeated words, and penalty for long passages."""


class Bm25Index:
    """An index by words.

    Args:
        model: The index of bm25s.
    """

    def __init__(self, model: bm25s.BM25) -> None:
        self._model = model
        self._numbers: dict[str, int] = model.vocab_dict

    @classmethod
    def build(cls, passages: Passages, track: Track) -> "Bm25Index":
        """Read all passages and build the index.

        Raises:
            DataError: A passage cannot be read, or no passage has a word.
        """
        vocabulary: dict[str, int] = {}
        ids = []
        for contents in track(passages.contents(), "reading", len(passages)):
            numbers = (vocabulary.setdefault(word, len(vocabulary)) for word in words(contents))
            ids.append(array("i", numbers))
        if not vocabulary:
            raise DataError(f"No passage of the corpus {passages.origin} has a word.")
        model = bm25s.BM25(k1=K1, b=B, method="lucene")
        model.index(Tokenized(ids=ids, vocab=vocabulary), show_progress=False)
        return cls(model)

    @classmethod
    def load(cls, folder: Path) -> "Bm25Index":
        """Map a saved index into memory.

        Raises:
            DataError: The index cannot be read.
        """
        try:
            return cls(bm25s.BM25.load(folder, mmap=True))
        except (OSError, ValueError, KeyError) as error:
            raise DataError(f"The index in {folder} cannot be read: {error}.") from error

    def save(self, folder: Path) -> None:
        self._model.save(folder, show_progress=False)

    def __len__(self) -> int:
        return int(self._model.scores["num_docs"])

    def search(self, queries: Sequence[str], topk: int) -> list[Ranks]:
        return [self._search(query, topk) for query in queries]

    def _search(self, query: str, topk: int) -> Ranks:
        known = [self._numbers[word] for word in words(query) if word in self._numbers]
        if not known:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        scores = self._model.get_scores_from_ids(known)
        numbers = best(scores, topk)
        numbers = numbers[scores[numbers] > 0]  # other passages share no word with the query
        return numbers, scores[numbers]


def best(scores: NDArray[np.float32], topk: int) -> NDArray[np.int64]:
    """Return the numbers of the ``topk`` highest scores, highest first, ties by number."""
    if topk < len(scores):
        # Include every tie of the last one, so that the order is deterministic.
        least = np.partition(scores, -topk)[-topk]
        numbers = np.flatnonzero(scores >= least)
    else:
        numbers = np.arange(len(scores))
    order = np.argsort(-scores[numbers], kind="stable")
    return numbers[order][:topk]
