"""``gem-core eval``: agents on environments, with figures that can be trusted."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import click
import hydra
import pydantic
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from rich.console import Console
from rich.text import Text

from gem_core.agent import Agent
from gem_core.cli.compose import (
    agent_makers,
    check_values,
    checked_overrides,
    env_factories,
    plain_config,
)
from gem_core.errors import ConfigError, GemError
from gem_core.factory import EnvFactory
from gem_eval.episodes import Episode
from gem_eval.metrics import metrics_of, rows_of
from gem_eval.progress import Progress, Tally
from gem_eval.resume import check_same, known_episodes
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
from gem_rollout import Budget, Component, FaultPolicy, Trajectory, TrajectoryFile, collect
from gem_rollout.runs import Run, write_json

__all__ = ["command"]

INTERRUPTED = 130
_FORMATS = ("table", "json", "csv", "md")


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.option("--format", "form", type=click.Choice(_FORMATS), help="The same as format=...")
@click.argument("overrides", nargs=-1, type=click.UNPROCESSED)
def command(form: str | None, overrides: tuple[str, ...]) -> None:
    """Evaluate agents on environments."""
    if form is not None:
        overrides = (*overrides, f"format={form}")
    sys.argv = ["gem-core eval", *checked_overrides(overrides, _OwnKeys.model_fields)]
    _app()


class _OwnKeys(pydantic.BaseModel):
    """What the command's own keys may be."""

    n: int = pydantic.Field(ge=1)
    k: int = pydantic.Field(ge=1)
    seed: int = pydantic.Field(ge=0)
    fork_groups: bool
    concurrency: int = pydantic.Field(ge=1)
    out: str
    resume: bool
    repeat_errors: bool
    max_episodes: int | None = pydantic.Field(ge=1)
    max_turns: int | None = pydantic.Field(ge=1)
    max_tokens: int | None = pydantic.Field(ge=1)
    max_cost: float | None = pydantic.Field(gt=0)
    max_seconds: float | None = pydantic.Field(gt=0)
    on_error: Literal["record", "retry", "raise"]
    retries: int = pydantic.Field(ge=0)
    turn_deadline: float | None = pydantic.Field(gt=0)
    episode_deadline: float | None = pydantic.Field(gt=0)
    confidence: float = pydantic.Field(gt=0, lt=1)
    format: Literal["table", "json", "csv", "md"]
    progress: Literal["auto", "live", "lines", "off"]
    envs: str | list[str] | None


@hydra.main(version_base="1.3", config_path="pkg://gem_eval.conf", config_name="eval")
def _app(config: DictConfig) -> None:
    try:
        finished = _evaluate(plain_config(config), Path(HydraConfig.get().runtime.output_dir))
    except (GemError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    if not finished:
        sys.exit(INTERRUPTED)


@dataclass
class _Cell:
    """One agent in one environment.

    Args:
        factory: Makes the environment.
        make_agent: Makes the agent.
        tally: Counts the episodes.
        done: Numbers of the episodes that there are already.
    """

    factory: EnvFactory
    make_agent: Callable[[], Agent]
    tally: Tally
    done: set[int] = field(default_factory=set)


@dataclass
class _Spent:
    """What episodes have used up of the limits."""

    limits: Mapping[str, float]
    started: float = field(default_factory=time.monotonic)
    used: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("episodes", "turns", "tokens", "cost"), 0.0)
    )

    def add(self, episode: Episode) -> None:
        self.used["episodes"] += 1
        self.used["turns"] += episode.turns
        self.used["tokens"] += (episode.prompt_tokens or 0) + (episode.completion_tokens or 0)
        self.used["cost"] += episode.cost or 0.0

    def left(self) -> dict[str, float]:
        """Return what is left of each limit that there is."""
        used = {**self.used, "seconds": time.monotonic() - self.started}
        return {name: limit - used[name] for name, limit in self.limits.items()}

    def reached(self) -> str:
        """Return the limit that is used up, empty if none is."""
        return next((name for name, left in self.left().items() if left <= 0), "")


def _evaluate(config: dict[str, Any], path: Path) -> bool:
    """Play what is missing, write the figures and print them; return whether all was played."""
    check_values(_OwnKeys, config)
    factories, agents = env_factories(config), agent_makers(config)
    run, episodes = _open(path, config, [factory.spec.id for factory in factories], list(agents))
    cells = [
        _Cell(factory, make_agent, Tally(factory.spec.id, name, config["n"] * config["k"]))
        for factory in factories
        for name, make_agent in agents.items()
    ]
    spent = _spent(config)
    for episode in _wanted(episodes, cells, config):
        spent.add(episode)
    console = console_for(stderr=True)
    status = ""
    with TrajectoryFile(run.trajectories_path) as file:
        try:
            for episode in _play(cells, file, config, spent, console):
                episodes.append(episode)
        except KeyboardInterrupt:
            status = "interrupted"
    missing = sum(cell.tally.total - cell.tally.done for cell in cells)
    status = status or (spent.reached() if missing else "")
    write_json(run.metrics_path, {**metrics_of(episodes, config["confidence"]), "missing": missing})
    _show(episodes, config)
    _say_what_is_next(console, run, episodes, missing, status)
    return status != "interrupted"


