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
    from gem_eval.view.home import Home
    from gem_eval.view.store import Store

__all__ = ["view"]

_FIRST_PORT = 8420
_RUNS = Path("runs")


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core view                              (all runs below runs/)\n"
    "  gem-core view runs/2026-01-31/12-00-00\n"
    "  gem-core view runs/before runs/after --open\n"
    "  gem-core view runs/before --html report.html --most 200\n"
    "  gem-core view runs/rebn-0 runs/rebn-1 runs/rebn-2",
)
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path))
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
    shown with its curves and its evaluations; several are drawn together. A single folder of runs
    is shown as a list; by default it is the folder runs.
    """
    from gem_eval.view.home import Home  # noqa: PLC0415 - duckdb, not for --help
    from gem_eval.view.store import Store  # noqa: PLC0415 - duckdb, not for --help

    console = Terminal(stderr=True)
    if folder := _folder_of_runs(runs):
        if html is not None:
            raise ConfigError(f"{folder} is a folder of runs: --html needs the runs to write.")
        home = Home(folder)
        home.refresh()
        with _ended_by_signals():
            _serve(home, f"{len(home.rows):,} runs", port, console, opens=opens)
        return
    with _ended_by_signals(), Store(runs) as store:
        _read(store, console)
        if html is not None:
            _write(store, html, most, console)
        else:
            _serve(store, f"{store.size:,} episodes", port, console, opens=opens)


def _folder_of_runs(paths: tuple[Path, ...]) -> Path | None:
    """Return the folder of runs that is to be shown; None if the paths are runs.

    Raises:
        ConfigError: No path was given, and there is no folder of runs here.
    """
    from gem_eval.view.home import find_runs  # noqa: PLC0415 - duckdb, not for --help
    from gem_eval.view.store import is_run  # noqa: PLC0415

    if not paths and not _RUNS.is_dir():
        raise ConfigError(f"There is no folder {_RUNS} here: name a run, or a folder of runs.")
    folder, *others = paths or (_RUNS,)
    if others or not folder.is_dir() or is_run(folder):
        return None
    has_runs = next(find_runs(folder), None) is not None
    if not paths and not has_runs:
        raise ConfigError(f"There are no runs in {folder} yet: gem-core eval writes one.")
    return folder if has_runs else None


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


def _serve(
    shown: "Store | Home", what: str, port: int | None, console: Console, *, opens: bool
) -> None:
    from gem_eval.view.server import bind  # noqa: PLC0415 - duckdb, not for --help

    server = bind(shown, port, _FIRST_PORT)
    with server:
        click.echo(server.url)
        console.print(f"{what}. Press Ctrl-C to stop.", style="dim", highlight=False)
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
