"""``gem-core plugins``: who is installed, and what is wrong with whom."""

import sys
import traceback

import click
from rich.console import Console
from rich.table import Table

from gem_core.plugins import load_plugins

__all__ = ["command"]

_STYLES = {
    "loaded": "green",
    "slow": "yellow",
    "clash": "yellow",
    "broken": "red",
    "not selected": "dim",
}


@click.command(epilog="\b\nExamples:\n  gem-core plugins\n  gem-core plugins --traceback")
@click.option("--traceback", "with_traceback", is_flag=True, help="Show where errors came from.")
def command(*, with_traceback: bool) -> None:
    """Show plugins, and what is wrong with them; exit status 1 if one is broken."""
    console = Console()
    statuses = load_plugins().statuses
    if not statuses:
        console.print("No plugin is installed. Try: pip install gem-games")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("plugin", "from", "state", "ms"):
        table.add_column(heading, justify="right" if heading == "ms" else "left")
    for status in statuses:
        style = _STYLES[status.state]
        milliseconds = f"{status.seconds * 1000:.0f}"
        state = f"[{style}]{status.state}[/]"
        table.add_row(status.name, status.distribution, state, milliseconds)
    console.print(table)
    for status in statuses:
        for problem in status.problems:
            console.print(f"\n{status.name}: {problem}", markup=False, highlight=False)
        if with_traceback and status.error is not None:
            trace = "".join(traceback.format_exception(status.error))
            console.print(trace, markup=False, highlight=False)
    if any(status.state == "broken" for status in statuses):
        sys.exit(1)
