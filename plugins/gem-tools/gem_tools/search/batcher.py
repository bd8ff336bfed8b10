"""Batches the queries of concurrent requests.

No query waits for others to arrive: while one batch is being searched, the next one gathers.
"""

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from gem_core.errors import ClosedError
from gem_core.lifetimes import Lifetime
from gem_tools.search.backend import SearchError

__all__ = ["Batcher"]

Search = Callable[[Sequence[str], int], Sequence[Sequence[Any]]]
Work = tuple[Sequence[str], int, "Future[Sequence[Sequence[Any]]]"]


class _Pending(NamedTuple):
    query: str
    topk: int
    result: asyncio.Future[Sequence[Any]]


class Batcher:
    """Runs searches in threads, each for all queries that have gathered.

    It is used in one event loop. The threads are daemons, so that a search that hangs does not keep
    the program from ending.

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
        self._observe = observe
        self._pending: deque[_Pending] = deque()
        self._searching: set[asyncio.Task[None]] = set()
        self._unsettled: set[asyncio.Future[Sequence[Any]]] = set()
        self._busy = 0
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        for number in range(threads):
            name, args = f"search-{number}", (search, self._work)
            threading.Thread(target=_search_all, args=args, name=name, daemon=True).start()
        self._lifetime = Lifetime(self, _end, self._work, threads, what="batcher")

    async def search(self, queries: Sequence[str], topk: int) -> list[Sequence[Any]]:
        """Return the hits of each query; raise what the search raises.

        If the search of a batch fails, each of its queries is searched for alone.

        Raises:
            SearchError: The search returned results for more or fewer queries than it was given.
            ClosedError: The batcher was closed, before or during the search.
            ForkError: This is a fork of the process that made the batcher.
        """
        self._lifetime.check()
        loop = asyncio.get_running_loop()
        asked = [_Pending(query, topk, loop.create_future()) for query in queries]
        for one in asked:
            self._unsettled.add(one.result)
            one.result.add_done_callback(self._unsettled.discard)
        self._pending.extend(asked)
        if self._pending and self._busy < self.threads:
            self._busy += 1
            task = loop.create_task(self._run())
            self._searching.add(task)
            task.add_done_callback(self._searching.discard)
        return await asyncio.gather(*(one.result for one in asked))

    async def _run(self) -> None:
        try:
            while self._pending:
                count = min(self.largest, len(self._pending))
                batch = [self._pending.popleft() for _ in range(count)]
                await self._answer(batch)
        finally:
            # Not in a callback of the task, which runs later: a query that came in between would
            # wait for a task that has ended.
            self._busy -= 1

    async def _answer(self, batch: Sequence[_Pending]) -> None:
        """Settle the result of each query, whatever happens."""
        try:
            found = await self._found(batch)
            for one, hits in zip(batch, found, strict=True):
                _settle(one.result, hits[: one.topk])
        except Exception as error:  # noqa: BLE001 - the callers get it
            if len(batch) == 1:
                _settle(batch[0].result, _raisable(error))
                return
            for one in batch:
                await self._answer([one])
        except BaseException:
            for one in batch:
                one.result.cancel()
            raise

    async def _found(self, batch: Sequence[_Pending]) -> Sequence[Sequence[Any]]:
        self._observe(len(batch))
        queries, topk = [one.query for one in batch], max(one.topk for one in batch)
        result: Future[Sequence[Sequence[Any]]] = Future()
        self._work.put((queries, topk, result))
        found = await asyncio.wrap_future(result)
        if len(found) != len(batch):
            raise SearchError(
                f"The search returned results for {len(found)} queries; it was given {len(batch)}."
            )
        return found

    def close(self) -> None:
        """Refuse further queries; those that wait raise ``ClosedError``.

        It does not wait for searches that are running: their threads end after them.
        """
        self._lifetime.end()
        self._pending.clear()
        for result in list(self._unsettled):
            _settle(result, ClosedError("This batcher is closed."))


def _settle(result: "asyncio.Future[Any]", outcome: Any) -> None:
    if result.done():  # the caller was cancelled, or the batcher closed
        return
    if isinstance(outcome, BaseException):
        result.set_exception(outcome)
    else:
        result.set_result(outcome)


def _search_all(search: Search, work: "queue.SimpleQueue[Work | None]") -> None:
    """Search in a thread until there is None to do."""
    while (one := work.get()) is not None:
        queries, topk, result = one
        if result.set_running_or_notify_cancel():
            try:
                result.set_result(search(queries, topk))
            except BaseException as error:  # noqa: BLE001 - the callers get it
                result.set_exception(_raisable(error))


def _raisable(error: BaseException) -> Exception:
    """Return an error that a future of asyncio takes and that does not end an event loop."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    raised = SearchError(f"The search raised {type(error).__name__}: {error}")
    raised.__cause__ = error
    return raised


def _end(work: "queue.SimpleQueue[Work | None]", threads: int) -> None:
    for _ in range(threads):
        work.put(None)
