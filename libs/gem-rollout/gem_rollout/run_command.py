"""``gem-core run``: collect episodes, configured by Hydra, and print a table."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import hydra
import pydantic
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

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
from gem_core.seeding import child_seed
from gem_rollout import Trajectory, TrajectoryFile, collect, read_trajectories
from gem_rollout.runs import Run

__all__ = ["command"]

INTERRUPTED = 130


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("overrides", nargs=-1, type=click.UNPROCESSED)
def command(overrides: tuple[str, ...]) -> None:
    """Collect episodes and print a table."""
    sys.argv = ["gem-core run", *checked_overrides(overrides, _OwnKeys.model_fields)]
    _app()


class _OwnKeys(pydantic.BaseModel):
    """What the command's own keys may be."""

    episodes: int = pydantic.Field(ge=1)
    seed: int = pydantic.Field(ge=0)
    concurrency: int = pydantic.Field(ge=1)
    out: str | None
    resume: bool
    envs: str | list[str] | None


@hydra.main(version_base="1.3", config_path="pkg://gem_rollout.conf", config_name="run")
def _app(config: DictConfig) -> None:
    console = Console()
    try:
        finished = _run(config, console)
    except (GemError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    if not finished:
        sys.exit(INTERRUPTED)


@dataclass
class _Tally:
    """Figures of one environment and agent."""

    env_id: str
    agent: str
    returns: list[float] = field(default_factory=list)
    successes: list[bool] = field(default_factory=list)
    turns: int = 0
    errors: int = 0
    seconds: float = 0.0
    played: int = 0
    indices: set[int] = field(default_factory=set)

    def add(self, trajectory: Trajectory) -> None:
        self.indices.add(trajectory.index)
        self.returns.append(trajectory.episode_return)
        self.turns += len(trajectory.turns)
        self.errors += trajectory.error is not None
        if trajectory.success is not None:
            self.successes.append(trajectory.success)


def _run(config: DictConfig, console: Console) -> bool:
    """Play every environment with every agent; return whether all was played."""
    plain = plain_config(config)
    check_values(_OwnKeys, plain)
    factories = env_factories(plain)
    agents = agent_makers(plain)
    path = _trajectories_path(plain, [factory.spec.id for factory in factories], list(agents))
    known = _known_episodes(path, plain)
    tallies: list[_Tally] = []
    interrupted = False
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    total = len(factories) * len(agents) * plain["episodes"]
    with TrajectoryFile(path) as file, Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        try:
            for factory in factories:
                for name, make_agent in agents.items():
                    new = _Tally(factory.spec.id, name)
                    tally = known.pop((new.env_id, name), new)
                    tallies.append(tally)
                    bar.update(task, description=f"{tally.env_id} {name}")
                    bar.advance(task, len(tally.indices))
                    for trajectory in _play(factory, make_agent, tally, plain):
                        file.append(trajectory)
                        bar.advance(task)
        except KeyboardInterrupt:
            interrupted = True
    console.print(_table(tallies))
    console.print(f"\nTrajectories: {path}", highlight=False, soft_wrap=True)
    _say_what_is_next(console, path, tallies, interrupted=interrupted)
    return not interrupted


def _trajectories_path(config: dict[str, Any], envs: list[str], agents: list[str]) -> Path:
    """Return the file that is asked for, or that of a new run's folder, which says what was run."""
    if config["out"]:
        return Path(config["out"])
    folder = HydraConfig.get().runtime.output_dir
    run = Run.create(folder, command=sys.argv, config=config, envs=envs, agents=agents)
    return run.trajectories_path


def _play(
    factory: EnvFactory,
    make_agent: Callable[[], Agent],
    tally: _Tally,
    config: Mapping[str, Any],
) -> Iterator[Trajectory]:
    started = time.perf_counter()
    missing = [index for index in range(config["episodes"]) if index not in tally.indices]
    for trajectory in collect(
        factory,
        make_agent,
        episodes=missing,
        seed=config["seed"],
        concurrency=config["concurrency"],
        agent_name=tally.agent,
    ):
        tally.add(trajectory)
        tally.played += 1
        tally.seconds = time.perf_counter() - started
        yield trajectory


def _known_episodes(path: Path, config: Mapping[str, Any]) -> dict[tuple[str, str], _Tally]:
    """Return the figures that ``resume=true`` goes on from, by environment and agent."""
    if not path.exists() or path.stat().st_size == 0:
        return {}
    if not config["resume"]:
        raise ConfigError(
            f"{path} exists: add resume=true to go on with it, or choose another out."
        )
    known: dict[tuple[str, str], _Tally] = {}
    for trajectory in read_trajectories(path):
        if trajectory.seed != child_seed(config["seed"], trajectory.index):
            raise ConfigError(f"{path} was made with another seed than {config['seed']}.")
        key = trajectory.env_id, trajectory.agent
        tally = known.setdefault(key, _Tally(*key))
        if trajectory.index < config["episodes"] and trajectory.index not in tally.indices:
            tally.add(trajectory)
    return known


def _table(tallies: list[_Tally]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("environment", overflow="fold")
    table.add_column("agent", overflow="fold")
    for heading in ("episodes", "return", "success", "turns", "ep/s", "errors"):
        table.add_column(heading, justify="right")
    for tally in tallies:
        count = len(tally.returns)
        if not count:
            table.add_row(tally.env_id, tally.agent, "0")
            continue
        success = f"{sum(tally.successes) / count:.0%}" if tally.successes else "-"
        speed = f"{tally.played / tally.seconds:,.0f}" if tally.seconds else "-"
        table.add_row(
            tally.env_id,
            tally.agent,
            str(count),
            f"{sum(tally.returns) / count:.3f}",
            success,
            f"{tally.turns / count:.1f}",
            speed,
            f"[red]{tally.errors}[/]" if tally.errors else "0",
        )
    return table


def _say_what_is_next(
    console: Console, path: Path, tallies: list[_Tally], *, interrupted: bool
) -> None:
    if interrupted:
        console.print("Interrupted; what is done is kept.", style="yellow")
        console.print(f"Go on: repeat the command with out={path} resume=true", soft_wrap=True)
        return
    if any(tally.errors for tally in tallies):
        console.print("Some episodes ended in an error: see 'error' in the file.", style="yellow")
    env_id = tallies[0].env_id
    if not env_id.startswith("mixture:"):
        console.print(f"Next: gem-core play {env_id}", style="dim", highlight=False)
