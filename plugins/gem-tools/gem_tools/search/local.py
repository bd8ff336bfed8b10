"""Searches a corpus in this process, with BM25."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gem_core.extras import require
from gem_core.lifetimes import Lock
from gem_tools.search.backend import Document

if TYPE_CHECKING:
    from gem_tools.search.index import Retriever

__all__ = ["Bm25Backend"]

_LARGE = 50_000
"""Number of passages from which a search is slow enough to run in a thread."""


class Bm25Backend:
    """Searches a corpus by words; the first search reads the corpus or a saved index.

    Args:
        corpus: JSON lines with ``contents``, or ``title`` and ``text``; None for the corpus that
            comes with this package.
        index_path: Folder of a saved index, which is written if it is missing; None keeps that of
            a large corpus in the cache folder. All processes share the memory of a saved index.
    """

    waits = False

    def __init__(
        self, *, corpus: str | Path | None = None, index_path: str | Path | None = None
    ) -> None:
        require("gem-tools[search]", "The search backend 'bm25'")
        self.corpus = corpus
        self.index_path = index_path
        self._opened: Retriever | None = None
        self._lock = Lock()

    def search(self, query: str, *, topk: int, seconds: float) -> Sequence[Document]:
        hits = self._retriever().search([query], topk)[0]
        return [Document(passage["contents"], score) for passage, score in hits]

    async def asearch(self, query: str, *, topk: int, seconds: float) -> Sequence[Document]:
        if self._opened is not None and len(self._opened) < _LARGE:
            return self.search(query, topk=topk, seconds=seconds)
        return await asyncio.to_thread(self.search, query, topk=topk, seconds=seconds)

    def _retriever(self) -> "Retriever":
        from gem_tools.search.index import IndexOptions, open_retriever  # noqa: PLC0415 - numpy

        with self._lock:
            if self._opened is None:
                self._opened = open_retriever(
                    self.corpus, IndexOptions(kind="bm25"), index_path=self.index_path
                )
            return self._opened
