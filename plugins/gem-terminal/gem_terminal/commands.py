"""``gem-core terminal``: what is in a folder of terminal tasks, and whether its tests are fair."""

import sys
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
from gem_terminal.placement import machine_for
from gem_terminal.task import UnsupportedTaskError

__all__ = ["command"]


@dataclass(frozen=True)
class _Row:
    id: str
    path: str
    format: str
    runs: bool
    """Whether a machine of gem-core can run the task."""
    machine: str
    reason: str
    forgeable: str = ""
    """How an agent could write its own reward; empty if it cannot."""
    unread: Sequence[str] = ()


@click.group()
def command() -> None:
    """Work with terminal tasks in folders of Harbor and Terminal-Bench 1."""


command.add_command(check)


@command.command(epilog="\b\nExamples:\n  gem-core terminal tasks ~/tasks --format json")
@click.argument("folder")
@format_option()
def tasks(folder: str, form: str) -> None:
    """List the tasks in FOLDER: what runs here, on which machine, and why not.

    A task is forgeable if its tests may run a program of the agent, which could then write the
    reward: the first such line is shown.

    Exit with status 1 if no task can be read.
    """
    rows = [_row(found) for found in read_folder(folder)]
    if form == "json":
        print_json([asdict(row) for row in rows])
    elif rows:
        terminal = Terminal()
        terminal.print(_table(rows))
        terminal.print(_summary(rows))
    else:
        click.echo(f"No task.toml or task.yaml was found in {folder}.", err=True)
    if not any(row.runs for row in rows):
        sys.exit(1)


def _row(found: TaskFolder) -> _Row:
    name, path = found.path.resolve().name, str(found.path)
    if found.task is None:
        kind = "unsupported" if isinstance(found.refusal, UnsupportedTaskError) else "malformed"
        return _Row(name, path, found.format, False, "", f"{kind}: {found.refusal}")
    try:
        machine, reason = machine_for(found.task)
    except ConfigError as error:
        return _Row(found.task.id, path, found.format, False, "", f"malformed: {error}")
    task = found.task
    forgeable = task.forgeable or task.forgeable_by_services
    if any(part.task.mode == "shared" for part in task.parts):
        forgeable = "the tests run on the agent's machine"
    return _Row(task.id, path, found.format, True, machine, reason, forgeable, task.unread)


def _table(rows: Sequence[_Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("id", "format", "runs", "machine", "why", "forgeable", "not used"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        runs = Text("yes", "green") if row.runs else Text("no", "yellow")
        unread = ", ".join(row.unread)
        table.add_row(row.id, row.format, runs, row.machine, row.reason, row.forgeable, unread)
    return table


def _summary(rows: Sequence[_Row]) -> str:
    def parts() -> Iterator[str]:
        for machine in ("local", "docker"):
            yield f"{sum(row.machine == machine for row in rows):,} on {machine}"
        yield f"{sum(not row.runs for row in rows):,} not"
        yield f"{sum(bool(row.forgeable) for row in rows):,} forgeable"

    return f"\n{len(rows):,} tasks: {', '.join(parts())}."
