"""What ``gem-core eval`` prints when it ends: figures, problems and the next step."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click
from rich.console import Console

from gem_eval.episodes import EpisodeRecord, with_task_ids
from gem_eval.eval_keys import ENDINGS, EvalKeys
from gem_eval.metrics import rows_of
from gem_eval.tables import (
    console_for,
    csv_of,
    markdown_of,
    passes_of,
    print_table,
    table_of,
    times_of,
    without_only_agent,
)
from gem_eval.until import Outcome
from gem_rollout.commands import Job
from gem_rollout.commands.progress import print_line
from gem_rollout.records.failures import Failures, repeat_advice
from gem_rollout.records.format_errors import FormatErrors
from gem_rollout.records.runs import Run

__all__ = ["failures_in", "print_figures", "summarise"]

_PRINTED = ("confidence", "rows", "decision")


def print_figures(
    episodes: list[EpisodeRecord],
    job: Job[EvalKeys],
    metrics: Mapping[str, Any],
    outcome: Outcome | None,
) -> None:
    """Print the figures in the form that was asked for, on standard output."""
    rows = rows_of(episodes, job.keys.confidence)
    if job.form == "json":
        job.print_json({name: metrics[name] for name in _PRINTED if name in metrics})
    elif job.form == "csv":
        click.echo(csv_of(rows))
    elif job.form == "md":
        texts = [markdown_of(cells) for cells in (table_of(rows), passes_of(rows)) if cells[1]]
        said = [outcome.line(), *outcome.notes()] if outcome else []
        click.echo("\n\n".join([*texts, *([f"- {line}" for line in said])]))
    elif rows:
        console = console_for()
        for cells in (table_of(rows), passes_of(rows)):
            if cells[1]:
                print_table(console, without_only_agent(cells))
                console.print()
        if outcome:
            print_line(console, outcome.line(), "bold")
            for line in outcome.notes():
                print_line(console, line, "dim")
        for line in times_of(rows):
            print_line(console, line, "dim")


def _repeated(episodes: list[EpisodeRecord]) -> Iterator[str]:
    """Yield a line for each environment in which several groups asked the same question."""
    for env_id in dict.fromkeys(one.env_id for one in episodes):
        own = [one for one in episodes if one.env_id == env_id]
        groups, tasks = {one.group for one in own}, {one.task for one in with_task_ids(own)}
        if len(tasks) < len(groups):
            yield (
                f"{env_id}: {len(groups)} groups of episodes ask {len(tasks)} different questions. "
                f"Groups that ask the same one count as samples of one task."
            )


def summarise(
    console: Console,
    run: Run,
    episodes: list[EpisodeRecord],
    missing: int,
    status: str,
    left_out: Iterable[str],
) -> None:
    """Print problems, the run's folder and the next step."""
    failures, format_errors = failures_in(episodes), FormatErrors()
    for one in episodes:
        format_errors.add(one.env_id, one.agent, one.bad_ending)
    for line in failures.lines(run.shown_trajectories):
        print_line(console, line, "red")
    for line in format_errors.lines():
        print_line(console, line, "yellow")
    for line in _repeated(episodes):
        print_line(console, line, "dim")
    if status:
        text = f"{ENDINGS.get(status, status).rstrip('.')}. {missing} episodes are missing."
        print_line(console, text, "yellow" if status in ENDINGS else "red")
    for reason in left_out:
        print_line(console, f"Left out: {reason}", "yellow")
    path = run.shown_path
    print_line(console, f"Run: {path}")
    if status and status not in ENDINGS:
        print_line(console, repeat_advice(path), "red")
    elif missing:
        print_line(console, f"To continue, repeat the command with out={path} resume=true")
    else:
        print_line(console, f"Next: gem-core view {path}", "dim")


def failures_in(episodes: Iterable[EpisodeRecord]) -> Failures:
    """Return the errors that ended episodes."""
    failures = Failures()
    for one in episodes:
        failures.add_episode(one.env_id, one.agent, one.failure)
    return failures
