"""``gem-core replay``: play the stored actions of a run again, and grade them."""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from gem_core.errors import ConfigError
from gem_core.options import format_option, print_json
from gem_eval.episodes import EpisodeRecord
from gem_eval.metrics import metrics_of
from gem_eval.replay import Change, change_of, changed_config, env_makers, replay
from gem_eval.tables import Cells, console_for, markdown_of, print_table, share
from gem_rollout import Trajectory, TrajectoryFile
from gem_rollout.commands.progress import print_line
from gem_rollout.records.runs import Run, write_json

__all__ = ["command"]


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core replay runs/mine             (checks whether the environment has changed)\n"
    "  gem-core replay runs/mine env.use_format_error_reward=true\n"
    "  gem-core replay runs/mine --out runs/graded-again tool_use.tool_reward=0.1"
)
@click.argument("run", metavar="RUN")
@click.argument("overrides", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--out", type=click.Path(path_type=Path), help="Write a new run to this folder.")
@click.option("--concurrency", type=click.IntRange(1), default=4, help="Number of threads.")
@click.option(
    "--most",
    type=click.IntRange(0),
    default=20,
    help="The largest number of changed episodes to list.",
)
@format_option("table", "json", "md")
def command(
    run: str, overrides: tuple[str, ...], out: Path | None, concurrency: int, most: int, form: str
) -> None:
    """Play the actions of a run again, without a model, and show what changes.

    Environments are made as in the run, except for the overrides, and are reset with the seeds of
    the episodes.
    """
    source = Run.open(run)
    if out is not None and Run(out).trajectories_path.exists():
        raise ConfigError(f"{out} already holds a run: choose another --out.")
    config = changed_config(source.info().get("config") or {}, overrides)
    env_ids = {one.env_name: one.env_id for one in source.trajectories()}
    pairs = replay(source.trajectories(), env_makers(config, env_ids), concurrency)
    if out is None:
        changes = [change_of(old, new) for old, new in pairs]
    else:
        changes = _write(pairs, source, out, config, list(dict.fromkeys(env_ids.values())))
    _show(changes, most, form)


def _write(
    pairs: Iterable[tuple[Trajectory, Trajectory]],
    source: Run,
    out: Path,
    config: dict[str, Any],
    env_ids: Sequence[str],
) -> list[Change]:
    info = source.info()
    changes: list[Change] = []
    episodes: list[EpisodeRecord] = []
    run = Run.create(
        out,
        command=sys.argv,
        config=config,
        envs=env_ids,
        agents=info.get("agents", []),
        replay_of=str(source.path),
    )
    with TrajectoryFile(run.trajectories_path) as file:
        for old, new in pairs:
            file.append(new)
            changes.append(change_of(old, new))
            episodes.append(EpisodeRecord.of(new))
    write_json(run.metrics_path, metrics_of(episodes))
    return changes


def _show(changes: Sequence[Change], most: int, form: str) -> None:
    changed = [one for one in changes if one.kinds]
    if form == "json":
        plain = {
            "episodes": len(changes),
            "changed": [vars(one) for one in changed],
            "verdict": verdict(changes),
        }
        print_json(plain)
        return
    if form == "md":
        click.echo(markdown_of(_summary(changes)))
        click.echo(f"\n{verdict(changes)}")
        return
    console = console_for()
    print_table(console, _summary(changes))
    console.print()
    if changed and most:
        print_table(console, _listed(changed[:most]))
        if len(changed) > most:
            console.print(f"... and {len(changed) - most} more (--most)")
        console.print()
    print_line(console, verdict(changes))


def _summary(changes: Sequence[Change]) -> Cells:
    headings = ["agent", "environment", "episodes", "same", "reward", "success", "end"]
    headings += ["observation", "return", "success rate"]
    parts: dict[tuple[str, str], list[Change]] = {}
    for one in changes:
        parts.setdefault((one.agent, one.env_id), []).append(one)
    lines = []
    for (agent, env_id), own in sorted(parts.items()):
        counts = [sum(kind in one.kinds for one in own) for kind in headings[4:8]]
        before = sum(one.return_before for one in own) / len(own)
        after = sum(one.return_after for one in own) / len(own)
        rates = [
            _rate(own, lambda one: one.success_before),
            _rate(own, lambda one: one.success_after),
        ]
        lines.append(
            [agent, env_id, str(len(own)), str(sum(not one.kinds for one in own))]
            + [str(count) for count in counts]
            + [f"{before:.3f} -> {after:.3f}", " -> ".join(map(share, rates))]
        )
    return headings, lines


def _rate(changes: Iterable[Change], of: Callable[[Change], bool | None]) -> float | None:
    known = [value for one in changes if (value := of(one)) is not None]
    return sum(known) / len(known) if known else None


def _listed(changes: Iterable[Change]) -> Cells:
    headings = ["agent", "environment", "episode", "return", "success", "differs in"]
    return headings, [
        [
            one.agent,
            one.env_id,
            str(one.index),
            f"{one.return_before:g} -> {one.return_after:g}",
            f"{_said(one.success_before)} -> {_said(one.success_after)}",
            ", ".join(one.kinds) + (f" ({one.error})" if one.error else ""),
        ]
        for one in changes
    ]


def _said(success: bool | None) -> str:  # noqa: FBT001 - a value to be shown
    return "-" if success is None else "yes" if success else "no"


def verdict(changes: Sequence[Change]) -> str:
    """Return a sentence that summarises a replay."""
    if not changes:
        return "The run has no episodes."
    changed = [one for one in changes if one.kinds]
    if not changed:
        return f"Nothing changes: all {len(changes)} episodes have the same course and rewards."
    gained = sum(bool(one.success_after) and not one.success_before for one in changed)
    lost = sum(bool(one.success_before) and not one.success_after for one in changed)
    rewarded = sum("reward" in one.kinds for one in changed)
    shown = sum("observation" in one.kinds for one in changed)
    rates = [
        share(_rate(changes, lambda one: one.success_before)),
        share(_rate(changes, lambda one: one.success_after)),
    ]
    parts = [f"{rewarded} in their rewards", f"{gained} now succeed, {lost} now fail"]
    if shown:
        parts.append(f"{shown} in their observations, so their environments have changed")
    return (
        f"{len(changed)} of {len(changes)} episodes change: {'; '.join(parts)}. "
        f"Success {' -> '.join(rates)}."
    )
