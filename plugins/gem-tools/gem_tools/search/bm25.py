"""BM25: ranks passages by the words that they share with a query; rare words count more."""

from collections.abc import Sequence
from pathlib import Path

from gem_tasks.bm25 import WordIndex
from gem_tools.search.base import Ranks, Track
from gem_tools.search.passages import Passages

__all__ = ["Bm25Index"]


class Bm25Index:
    """An index of passages by their words.

    Args:
        index: The index of their contents.
    """

    def __init__(self, index: WordIndex) -> None:
        self._index = index

    @classmethod
    def build(cls, passages: Passages, track: Track) -> "Bm25Index":
        """Read all passages and build the index.

        Raises:
            DataError: A passage cannot be read, or no passage has a word.
        """
        contents = track(passages.contents(), "reading", len(passages))
        return cls(WordIndex.build(contents, f"the corpus {passages.origin}"))

    @classmethod
    def load(cls, folder: Path) -> "Bm25Index":
        """Map a saved index into memory.

        Raises:
            DataError: The index cannot be read.
        """
        return cls(WordIndex.load(folder))

    def save(self, folder: Path) -> None:
        self._index.save(folder)

    def __len__(self) -> int:
        return len(self._index)

    def search(self, queries: Sequence[str], topk: int) -> list[Ranks]:
        return [self._index.search(query, topk) for query in queries]
