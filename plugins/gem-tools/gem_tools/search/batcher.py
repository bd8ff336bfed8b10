"""Batches the queries of concurrent requests.

No query waits for others to arrive: while one batch is being searched, the next one gathers.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

__all__ = ["Batcher"]

Search = Callable[[Sequence[str], int], Sequence[Sequence[Any]]]


class _Pending(NamedTuple):
    query: str
    topk: int
    result: asyncio.Future[Sequence[Any]]


class Batcher:
    """Runs searches in threads, each for all queries that have gathered.

    Args:
        search: Takes queries and the maximum number of hits for each, and returns the hits.
        largest: Maximum number of queries in a batch.
        threads: Maximum number of simultaneous searches.
        observe: Called with the size of each batch.
    """

    def __init__(
        self,
        search: Search,
        *,
        largest: int = 64,
        threads: int = 1,
        observe: Callable[[int], object] = int,
    ) -> None:
        self.largest = largest
        self.threads = threads
        self._search_all = search
        self._observe = observe
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="search")
        self._pending: deque[_Pending] = deque()
        self._searching: set[asyncio.Task[None]] = set()
        self._busy = 0

    async def search(self, queries: Sequence[str], topk: int) -> list[Sequence[Any]]:
        """Return the hits of each query; raise what the search raises."""
        loop = asyncio.get_running_loop()
        asked = [_Pending(query, topk, loop.create_future()) for query in queries]
        self._pending.extend(asked)
        if self._pending and self._busy < self.threads:
            self._busy += 1
            task = loop.create_task(self._work())
            self._searching.add(task)
            task.add_done_callback(self._searching.discard)
        return await asyncio.gather(*(one.result for one in asked))

    async def _work(self) -> None:
        try:
            while self._pending:
                count = min(self.largest, len(self._pending))
                batch = [self._pending.popleft() for _ in range(count)]
                self._observe(count)
                await self._answer(batch)
        finally:
            # Not in a callback of the task, which runs later: a query that came in between would
            # wait for a task that has ended.
            self._busy -= 1

    async def _answer(self, batch: Sequence[_Pending]) -> None:
        loop, topk = asyncio.get_running_loop(), max(one.topk for one in batch)
        queries = [one.query for one in batch]
        try:
            found = await loop.run_in_executor(self._executor, self._search_all, queries, topk)
        except Exception as error:  # noqa: BLE001 - the callers get it
            for one in batch:
                if not one.result.done():
                    one.result.set_exception(error)
            return
        for one, hits in zip(batch, found, strict=True):
            if not one.result.done():  # the caller may have been cancelled
                one.result.set_result(hits[: one.topk])

    def close(self) -> None:
        """End the threads after their current work."""
        self._executor.shutdown()
