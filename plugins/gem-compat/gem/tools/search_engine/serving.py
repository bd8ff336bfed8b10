"""What the servers of this folder share: the options of the address, and the answering."""

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
    """Searches with a backend where the server expects an index; nobody knows how large it is.

    Args:
        backend: The backend.
        seconds: How long one search may take.
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
    """Give a command the options that all servers have."""
    options = (
        click.option("--topk", type=click.IntRange(1), default=3, show_default=True),
        click.option("--num_workers", type=click.IntRange(1), default=1, show_default=True),
        click.option("--max_batch_size", type=int, hidden=True),  # nobody waits for a batch here
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
    """Answer searches at ``/retrieve`` until the process is told to end."""
    app = server.make_app(cast("Retriever", retriever), topk=topk, threads=num_workers)
    asyncio.run(server.serve(app, host=host, port=port, ready=_say))


def _say(url: str) -> None:
    click.echo(f"Searching at {url}/retrieve")
