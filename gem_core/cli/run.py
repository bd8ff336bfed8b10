"""``gem-core run``: collect episodes, configured by Hydra, and print a table."""

import re
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
from omegaconf import DictConfig, OmegaConf
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from gem_core.agent import Agent
from gem_core.config import factory_from_config
from gem_core.errors import ConfigError, GemError, near_names
from gem_core.factory import EnvFactory
from gem_core.plugins import default_registry
from gem_core.rollout import Trajectory, TrajectoryFile, collect, read_trajectories
from gem_core.seeding import child_seed
from gem_core.specs import AgentSpec, EnvSpec, Spec, ToolSpec, WrapperSpec, check_kwargs

__all__ = ["command"]

INTERRUPTED = 130
_OWN_KEYS = ("envs", "mixture", "tool_use", "episodes", "seed", "concurrency", "out", "resume")
_KEYS = ("env", "agent", "tools", "wrappers", *_OWN_KEYS, "hydra")
_KINDS: dict[str, type[Spec]] = {
    "env": EnvSpec,
    "agent": AgentSpec,
    "tools": ToolSpec,
    "wrappers": WrapperSpec,
}


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("overrides", nargs=-1, type=click.UNPROCESSED)
def command(overrides: tuple[str, ...]) -> None:
    """Collect episodes and print a table."""
    _check_names(overrides)
    sys.argv = ["gem-core run", *overrides]
    _app()


def _check_names(overrides: tuple[str, ...]) -> None:
    """Raise for an id, key or parameter that does not exist; Hydra would not know near names."""
    if any(override.startswith("--config") for override in overrides):
        return
    env_id = ""
    for override in overrides:
        key, equals, value = override.lstrip("+~").partition("=")
        top, _, parameter = key.partition(".")
        if equals and override[0] != "-" and re.split("[@/]", top)[0] not in _KEYS:
            raise ConfigError(f"There is no key {top!r}.{near_names(top, _KEYS)}")
        if key == "env":
            env_id = value
        elif top == "env" and re.fullmatch(r"[\w./-]+", env_id):
            spec = default_registry().find(EnvSpec, env_id)
            name = parameter.partition(".")[0]
            check_kwargs(spec.load(), [name], f"environment {spec.id!r}")
        match = re.fullmatch(
            r"\+?(env|agent|tools|wrappers)(?:@[^=]*)?=([\w./,:\[\] -]+)", override
        )
        for name in re.split(r"[\[\], ]+", match[2]) if match else []:
            if name and name != "null" and match is not None:
                default_registry().find(_KINDS[match[1]], name)


class _OwnKeys(pydantic.BaseModel):
    """What the command's own keys may be."""

    episodes: int = pydantic.Field(ge=1)
    seed: int = pydantic.Field(ge=0)
    concurrency: int = pydantic.Field(ge=1)
    out: str | None
    resume: bool
    envs: str | list[str] | None


def _check_values(config: Mapping[str, Any]) -> None:
    try:
        _OwnKeys.model_validate(config)
    except pydantic.ValidationError as error:
        lines = [
            f"{problem['loc'][0]}: {problem['msg']}; got {problem['input']!r}"
            for problem in error.errors()
        ]
        raise ConfigError("\n  ".join(["The configuration cannot be used:", *lines])) from error


@hydra.main(version_base="1.3", config_path="pkg://gem_core.conf", config_name="run")
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

    def add(self, trajectory: Trajectory) -> None:
        self.returns.append(trajectory.episode_return)
        self.turns += len(trajectory.turns)
        self.errors += trajectory.error is not None
        if trajectory.success is not None:
            self.successes.append(trajectory.success)


def _run(config: DictConfig, console: Console) -> bool:
    """Play every environment with every agent; return whether all was played."""
    plain: Any = OmegaConf.to_container(config, resolve=True)
    _check_values(plain)
    factories = _factories(plain)
    agents = {name: _agent_maker(name, part) for name, part in (plain.get("agent") or {}).items()}
    if not agents:
        raise ConfigError("agent: give at least one, for example agent=random")
    path = Path(plain["out"] or Path(HydraConfig.get().runtime.output_dir) / "trajectories.jsonl")
    known = _known_trajectories(path, plain)
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
                    tally = _Tally(factory.spec.id, name)
                    tallies.append(tally)
                    bar.update(task, description=f"{tally.env_id} {name}")
                    old = known.pop((tally.env_id, name), {})
                    for trajectory in _play(factory, make_agent, tally, old, plain):
                        file.append(trajectory)
                        bar.advance(task)
                    bar.advance(task, len(old))
        except KeyboardInterrupt:
            interrupted = True
    console.print(_table(tallies))
    console.print(f"\nTrajectories: {path}", highlight=False, soft_wrap=True)
    _say_what_is_next(console, path, tallies, interrupted=interrupted)
    return not interrupted


def _play(
    factory: EnvFactory,
    make_agent: Callable[[], Agent],
    tally: _Tally,
    old: Mapping[int, Trajectory],
    config: Mapping[str, Any],
) -> Iterator[Trajectory]:
    for trajectory in old.values():
        tally.add(trajectory)
    started = time.perf_counter()
    for trajectory in collect(
        factory,
        make_agent,
        episodes=[index for index in range(config["episodes"]) if index not in old],
        seed=config["seed"],
        concurrency=config["concurrency"],
        agent_name=tally.agent,
    ):
        tally.add(trajectory)
        tally.played += 1
        tally.seconds = time.perf_counter() - started
        yield trajectory


def _factories(config: Mapping[str, Any]) -> list[EnvFactory]:
    patterns = config["envs"] or []
    patterns = [patterns] if isinstance(patterns, str) else patterns
    if not patterns:
        return [factory_from_config(config)]
    if config.get("env") or config.get("mixture"):
        raise ConfigError("envs: give either envs, env or mixture")
    specs: dict[str, EnvSpec] = {}
    for pattern in patterns:
        found = default_registry().list(EnvSpec, pattern)
        found = found or [default_registry().find(EnvSpec, pattern)]
        specs.update((spec.id, spec) for spec in found)
    return [factory_from_config({**config, "env": env_id}) for env_id in sorted(specs)]


def _agent_maker(name: str, part: Any) -> Callable[[], Agent]:
    kwargs = {"id": part} if isinstance(part, str) else dict(part or {"id": name})
    spec = default_registry().find(AgentSpec, kwargs.pop("id"))
    return lambda: spec.make(**kwargs)


def _known_trajectories(
    path: Path, config: Mapping[str, Any]
) -> dict[tuple[str, str], dict[int, Trajectory]]:
    """Return what ``resume=true`` goes on from, by environment and agent, then by number."""
    if not path.exists() or path.stat().st_size == 0:
        return {}
    if not config["resume"]:
        raise ConfigError(
            f"{path} exists: add resume=true to go on with it, or choose another out."
        )
    known: dict[tuple[str, str], dict[int, Trajectory]] = {}
    for trajectory in read_trajectories(path):
        if trajectory.seed != child_seed(config["seed"], trajectory.index):
            raise ConfigError(f"{path} was made with another seed than {config['seed']}.")
        if trajectory.index < config["episodes"]:
            group = known.setdefault((trajectory.env_id, trajectory.agent), {})
            group[trajectory.index] = trajectory
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
