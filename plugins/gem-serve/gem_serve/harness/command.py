"""``gem-core harness``: episodes that an agent program plays, recorded by a gateway."""

import contextlib
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field
from rich.console import RenderableType
from rich.text import Text

from gem_core.console import Terminal
from gem_core.errors import ConfigError
from gem_core.factory import EnvFactory
from gem_rollout.commands import (
    INTERRUPTED,
    RUN_FOLDER,
    CommandKeys,
    HydraCommand,
    Job,
    env_factories,
)
from gem_rollout.commands.progress import Mode, ProgressView, print_line
from gem_rollout.records.runs import Run
from gem_rollout.records.store import TrajectoryFile
from gem_rollout.records.trajectory import Trajectory
from gem_serve.gateway.client import GatewayClient
from gem_serve.gateway.serving import GatewayThread
from gem_serve.harness.player import Player
from gem_serve.harness.program import folders_of
from gem_serve.harness.recipe import find_recipe
from gem_serve.harness.runner import play_episodes

__all__ = ["command"]


class HarnessKeys(CommandKeys):
    """The keys of ``gem-core harness``."""

    harness: dict[str, Any] = Field(default={})
    """The program that plays; harness.NAME=VALUE sets a parameter of its recipe."""
    engine: str | None = None
    """The URL of the engine: a gateway is started in front of it."""
    engine_kind: str = "vllm"
    """The engine's API: vllm, sglang, ..."""
    model: str | None = None
    """The engine's model; by default the first one that it lists."""
    gateway: str | None = None
    """The admin API of a gateway that runs already; its token is GEM_GATEWAY_TOKEN."""
    options: dict[str, Any] = Field(default={})
    """Options of the gateway's episodes: options.mode=continue, calls, tokens, sampling, ..."""
    episodes: int = Field(default=1, ge=1)
    """Episodes in all."""
    samples: int = Field(default=1, ge=1)
    """Episodes that begin in the same state."""
    seed: int = Field(default=0, ge=0)
    """Runs with the same seed have the same start states."""
    concurrency: int = Field(default=2, ge=1)
    """The largest number of episodes at the same time."""
    timeout: float | None = Field(default=None, gt=0)
    """Seconds for the program; by default those that the task allows."""
    programs: list[str] = Field(default=[])
    """Folders of this host in which programs are installed; machines of 'local' see them."""
    out: str = RUN_FOLDER
    """The run's folder."""
    progress: Mode = "auto"
    """Progress on standard error: auto (live at a terminal, else lines), live, lines or off."""


def _play(job: Job[HarnessKeys]) -> int:
    """Let a program play episodes of an environment with a machine, through a gateway.

    The first word is the program, the second one the environment. Each episode has a machine, a
    home directory and a URL of its own; the gateway is the machine's only network. The
    trajectories have the tokens of each call, and the environment's reward. 'gem-core view' reads
    the results.

    Exit with status 1 if every episode ended with an error. Ctrl-C ends all programs and prints
    what was found so far.
    """
    keys, run = job.keys, Run(job.folder)
    if (keys.engine is None) == (keys.gateway is None):
        raise ConfigError("Give engine=URL, or gateway=URL of one that runs already.")
    if "id" not in keys.harness:
        raise ConfigError("Name the program: gem-core harness codex terminal:Sample engine=URL")
    name = keys.harness["id"]
    run.check_can_write(resume=False)
    programs = [str(Path(one).expanduser().resolve()) for one in keys.programs]
    recipe = find_recipe(keys.harness)
    factory = _with_folders(_only(env_factories(job.config)), programs)
    with _gateway(keys) as gateway:
        gateway.health()
        envs = [factory.spec.id]
        run = Run.create(
            job.folder, command=job.command, config=job.config, envs=envs, agents=[name]
        )
        player = Player(
            recipe=recipe,
            gateway=gateway,
            name=name,
            programs=programs,
            timeout=keys.timeout,
            options=keys.options,
        )
        episodes = play_episodes(
            player,
            factory,
            episodes=keys.episodes,
            samples=keys.samples,
            seed=keys.seed,
            jobs=keys.concurrency,
        )
        summary = _record(run, episodes, keys)
    if job.form == "json":
        job.print_json({"run": str(run.path), **summary.figures()})
    else:
        _report(run, summary)
    if not summary.is_complete:
        print_line(Terminal(stderr=True), "Interrupted.", "yellow")
        return INTERRUPTED
    return 0 if summary.worked else 1