def _open(
    path: Path, config: dict[str, Any], envs: list[str], agents: list[str]
) -> tuple[Run, list[Episode]]:
    run = Run(path)
    known: list[Episode] = []
    old: dict[str, Any] = {}
    if run.trajectories_path.is_file() and run.trajectories_path.stat().st_size:
        if not config["resume"]:
            raise ConfigError(
                f"{path} holds a run: add resume=true to go on with it, or choose another out."
            )
        check_same(run, config)
        known, old = known_episodes(run, config), run.info()
    before = old.get("config", {}).get("agent") or {}
    merged = {**config, "agent": {**before, **config["agent"]}}
    more = {"created": old["created"]} if "created" in old else {}
    return run.create(
        path,
        command=sys.argv,
        config=merged,
        envs=dict.fromkeys([*old.get("envs", []), *envs]),
        agents=dict.fromkeys([*old.get("agents", []), *agents]),
        **more,
    ), known


def _spent(config: Mapping[str, Any]) -> _Spent:
    names = ("episodes", "turns", "tokens", "cost", "seconds")
    return _Spent({n: config[f"max_{n}"] for n in names if config[f"max_{n}"] is not None})


def _wanted(
    episodes: list[Episode], cells: list[_Cell], config: Mapping[str, Any]
) -> Iterator[Episode]:
    """Count the episodes that there are already, and yield those that this run asks for."""
    by_name = {(cell.tally.env_id, cell.tally.agent): cell for cell in cells}
    for episode in episodes:
        cell = by_name.get((episode.env_id, episode.agent))
        if cell is not None and episode.index < config["n"] * config["k"]:
            cell.done.add(episode.index)
            cell.tally.add(episode)
            yield episode


def _play(
    cells: list[_Cell],
    file: TrajectoryFile,
    config: Mapping[str, Any],
    spent: _Spent,
    console: Console,
) -> Iterator[Episode]:
    """Play what is missing: one agent after the other, each in all environments at once."""
    tallies = [cell.tally for cell in cells]
    with Progress(console, tallies, config["progress"], config["confidence"]) as progress:
        for agent in dict.fromkeys(tally.agent for tally in tallies):
            if spent.reached():
                return
            of_agent = {cell.tally.env_id: cell for cell in cells if cell.tally.agent == agent}
            for trajectory in _collect(of_agent, config, spent):
                file.append(trajectory)
                episode = Episode.of(trajectory)
                spent.add(episode)
                progress.add(of_agent[trajectory.component].tally, episode)
                yield episode


def _collect(
    cells: Mapping[str, _Cell], config: Mapping[str, Any], spent: _Spent
) -> Iterator[Trajectory]:
    left = spent.left()
    whole = {name: int(left[name]) for name in ("episodes", "turns", "tokens") if name in left}
    budget = Budget(cost=left.get("cost"), seconds=left.get("seconds"), **whole)
    one = next(iter(cells.values()))
    rollout = collect(
        {env_id: Component(cell.factory) for env_id, cell in cells.items()},
        one.make_agent,
        episodes=(
            (env_id, index)
            for env_id, cell in cells.items()
            for index in range(cell.tally.total)
            if index not in cell.done
        ),
        episodes_per_group=config["k"],
        fork_groups=config["fork_groups"],
        seed=config["seed"],
        concurrency=config["concurrency"],
        agent_name=one.tally.agent,
        policy=FaultPolicy(
            on_error=config["on_error"],
            retries=config["retries"],
            turn_deadline=config["turn_deadline"],
            episode_deadline=config["episode_deadline"],
        ),
        budget=budget,
    )
    try:
        yield from rollout
    finally:
        rollout.close()


def _show(episodes: list[Episode], config: Mapping[str, Any]) -> None:
    form, confidence = config["format"], config["confidence"]
    if form == "json":
        click.echo(json.dumps(metrics_of(episodes, confidence), indent=2))
        return
    rows = rows_of(episodes, confidence)
    if form == "csv":
        click.echo(csv_of(rows))
    elif form == "md":
        click.echo(markdown_of(table_of(rows)))
        if passes_of(rows)[1]:
            click.echo("\n" + markdown_of(passes_of(rows)))
    elif rows:
        console = console_for()
        for cells in (table_of(rows), passes_of(rows)):
            if cells[1]:
                print_table(console, without_only_agent(cells))
                console.print()
        for line in times_of(rows):
            console.print(Text(line, style="dim"))


def _say_what_is_next(
    console: Console, run: Run, episodes: list[Episode], missing: int, status: str
) -> None:
    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    failed = {(one.boundary, one.error): one.message for one in episodes if one.boundary}
    if failed:
        say("Some episodes ended in an error, which counts as no success:", "red")
    for (boundary, error), message in sorted(failed.items()):
        say(f"  {boundary} ({error}), for example: {message}", "red")
    if status == "interrupted":
        say(f"Interrupted: {missing} episodes are missing, what is done is kept.", "yellow")
    elif status:
        say(f"The limit of {status} is reached: {missing} episodes are missing.", "yellow")
    path = os.path.relpath(run.path)
    path = str(run.path) if path.startswith("..") else path
    say(f"Run: {path}")
    if missing:
        say(f"Go on: repeat the command with out={path} resume=true")
    else:
        say(f"Next: gem-core view {path}", "dim")
