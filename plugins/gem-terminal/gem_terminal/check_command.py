"""``gem-core terminal check``: are the tests of tasks fair, and do they always say the same?"""

import contextlib
import fnmatch
import itertools
import sys
from collections.abc import Sequence
from dataclasses import asdict

import click
from rich.console import Console, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gem_core.console import Terminal
from gem_core.errors import ConfigError, near_names
from gem_core.options import format_option, print_json
from gem_core.plugins import default_registry
from gem_rollout.commands.progress import ProgressView, print_line
from gem_terminal.folders import TaskFolder, read_folder
from gem_terminal.specs import CHEATS, CheatSpec
from gem_terminal.task_check import TaskReport, check_folders, id_of, why_skipped

__all__ = ["check"]

_LINES_SHOWN = 6
_STYLES = {"ok": "green", "failed": "red", "skipped": "yellow"}


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core terminal check ~/tasks\n"
    "  gem-core terminal check ~/tasks 'git-*' backup-script --jobs 2\n"
    "  gem-core terminal check ~/tasks --cheat 'python-*' --cheat 'git-*'\n"
    "  gem-core terminal check ~/tasks/backup-script --format json"
)
@click.argument("folder")
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@click.option(
    "--machine", default="local", show_default=True, help="The id of a provider of machines."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="Tasks that are checked at the same time, each on up to four machines.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Check this many tasks only.")
@click.option(
    "--cheats/--no-cheats",
    "with_cheats",
    default=True,
    show_default=True,
    help="Whether to play cheats: half a minute for each task on two cores.",
)
@click.option(
    "--cheat",
    "cheat_patterns",
    multiple=True,
    metavar="PATTERN",
    help="Play the cheats whose id matches; can be repeated. 'gem-core list --kind cheats'.",
)
@format_option("text", "json")
def check(
    folder: str,
    patterns: tuple[str, ...],
    machine: str,
    jobs: int,
    limit: int | None,
    cheat_patterns: tuple[str, ...],
    form: str,
    *,
    with_cheats: bool,
) -> None:
    """Check the tests of the tasks in FOLDER, or of those that match a PATTERN, with episodes.

    The task's solution is run twice and must be paid 1 each time; an agent that does nothing twice,
    and must be paid 0; then four solutions at the same time, each on a machine of its own. Then an
    agent plays each cheat that applies to the task, and must be paid 0 too; a task whose episodes
    are marked as forgeable may pay cheats, and they are listed. Tasks that do not run here are
    skipped. A PATTERN is an id or the name of a task's folder, with * and ? as in shells.

    Exit with status 1 if a task fails or none can be checked. Ctrl-C prints what was found so far.
    """
    chosen = _chosen(folder, patterns, machine, limit)
    cheats = _cheats(cheat_patterns) if with_cheats else []
    reports, is_complete = _check(chosen, machine, jobs, cheats)
    if form == "json":
        tasks = [asdict(report) for report in reports]
        plain = {**_counts(reports), "interrupted": not is_complete, "tasks": tasks}
        print_json(plain)
    else:
        _print(reports)
    if not is_complete:
        left = len(chosen) - len(reports)
        click.echo(f"Interrupted: {left:,} of {len(chosen):,} tasks were not checked.", err=True)
        raise click.Abort
    counts = _counts(reports)
    sys.exit(1 if counts["failed"] or not counts["ok"] else 0)


def _chosen(
    folder: str, patterns: Sequence[str], machine: str, limit: int | None
) -> list[TaskFolder]:
    found = _matching(read_folder(folder), patterns)
    if not found:
        raise ConfigError(f"No task.toml or task.yaml was found in {folder}.")
    numbers = itertools.accumulate(not why_skipped(each, machine) for each in found)
    pairs = zip(found, numbers, strict=True)
    return [each for each, number in pairs if limit is None or number <= limit]


def _cheats(patterns: Sequence[str]) -> list[CheatSpec]:
    """Return the cheats that match a pattern; all if there are no patterns."""
    every = default_registry().list(CHEATS)
    names = [each.id for each in every]
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise ConfigError(f"No cheat matches {pattern!r}.{near_names(pattern, names)}")
    return [
        each
        for each in every
        if not patterns or any(fnmatch.fnmatchcase(each.id, pattern) for pattern in patterns)
    ]


def _check(
    chosen: Sequence[TaskFolder], machine: str, jobs: int, cheats: Sequence[CheatSpec]
) -> tuple[list[TaskReport], bool]:
    """Return the reports in the order of the tasks, and whether there was no Ctrl-C."""
    reports: dict[str, TaskReport] = {}
    checking = check_folders(chosen, machine, jobs=jobs, cheats=cheats)
    is_complete = False
    with (
        contextlib.suppress(KeyboardInterrupt),
        _CheckProgress(Terminal(stderr=True), len(chosen)) as progress,
        contextlib.closing(checking),
    ):
        for report in checking:
            reports[report.path] = report
            progress.add(report)
        is_complete = True
    paths = [str(each.path) for each in chosen]
    return [reports[path] for path in paths if path in reports], is_complete


def _matching(found: Sequence[TaskFolder], patterns: Sequence[str]) -> list[TaskFolder]:
    """Return the tasks that match a pattern; all if there are no patterns."""
    names = [{id_of(each), each.path.resolve().name} for each in found]
    for pattern in patterns:
        if names and not any(fnmatch.filter(each, pattern) for each in names):
            near = near_names(pattern, set().union(*names))
            raise ConfigError(f"No task matches {pattern!r}.{near}")
    return [
        each
        for each, own in zip(found, names, strict=True)
        if not patterns or any(fnmatch.filter(own, pattern) for pattern in patterns)
    ]


class _CheckProgress(ProgressView):
    """Shows how many tasks have been checked."""

    def __init__(self, console: Console, total: int) -> None:
        super().__init__(console, transient=True)
        self._total = total
        self._done = self._failed = 0

    def add(self, report: TaskReport) -> None:
        """Count a task."""
        self._done += 1
        self._failed += report.state == "failed"
        if self._line_is_due(important=self._done == self._total):
            print_line(self._console, str(self))

    def __str__(self) -> str:
        failed = f", {self._failed:,} failed" if self._failed else ""
        return f"{self._done:,}/{self._total:,} tasks checked{failed}"

    def _render(self) -> RenderableType:
        row = Table.grid(padding=(0, 2, 0, 0))
        row.add_row(ProgressBar(total=self._total, completed=self._done, width=24), str(self))
        return row


def _counts(reports: Sequence[TaskReport]) -> dict[str, int]:
    return {state: sum(report.state == state for report in reports) for state in _STYLES}


def _print(reports: Sequence[TaskReport]) -> None:
    console = Terminal(soft_wrap=True)
    for report in reports:
        seconds = Text(f"  {report.seconds:.1f} s" if report.attempts else "", "dim")
        reason = f"  {report.reason}" if report.state == "skipped" else ""
        state = Text(f"{report.state:<8}", _STYLES[report.state])
        console.print(Text.assemble(state, report.id, seconds, reason))
        for note in report.notes:
            console.print(f"        {note}")
        for failure in report.failures:
            console.print(f"        {failure.check}: {failure.message}")
            for line in failure.output.rstrip().split("\n")[-_LINES_SHOWN:]:
                console.print(Text(f"          {line}".rstrip(), "dim"))
    counts = ", ".join(f"{count:,} {state}" for state, count in _counts(reports).items())
    console.print(f"\n{len(reports):,} tasks: {counts}.")
