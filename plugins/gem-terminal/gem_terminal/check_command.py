"""``gem-core terminal check``: are the tests of tasks fair, and do they always say the same?"""

import contextlib
import fnmatch
import itertools
import json
import random
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import NoReturn

import click
from rich.text import Text

from gem_core.console import Terminal
from gem_core.errors import ConfigError, near_names
from gem_core.options import format_option, print_json
from gem_core.plugins import default_registry
from gem_terminal.folders import TaskFolder, read_folder
from gem_terminal.machine_option import machine_option
from gem_terminal.specs import CHEATS, CheatSpec
from gem_terminal.task_check import TaskReport, check_folders, id_of, why_skipped
from gem_workers.machine import MachineProvider

__all__ = ["check"]

_LINES_SHOWN = 6
_INDENT = " " * 12
_STYLES = {
    "ok": "green",
    "no solution": "green",
    "failed": "red",
    "fault": "yellow",
    "skipped": "yellow",
}


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core terminal check ~/tasks\n"
    "  gem-core terminal check ~/tasks 'git-*' backup-script --jobs 2\n"
    "  gem-core terminal check ~/tasks --cheat 'python-*' --cheat 'git-*'\n"
    "  gem-core terminal check ~/tasks --machine '{id: local, installed: skip}' --no-cheats \\\n"
    "    --sample 100 --seed 0 --format jsonl > found.jsonl"
)
@click.argument("folder")
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@machine_option
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="Tasks that are checked at the same time, each on up to four machines.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Check the first tasks only.")
@click.option("--sample", type=click.IntRange(min=1), help="Check this many, drawn at random.")
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of --sample.")
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
@format_option("text", "json", "jsonl")
def check(
    folder: str,
    patterns: tuple[str, ...],
    machine: MachineProvider,
    jobs: int,
    limit: int | None,
    sample: int | None,
    seed: int,
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

    A task is "ok"; has "no solution", so that only an agent that does nothing was tried; has
    "failed" by its own fault; has a "fault" of the machine as this host makes it, such as a build
    that fails or an image that another one stands in for; or was "skipped". What was found of a
    task is printed as soon as it is known: as text, or with --format jsonl as a line of JSON.

    Exit with status 1 if a task has failed, or none is ok or without a solution. Ctrl-C or SIGTERM
    ends with what was found so far.
    """
    chosen = _chosen(folder, patterns, machine, limit, sample, seed)
    cheats = _cheats(cheat_patterns) if with_cheats else []
    click.echo(f"Checking {len(chosen):,} tasks, {jobs} at a time.", err=True)
    reports, is_complete = _check(chosen, machine, jobs, cheats, form)
    counts = _counts(reports)
    if form == "json":
        tasks = [asdict(report) for report in reports]
        plain = {**counts, "interrupted": not is_complete, "tasks": tasks}
        print_json(plain)
    elif form == "text":
        parts = ", ".join(f"{count:,} {state}" for state, count in counts.items())
        click.echo(f"\n{len(reports):,} tasks: {parts}.")
    if not is_complete:
        left = len(chosen) - len(reports)
        click.echo(f"Interrupted: {left:,} of {len(chosen):,} tasks were not checked.", err=True)
        raise click.Abort
    sys.exit(1 if counts["failed"] or not counts["ok"] + counts["no solution"] else 0)


def _chosen(
    folder: str,
    patterns: Sequence[str],
    machine: MachineProvider,
    limit: int | None,
    sample: int | None,
    seed: int,
) -> list[TaskFolder]:
    found = _matching(read_folder(folder), patterns)
    if not found:
        raise ConfigError(f"No task.toml or task.yaml was found in {folder}.")
    if sample is not None:
        found = random.Random(seed).sample(found, min(sample, len(found)))
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
    chosen: Sequence[TaskFolder],
    machine: MachineProvider,
    jobs: int,
    cheats: Sequence[CheatSpec],
    form: str,
) -> tuple[list[TaskReport], bool]:
    """Return the reports in the order of the tasks, and whether nothing ended it early."""
    reports: dict[str, TaskReport] = {}
    checking = check_folders(chosen, machine, jobs=jobs, cheats=cheats)
    is_complete = False
    with (
        contextlib.suppress(KeyboardInterrupt),
        _ended_by_signals(),
        contextlib.closing(checking),
    ):
        for report in checking:
            reports[report.path] = report
            if form == "jsonl":
                click.echo(json.dumps(asdict(report)))
            elif form == "text":
                _print(report)
        is_complete = True
    paths = [str(each.path) for each in chosen]
    return [reports[path] for path in paths if path in reports], is_complete


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end the check as Ctrl-C does."""

    def end(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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


def _counts(reports: Sequence[TaskReport]) -> dict[str, int]:
    return {state: sum(report.state == state for report in reports) for state in _STYLES}


def _print(report: TaskReport) -> None:
    console = Terminal(soft_wrap=True)
    seconds = Text(f"  {report.seconds:.1f} s" if report.attempts else "", "dim")
    reason = f"  {report.reason}" if report.reason else ""
    state = Text(f"{report.state:<12}", _STYLES[report.state])
    console.print(Text.assemble(state, report.id, seconds, reason))
    for note in report.notes:
        console.print(f"{_INDENT}{note}")
    for failure in report.failures:
        lines = filter(str.strip, failure.message.splitlines())
        console.print(f"{_INDENT}{failure.check}: " + f"\n{_INDENT}  ".join(lines))
        for line in failure.output.rstrip().split("\n")[-_LINES_SHOWN:]:
            console.print(Text(f"{_INDENT}  {line}".rstrip(), "dim"))
