"""``gem-core plugins``: the installed plugins and their problems."""

import sys
import traceback

import click
from rich.table import Table
from rich.text import Text

from gem_core.console import Terminal
from gem_core.options import format_option, print_json
from gem_core.plugins import PluginStatus, load_plugins

__all__ = ["command"]

_STYLES = {
    "loaded": "green",
    "slow": "yellow",
    "clash": "yellow",
    "broken": "red",
    "not selected": "dim",
}


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core plugins\n"
    "  gem-core plugins --traceback\n"
    "  gem-core plugins --format json"
)
@click.option("--traceback", "with_traceback", is_flag=True, help="Print tracebacks of errors.")
@format_option()
def command(form: str, *, with_traceback: bool) -> None:
    """Show the installed plugins and their problems.

    The exit status is 1 if a plugin is broken.
    """
    statuses = load_plugins().statuses
    if form == "json":
        fields = ("name", "value", "distribution", "state", "problems", "seconds")
        rows = [{name: getattr(status, name) for name in fields} for status in statuses]
        print_json(rows)
    elif statuses:
        _print(statuses, with_traceback=with_traceback)
    else:
        click.echo("No plugin is installed. Try: pip install gem-games")
    if any(status.state == "broken" for status in statuses):
        sys.exit(1)


def _print(statuses: list[PluginStatus], *, with_traceback: bool) -> None:
    console = Terminal()
    table = Table(box=None, pad_edge=False)
    for heading in ("plugin", "from", "state", "ms"):
        table.add_column(heading, justify="right" if heading == "ms" else "left")
    for status in statuses:
        milliseconds = f"{status.seconds * 1000:.0f}"
        state = Text(status.state, _STYLES[status.state])
        table.add_row(status.name, status.distribution, state, milliseconds)
    console.print(table)
    for status in statuses:
        for problem in status.problems:
            console.print(f"\n{status.name}: {problem}")
        if with_traceback and status.error is not None:
            trace = "".join(traceback.format_exception(status.error))
            console.print(trace)
