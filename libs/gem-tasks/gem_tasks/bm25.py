"""BM25: ranks texts by the words that they share with a query; rare words count more.

The formula is Lucene's, as the package bm25s computes it (Robertson and Zaragoza 2009, "The
Probabilistic Relevance Framework: BM25 and Beyond"). It needs ``gem-tasks[search]``.
"""

import re
import threading
import unicodedata
from array import array
from collections.abc import Iterable
from pathlib import Path

import bm25s
import numpy as np
import Stemmer
from bm25s.tokenization import Tokenized
from numpy.typing import NDArray

from gem_core.errors import DataError

__all__ = ["WordIndex", "best", "words"]

K1, B = 0.9, 0.4
"""Saturation of repeated words, and penalty for long texts."""
_WORD = re.compile(r"\w+")
_STOP_WORDS = """\
a about an and are as at be been but by can did do does for from had has have he her him his
how i if in into is it its no not of on or s she such t than that the their them then there
these they this to was we were what when where which who whom whose why will with you"""
_STOP_SET = frozenset(_STOP_WORDS.split())


class _Local(threading.local):
    """A stemmer for each thread, because stemmers are not thread-safe."""

    def __init__(self) -> None:
        self.stem = Stemmer.Stemmer("english").stemWords


_local = _Local()


def words(text: str) -> list[str]:
    """Return the stems of the words of a text, without stop words, case and accents."""
    plain = text.lower()
    if not plain.isascii():
        decomposed = unicodedata.normalize("NFKD", plain)
        plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    stems: list[str] = _local.stem([word for word in _WORD.findall(plain) if word not in _STOP_SET])
    return stems


class WordIndex:
    """An index of texts by their words.

    Args:
        model: The index of bm25s.
    """

    def __init__(self, model: bm25s.BM25) -> None:
        self._model = model
        self._numbers: dict[str, int] = model.vocab_dict

    @classmethod
    def build(cls, texts: Iterable[str], origin: str = "the collection") -> "WordIndex":
        """Read all texts and build the index; ``origin`` names them in an error.

        Raises:
            DataError: No text has a word.
        """
        vocabulary: dict[str, int] = {}
        ids = [
            array("i", (vocabulary.setdefault(word, len(vocabulary)) for word in words(text)))
            for text in texts
        ]
        if not vocabulary:
            raise DataError(f"No text of {origin} has a word.")
        model = bm25s.BM25(k1=K1, b=B, method="lucene")
        model.index(Tokenized(ids=ids, vocab=vocabulary), show_progress=False)
        return cls(model)

    @classmethod
    def load(cls, folder: Path) -> "WordIndex":
        """Map a saved index into memory.

        Raises:
            DataError: The index cannot be read.
        """
        try:
            return cls(bm25s.BM25.load(folder, mmap=True))
        except (OSError, ValueError, KeyError) as error:
            raise DataError(f"The index in {folder} cannot be read: {error}.") from error

    def save(self, folder: Path) -> None:
        """Write the index into a folder, from which ``load`` maps it."""
        self._model.save(folder, show_progress=False)

    def __len__(self) -> int:
        return int(self._model.scores["num_docs"])

    def search(self, query: str, topk: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the numbers and the scores of the ``topk`` best texts, best first.

        Texts that share no word with the query are left out; ties are in the order of the texts.
        """
        known = [self._numbers[word] for word in words(query) if word in self._numbers]
        if not known:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        scores = self._model.get_scores_from_ids(known)
        found = np.flatnonzero(scores)  # few of many: to rank them all takes 15 times as long
        numbers = found[best(scores[found], topk)]
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
