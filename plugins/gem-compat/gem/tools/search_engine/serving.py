"""Options and the main function that the servers of this folder share."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import click

from gem.requirements import needs

with needs("gem-tools"):
    from gem_tools.search import server
    from gem_tools.search.backend import SearchBackend
    from gem_tools.search.index import Retriever

__all__ = ["BackendRetriever", "at_address", "run"]


class BackendRetriever:
    """Adapts a backend to the server, which expects an index; its size is unknown.

    Args:
        backend: The backend.
        seconds: Timeout of a search.
    """

    def __init__(self, backend: SearchBackend, seconds: float = 10.0) -> None:
        self._backend = backend
        self._seconds = seconds

    def __len__(self) -> int:
        return 0

    def search(self, queries: Sequence[str], topk: int) -> list[list[tuple[dict[str, Any], Any]]]:
        """Return for each query at most ``topk`` documents with their scores."""
        found = [self._backend.search(q, topk=topk, seconds=self._seconds) for q in queries]
        return [[({"contents": one.contents}, one.score) for one in each] for each in found]


def at_address(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of all servers to a command."""
    options = (
        click.option("--topk", type=click.IntRange(1), default=3, show_default=True),
        click.option("--num_workers", type=click.IntRange(1), default=1, show_default=True),
        click.option("--max_batch_size", type=int, hidden=True),  # batches do not wait
        click.option("--max_wait_time", type=int, hidden=True),
        click.option("--host", default="127.0.0.1", show_default=True),
        click.option("--port", type=int, default=8000, show_default=True),
    )
    for option in reversed(options):
        command = option(command)
    return command


def run(
    retriever: Any, *, topk: int, num_workers: int, host: str, port: int, **_ignored: Any
) -> None:
    """Answer searches at ``/retrieve`` until the process is ended."""
    app = server.make_app(cast("Retriever", retriever), topk=topk, threads=num_workers)
    asyncio.run(server.serve(app, host=host, port=port, ready=_say))


def _say(url: str) -> None:
    click.echo(f"Searching at {url}/retrieve")
