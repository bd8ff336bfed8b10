"""``gem-core terminal``: what is in a folder of terminal tasks, and whether its tests are fair."""

import contextlib
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import click
from rich.table import Table
from rich.text import Text

from gem_core.console import Terminal
from gem_core.errors import ConfigError
from gem_core.options import format_option, print_json
from gem_terminal.check_command import check
from gem_terminal.folders import TaskFolder, read_folder
from gem_terminal.machine_option import machine_option
from gem_terminal.placement import outlook_of
from gem_terminal.task import UnsupportedTaskError
from gem_workers.machine import MachineProvider

__all__ = ["command"]

_MOST_ROWS = 50
_STATES = {
    "runs": "green",
    "may run": "yellow",
    "needs docker": "yellow",
    "unsupported": "red",
    "malformed": "red",
}


@dataclass(frozen=True)
class _Row:
    id: str
    path: str
    format: str
    state: str
    reasons: Sequence[str] = ()
    forgeable: str = ""
    """How an agent could write its own reward; empty if it cannot."""
    unread: Sequence[str] = ()

    @property
    def runs(self) -> bool:
        """Whether machines of gem-core can perhaps run the task."""
        return self.state not in {"unsupported", "malformed"}


@click.group()
def command() -> None:
    """Work with terminal tasks in folders of Harbor and Terminal-Bench 1."""


command.add_command(check)


@command.command(
    epilog="\b\nExamples:\n"
    "  gem-core terminal tasks ~/tasks\n"
    "  gem-core terminal tasks ~/tasks --all --format json\n"
    "  gem-core terminal tasks ~/tasks --machine '{id: local, installed: skip}'"
)
@click.argument("folder")
@machine_option
@click.option("--all", "shows_all", is_flag=True, help="List each task, however many there are.")
@format_option()
def tasks(folder: str, machine: MachineProvider, form: str, *, shows_all: bool) -> None:
    """List the tasks in FOLDER: whether they run here, and why not. Nothing is built or started.

    A task "runs", or it "may run": something stands in for its image, or it installs what may be
    missing. It "needs docker" if only a container engine can make its machine, and is "unsupported"
    or "malformed" if it cannot be read. gem-core terminal check tries them.

    A task is forgeable if its tests may run a program of the agent, which could then write the
    reward: the first such line is shown.

    Exit with status 1 if no task can be read.
    """
    with contextlib.closing(machine):
        rows = [_row(found, machine) for found in read_folder(folder)]
    if form == "json":
        print_json([asdict(row) for row in rows])
    elif rows:
        terminal = Terminal()
        is_short = len(rows) > _MOST_ROWS and not shows_all
        terminal.print(_reasons(rows) if is_short else _table(rows))
        if is_short:
            terminal.print("\n--all lists each task.", style="dim")
        terminal.print(_summary(rows))
    else:
        click.echo(f"No task.toml or task.yaml was found in {folder}.", err=True)
    if not any(row.runs for row in rows):
        sys.exit(1)


def _row(found: TaskFolder, provider: MachineProvider) -> _Row:
    name, path = found.path.resolve().name, str(found.path)
    task = found.task
    if task is None:
        kind = "unsupported" if isinstance(found.refusal, UnsupportedTaskError) else "malformed"
        return _Row(name, path, found.format, kind, [str(found.refusal)])
    try:
        outlook = outlook_of(task, provider)
    except ConfigError as error:
        return _Row(task.id, path, found.format, "malformed", [str(error)])
    forgeable = task.forgeable or task.forgeable_by_services
    if any(part.task.mode == "shared" for part in task.parts):
        forgeable = "the tests run on the agent's machine"
    state, reasons = outlook
    return _Row(task.id, path, found.format, state, reasons, forgeable, task.unread)


def _table(rows: Sequence[_Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("id", "format", "here", "why", "forgeable", "not used"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        state = Text(row.state, _STATES[row.state])
        unread = ", ".join(row.unread)
        table.add_row(row.id, row.format, state, "; ".join(row.reasons), row.forgeable, unread)
    return table


def _reasons(rows: Sequence[_Row]) -> Table:
    """Return how many tasks have each reason: with numbers, names and paths left out."""
    counts = Counter(
        (row.state, _kind_of(reason)) for row in rows for reason in row.reasons or ("",)
    )
    examples: dict[tuple[str, str], str] = {}
    for row in rows:
        for reason in row.reasons or ("",):
            examples.setdefault((row.state, _kind_of(reason)), reason)
    table = Table(box=None, pad_edge=False)
    for heading in ("tasks", "here", "why, with one of them"):
        table.add_column(
            heading, overflow="fold", justify="right" if heading == "tasks" else "left"
        )
    order = list(_STATES)
    for (state, kind), count in sorted(
        counts.items(), key=lambda one: (order.index(one[0][0]), -one[1])
    ):
        table.add_row(f"{count:,}", Text(state, _STATES[state]), examples[state, kind])
    return table


def _kind_of(reason: str) -> str:
    return re.sub(r"\d+|'[^']*'|\([^)]*\)|/\S+", "_", reason)


def _summary(rows: Sequence[_Row]) -> str:
    def parts() -> Iterator[str]:
        counts = Counter(row.state for row in rows)
        for state in _STATES:
            if counts[state]:
                yield f"{counts[state]:,} {state}"
        yield f"{sum(bool(row.forgeable) for row in rows):,} forgeable"

    return f"\n{len(rows):,} tasks: {', '.join(parts())}."
