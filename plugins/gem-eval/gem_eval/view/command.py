"""``gem-core view``: show runs in the browser."""

import contextlib
import signal
import threading
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from gem_core.console import Terminal
from gem_core.errors import ConfigError

if TYPE_CHECKING:
    from gem_eval.view.store import Store

__all__ = ["view"]

_FIRST_PORT = 8420


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core view runs/2026-01-31/12-00-00\n"
    "  gem-core view runs/before runs/after --open\n"
    "  gem-core view runs/before --html report.html --most 200\n"
    "  gem-core view runs/rebn-0 runs/rebn-1 runs/rebn-2",
)
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"The port; 0 for any free one. Default: the first free one from {_FIRST_PORT}.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the page to one file that needs no server.",
)
@click.option(
    "--most",
    type=click.IntRange(1),
    default=500,
    show_default=True,
    help="With --html: the largest number of episodes, of evenly spread tasks.",
)
def view(
    *, runs: tuple[Path, ...], port: int | None, opens: bool, html: Path | None, most: int
) -> None:
    """Show runs in the browser.

    RUNS are run folders or files of trajectories. They may still be growing. A training run is
    shown with its curves and its evaluations; several are drawn together.
    """
    from gem_eval.view.store import Store  # noqa: PLC0415 - duckdb, not for --help

    console = Terminal(stderr=True)
    with _ended_by_signals(), Store(runs) as store:
        _read(store, console)
        if html is not None:
            _write(store, html, most, console)
        else:
            _serve(store, port, console, opens=opens)


def _read(store: "Store", console: Console) -> None:
    columns = (TextColumn("Reading"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("")
        store.refresh(lambda done, total: bar.update(task, completed=done, total=total))


def _write(store: "Store", path: Path, most: int, console: Console) -> None:
    from gem_eval.view.page import one_file  # noqa: PLC0415 - duckdb, not for --help

    if path.exists() and not path.is_file():  # the new file would take the place of a device
        raise ConfigError(f"{path} is not a file: choose another --html.")
    fresh = path.with_name(f".{path.name}.part")
    try:
        with fresh.open("wb") as file:
            count = one_file(store, most, file.write)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    size = path.stat().st_size / 1e6
    console.print(f"{path}: {count:,} of {store.size:,} episodes, {size:.1f} MB", highlight=False)


def _serve(store: "Store", port: int | None, console: Console, *, opens: bool) -> None:
    from gem_eval.view.server import bind  # noqa: PLC0415 - duckdb, not for --help

    server = bind(store, port, _FIRST_PORT)
    with server:
        click.echo(server.url)
        console.print(
            f"{store.size:,} episodes. Press Ctrl-C to stop.", style="dim", highlight=False
        )
        if opens:
            threading.Thread(target=webbrowser.open, args=[server.url], daemon=True).start()
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    console.print("Stopped.", style="dim")


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does, so that temporary folders are removed."""

    def end(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
