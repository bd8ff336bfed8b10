"""``gem-core serve-search``: a server for searches."""

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gem_core.console import Terminal
from gem_core.errors import ConfigError
from gem_core.extras import require

__all__ = ["command"]


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core serve-search\n"
    "  gem-core serve-search --corpus wiki.jsonl --index-path wiki-bm25\n"
    "  gem-core serve-search --corpus wiki.jsonl --index dense --faiss ivf --index-path wiki-e5"
)
@click.option(
    "--corpus",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON lines with contents, or title and text. Default: the small corpus of gem-tools.",
)
@click.option(
    "--index",
    type=click.Choice(["bm25", "dense"]),
    default="bm25",
    show_default=True,
    help="By words, or by vectors of a model.",
)
@click.option(
    "--model",
    default="intfloat/e5-base-v2",
    show_default=True,
    help="For dense: name or folder of a transformers encoder.",
)
@click.option(
    "--pooling", type=click.Choice(["mean", "cls"]), help="For dense. Default: that of the model."
)
@click.option(
    "--faiss",
    type=click.Choice(["flat", "ivf", "hnsw"]),
    default="flat",
    show_default=True,
    help="For dense: compare with all vectors, with some clusters, or along a graph.",
)
@click.option(
    "--index-path",
    type=click.Path(path_type=Path),
    help="Folder of the index: built once, mapped into memory from then on. Default: the cache "
    "folder, for --index bm25 and a corpus of 4 MB or more.",
)
@click.option(
    "--topk",
    type=click.IntRange(1, 1000),
    default=3,
    show_default=True,
    help="Number of documents, unless a query says another.",
)
@click.option(
    "--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads that search."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="0 for any free port.",
)
def command(
    *,
    corpus: Path | None,
    index_path: Path | None,
    topk: int,
    threads: int,
    host: str,
    port: int,
    **options: Any,
) -> None:
    """Answer searches over HTTP, at /retrieve, until SIGTERM or Ctrl-C."""
    require("gem-tools[serve]", "gem-core serve-search")
    from gem_tools.search.index import IndexOptions, open_retriever  # noqa: PLC0415 - numpy
    from gem_tools.search.server import make_app, serve  # noqa: PLC0415 - aiohttp

    console = Terminal(stderr=True)
    wanted = IndexOptions(kind=options.pop("index"), **options)
    with _progress(console) as progress:

        def track(items: Iterable[Any], what: str, total: int) -> Iterable[Any]:
            return progress.track(items, total=total, description=what)

        retriever = open_retriever(corpus, wanted, index_path=index_path, track=track)
    app = make_app(retriever, topk=topk, threads=threads)

    def ready(url: str) -> None:
        click.echo(f"Searching {len(retriever):,} passages at {url}/retrieve")

    try:
        asyncio.run(serve(app, host=host, port=port, ready=ready))
    except OSError as error:
        number = error.errno or 0  # of a name that cannot be resolved it is negative
        reason = os.strerror(number) if number > 0 else error.strerror or error
        raise ConfigError(f"Cannot listen at {host}:{port}: {reason}.") from error


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    return Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