command = HydraCommand(
    "harness",
    _play,
    HarnessKeys,
    agents=None,
    groups={"harness": None},
    subject="harness",
    examples=[
        "gem-core harness codex terminal:Sample engine=http://127.0.0.1:8000 episodes=20",
        "gem-core harness claude terminal:Harbor env.data=tasks engine=URL concurrency=4",
        "gem-core harness mini terminal:Sample gateway=http://127.0.0.1:8081",
        "gem-core harness my_package.mine:mine terminal:Sample engine=URL options.calls=50",
    ],
)


class _Summary(ProgressView):
    """What has come out so far."""

    def __init__(self, console: Terminal, mode: str, episodes: int) -> None:
        super().__init__(console, mode)
        self.total, self.rewards, self.calls = episodes, list[float](), 0
        self.statuses, self.errors = Counter[str](), Counter[str]()
        self.first_error = ""
        self.is_complete = False
        """Whether there was no Ctrl-C."""

    @property
    def worked(self) -> int:
        """Episodes without an error."""
        return len(self.rewards)

    def add(self, trajectory: Trajectory) -> None:
        """Count an episode."""
        self.calls += len(trajectory.turns)
        error = trajectory.error
        if error is not None:
            self.errors[error["type"]] += 1
            self.first_error = self.first_error or f"{error['type']}: {error['message']}"
        else:
            self.rewards.append(trajectory.episode_return)
            self.statuses[trajectory.turns[-1].info["program"]["status"]] += 1
        if self._line_is_due(important=False):
            print_line(self._console, self.text())

    def text(self) -> str:
        """Return one line."""
        found = self.figures()
        mean = f"{found['mean_reward']:.3f}" if self.rewards else "-"
        parts = [f"{found['episodes']}/{self.total} episodes", f"mean reward {mean}"]
        parts.append(f"{self.calls} turns")
        counts = {**self.statuses, **self.errors}
        return ", ".join([*parts, *(f"{count} {name}" for name, count in counts.items())])

    def figures(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {
            "episodes": self.worked + sum(self.errors.values()),
            "mean_reward": sum(self.rewards) / len(self.rewards) if self.rewards else None,
            "turns": self.calls,
            "statuses": dict(self.statuses),
            "errors": dict(self.errors),
        }

    def _render(self) -> RenderableType:
        return Text(self.text())


def _only(factories: list[EnvFactory]) -> EnvFactory:
    """Return the environment of the run."""
    if len(factories) > 1:
        ids = ", ".join(factory.spec.id for factory in factories)
        raise ConfigError(f"A program plays one environment at a time; got {ids}.")
    return factories[0]


def _with_folders(factory: EnvFactory, programs: list[str]) -> EnvFactory:
    """Return a factory of environments whose machines see folders of the host."""
    folders = folders_of(programs)
    if not folders:
        return factory
    if factory.spec.kwargs.get("machine", "local") != "local":
        raise ConfigError("programs= is for machines of 'local'; leave out env.machine=...")
    machine = {"id": "local", "folders": {path: path for path in folders}}
    return replace(factory, spec=factory.spec.with_kwargs(machine=machine))


@contextlib.contextmanager
def _gateway(keys: HarnessKeys) -> Iterator[GatewayClient]:
    if keys.gateway is not None:
        yield GatewayClient(keys.gateway)
        return
    engine = {"kind": keys.engine_kind, "model": keys.model}
    with GatewayThread(keys.engine or "", engine=engine) as gateway:
        yield gateway.admin


def _record(run: Run, episodes: Generator[Trajectory, None, None], keys: HarnessKeys) -> _Summary:
    summary = _Summary(Terminal(stderr=True), keys.progress, keys.episodes)
    with (
        contextlib.suppress(KeyboardInterrupt),
        summary,
        contextlib.closing(episodes),
        TrajectoryFile(run.trajectories_path) as file,
    ):
        for trajectory in episodes:
            file.append(trajectory)
            summary.add(trajectory)
        summary.is_complete = True
    return summary


def _report(run: Run, summary: _Summary) -> None:
    terminal = Terminal(soft_wrap=True)
    print_line(terminal, f"{summary.text()}.")
    if summary.first_error:
        print_line(terminal, f"The first error is {summary.first_error}", "red")
    print_line(terminal, f"Episodes: gem-core view {run.shown_path}")
