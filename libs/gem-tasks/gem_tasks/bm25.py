"""BM25: ranks texts by the words that they share with a query; rare words count more.

The formula is Lucene's, as the package bm25s computes it (Robertson and Zaragoza 2009, "The
Probabilistic Relevance Framework: BM25 and Beyond"). It needs ``gem-tasks[search]``.
"""

import re
import threading
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

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


class _Vocabulary:
    """The numbers of words, in arrays that may be files mapped into memory.

    Args:
        text: All words in UTF-8, one after another in the order of their bytes.
        ends: Where each of them ends.
        numbers: The number of each.
    """

    def __init__(
        self, text: NDArray[np.uint8], ends: NDArray[np.int64], numbers: NDArray[np.int32]
    ) -> None:
        self._arrays: dict[str, NDArray[Any]] = {
            "words": text,
            "word_ends": ends,
            "word_numbers": numbers,
        }
        self._text, self._ends, self._numbers = text, ends, numbers

    @classmethod
    def of(cls, numbers: Mapping[str, int]) -> "_Vocabulary":
        pairs = sorted((_encoded(word), number) for word, number in numbers.items())
        return cls(
            np.frombuffer(b"".join(word for word, _ in pairs), np.uint8),
            np.cumsum([len(word) for word, _ in pairs], dtype=np.int64),
            np.array([number for _, number in pairs], np.int32),
        )

    @classmethod
    def load(cls, folder: Path) -> "_Vocabulary":
        names = ("words", "word_ends", "word_numbers")
        return cls(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in names))

    def save(self, folder: Path) -> None:
        for name, values in self._arrays.items():
            np.save(folder / f"{name}.npy", values)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, at: int) -> bytes:
        start = self._ends[at - 1] if at else 0
        return self._text[start : self._ends[at]].tobytes()

    def find(self, word: str) -> int | None:
        """Return the number of a word, or None."""
        key = _encoded(word)
        at = bisect_left(self, key)
        return int(self._numbers[at]) if at < len(self) and self[at] == key else None


def _encoded(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")


class WordIndex:
    """An index of texts by their words.

    Args:
        model: The index of bm25s, without its vocabulary.
        vocabulary: The vocabulary.
    """

    def __init__(self, model: bm25s.BM25, vocabulary: _Vocabulary) -> None:
        self._model, self._vocabulary = model, vocabulary

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
        model.vocab_dict, model.unique_token_ids_set = {}, set()
        return cls(model, _Vocabulary.of(vocabulary))

    @classmethod
    def load(cls, folder: Path) -> "WordIndex":
        """Map a saved index into memory, which all processes share.

        Raises:
            DataError: The index cannot be read.
        """
        try:
            model = bm25s.BM25.load(folder, mmap=True, load_vocab=False)
            return cls(model, _Vocabulary.load(folder))
        except (OSError, EOFError, ValueError, KeyError) as error:
            raise DataError(f"The index in {folder} cannot be read: {error}.") from error

    def save(self, folder: Path) -> None:
        """Write the index into a folder, from which ``load`` maps it."""
        self._model.save(folder, show_progress=False)
        self._vocabulary.save(folder)

    def __len__(self) -> int:
        return int(self._model.scores["num_docs"])

    def search(self, query: str, topk: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the numbers and the scores of the ``topk`` best texts, best first.

        Texts that share no word with the query are left out; ties are in the order of the texts.
        """
        numbers = map(self._vocabulary.find, words(query))
        known = [number for number in numbers if number is not None]
        if not known:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        scores = self._model.get_scores_from_ids(known)
        found = np.flatnonzero(scores)  # few of many: to rank them all takes 15 times as long
        ranked = found[best(scores[found], topk)]
        return ranked, scores[ranked]


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
