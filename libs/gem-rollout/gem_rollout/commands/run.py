"""``gem-core run``: play episodes and print a table of results."""

import functools
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gem_core.agent import Agent
from gem_core.console import Terminal
from gem_core.errors import ConfigError, ModelUnavailableError
from gem_core.notices import results_alone
from gem_core.seeding import child_seed
from gem_rollout import Component, FaultPolicy, Trajectory, TrajectoryFile, collect
from gem_rollout.commands.agents import agent_makers
from gem_rollout.commands.command import (
    FAIL_ON_ERROR,
    INTERRUPTED,
    RUN_FOLDER,
    CommandKeys,
    HydraCommand,
    Job,
)
from gem_rollout.commands.environments import env_parameters, envs_by_name
from gem_rollout.commands.preflight import check_agents
from gem_rollout.commands.progress import Mode, ProgressBar, print_line
from gem_rollout.episodes.executor import executor_of
from gem_rollout.models.threads import command_threads
from gem_rollout.records.failures import Failures, repeat_advice
from gem_rollout.records.format_errors import FormatErrors, bad_ending_of
from gem_rollout.records.provenance import Observed
from gem_rollout.records.runs import Run

__all__ = ["command"]


_INTERRUPTED = "Interrupted. The finished episodes are kept."


class RunKeys(CommandKeys):
    """The keys of ``gem-core run``."""

    episodes: int = Field(default=20, ge=1)
    """Episodes of each environment and agent."""
    seed: int = Field(default=0, ge=0)
    """Episode number i of every run with this seed starts in the same state."""
    concurrency: int = Field(default=16, ge=1)
    """The largest number of episodes at the same time, if the environment or the agent waits."""
    preflight: bool = True
    """Ask each agent's model for one token, and check that first prompts fit, before the run."""
    abort_after: int | None = Field(default=20, ge=1)
    """End the run after this many episodes in a row whose model could not be asked; or null."""
    threads: int | None = Field(default=None, ge=1)
    """Threads of models in this process; null for 1 if they are small, else the usable cores."""
    out: str = RUN_FOLDER
    """The run's folder: run.json and trajectories.jsonl."""
    resume: bool = False
    """Continue the run in out: play only the episodes that are missing."""
    repeat_errors: bool = False
    """With resume: play episodes that ended with an error again."""
    fail_on_error: float = Field(default=FAIL_ON_ERROR, ge=0, le=1)
    """Exit with status 1 if a larger share of the episodes ended with an error; 1 for any share."""
    progress: Mode = "auto"
    """Progress on standard error: auto (live at a terminal, else lines), live, lines or off."""


@dataclass
class _Tally:
    """Figures of one environment, by its name, and one agent."""

    env: str
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

    def figures(self) -> dict[str, Any]:
        """Return the figures by name; means and shares are None without episodes."""
        count = len(self.returns)
        return {
            "environment": self.env,
            "agent": self.agent,
            "episodes": count,
            "return": sum(self.returns) / count if count else None,
            "success": sum(self.successes) / count if self.successes else None,
            "turns": self.turns / count if count else None,
            "episodes_per_second": self.played / self.seconds if self.seconds else None,
            "errors": self.errors,
        }


@dataclass
class _Problems:
    """The problems in the episodes of a run."""

    failures: Failures = field(default_factory=Failures)
    format_errors: FormatErrors = field(default_factory=FormatErrors)

    def add(self, trajectory: Trajectory) -> None:
        self.failures.add(trajectory)
        ending = bad_ending_of(trajectory)
        self.format_errors.add(trajectory.env_name, trajectory.agent, ending)


def _run(job: Job[RunKeys]) -> int:
    """Play episodes and print a table of results."""
    left_out: dict[str, str] = {}
    with results_alone():
        factories = envs_by_name(job.config, left_out=left_out)
        agents = agent_makers(job.config)
    run, problems, ended = Run(job.folder), _Problems(), ""
    envs = list(dict.fromkeys(factory.spec.id for factory in factories.values()))
    run.check_can_write(resume=job.keys.resume, envs=envs)
    asked = [(env, agent) for env in factories for agent in agents]
    known = _known_episodes(run, job.keys, asked, problems)
    tallies = [known.get(one) or _Tally(*one) for one in asked]
    console = Terminal(stderr=True, highlight=False)
    warn = functools.cache(functools.partial(print_line, console, style="yellow"))
    with (
        results_alone(),
        command_threads(job.keys.threads),
        executor_of(job.config) as workers,
    ):
        components = {env: Component(workers.factory(one)) for env, one in factories.items()}
        if job.keys.preflight:
            first = _first_missing(tallies, job.keys.episodes)
            for line in check_agents(agents, components, first, seed=job.keys.seed):
                warn(line)
        if job.keys.repeat_errors and run.has_episodes:
            run.remove_errors()
        run = Run.create(
            run.path,
            command=job.command,
            config=job.config,
            envs=envs,
            agents=agents,
            parameters=env_parameters(factories),
        )
        facts = job.facts_of(run)
        for line in facts.differences():
            warn(line)
        total = len(tallies) * job.keys.episodes
        with (
            TrajectoryFile(run.trajectories_path) as file,
            ProgressBar(console, job.keys.progress, total) as bar,
        ):
            try:
                for trajectory in _play(components, agents, tallies, job.keys, warn, bar):
                    _keep(trajectory, file, facts, warn)
                    problems.add(trajectory)
            except KeyboardInterrupt:
                ended = _INTERRUPTED
            except ModelUnavailableError as error:
                ended = str(error)
    tallies = [one for one in tallies if one.indices]
    if job.form == "json":
        rows = [tally.figures() for tally in tallies]
        job.print_json({"run": str(run.path), "rows": rows})
    else:
        Terminal().print(_table(tallies))
    for reason in left_out.values():
        print_line(console, f"Left out: {reason}", "yellow")
    limit = job.keys.fail_on_error
    return _summarise(console, run, envs, problems, limit, ended)


command = HydraCommand(
    "run",
    _run,
    RunKeys,
    agents=["random"],
    executor=True,
    again=True,
    examples=[
        "gem-core run game:GuessTheNumber-v0-easy agent=oracle",
        "gem-core run game:Sudoku-v0-hard env.empty_cells=30 agent=[oracle,random] episodes=100",
        "gem-core run 'game:*-easy' agent=oracle --format json",
        "gem-core run game:Mastermind-v0-easy wrappers=[concat,episode_tracking] out=runs/mine",
        "gem-core run rg:leg_counting env.size=100 env.level=2 agent=oracle",
        "gem-core run 'envs=[{id: rg:gcd, level: 2}, rg:lcm]' agent=oracle",
        "gem-core run 'game:*-easy' agent=oracle executor=processes",
        "gem-core run --again RUN episodes=100",
        "gem-core run -m env=game/Sudoku-v0-easy,game/Sudoku-v0-hard agent=oracle",
    ],
)


def _play(
    components: Mapping[str, Component],
    agents: Mapping[str, Callable[[], Agent]],
    tallies: Iterable[_Tally],
    keys: RunKeys,
    warn: Callable[[str], object],
    bar: ProgressBar,
) -> Iterator[Trajectory]:
    """Play the missing episodes, count them, and yield them."""
    for tally in tallies:
        bar.update(description=f"{tally.env} {tally.agent}", advance=len(tally.indices))
        started = time.perf_counter()
        with collect(
            {tally.env: components[tally.env]},
            agents[tally.agent],
            episodes=[index for index in range(keys.episodes) if index not in tally.indices],
            seed=keys.seed,
            concurrency=keys.concurrency,
            agent_name=tally.agent,
            policy=FaultPolicy(abort_after=keys.abort_after),
        ) as rollout:
            for trajectory in rollout:
                if repeats := rollout.report.repeats(tally.env, keys.episodes):
                    warn(repeats)
                tally.add(trajectory)
                tally.played += 1
                tally.seconds = time.perf_counter() - started
                bar.update(advance=1)
                yield trajectory


def _keep(
    trajectory: Trajectory, file: TrajectoryFile, facts: Observed, warn: Callable[[str], object]
) -> None:
    """Write an episode, and note the facts that only episodes tell."""
    file.append(trajectory)
    for line in facts.add(trajectory):
        warn(line)


def _first_missing(tallies: Iterable[_Tally], episodes: int) -> dict[tuple[str, str], int]:
    """Return the first index to be played by environment and agent, if there is one."""
    missing = {
        (tally.env, tally.agent): [one for one in range(episodes) if one not in tally.indices]
        for tally in tallies
    }
    return {key: indices[0] for key, indices in missing.items() if indices}


def _known_episodes(
    run: Run, keys: RunKeys, asked: Sequence[tuple[str, str]], problems: _Problems
) -> dict[tuple[str, str], _Tally]:
    """Return the figures of the episodes that the run has, by environment and agent.

    Args:
        run: The run.
        keys: The keys of the command.
        asked: The environments and agents that are asked for now, whose problems are counted.
        problems: Counts them.
    """
    known: dict[tuple[str, str], _Tally] = {}
    if not run.has_episodes:
        return known
    for trajectory in run.trajectories():
        if keys.repeat_errors and trajectory.error is not None:
            continue
        if trajectory.seed != child_seed(keys.seed, trajectory.index):
            raise ConfigError(f"{run.path} was made with another seed than {keys.seed}.")
        key = trajectory.env_name, trajectory.agent
        tally = known.setdefault(key, _Tally(*key))
        if trajectory.index < keys.episodes and trajectory.index not in tally.indices:
            tally.add(trajectory)
            if key in asked:
                problems.add(trajectory)
    return known


def _table(tallies: list[_Tally]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("environment", overflow="fold")
    table.add_column("agent", overflow="fold")
    for heading in ("episodes", "return", "success", "turns", "ep/s", "errors"):
        table.add_column(heading, justify="right")
    for tally in tallies:
        figures = tally.figures()
        forms = {"return": ".3f", "success": ".0%", "turns": ".1f", "episodes_per_second": ",.0f"}
        shown: dict[str, Any] = {
            name: "-" if figures[name] is None else format(figures[name], form)
            for name, form in forms.items()
        }
        if 0 < tally.errors == figures["episodes"]:
            shown |= {"return": "-", "success": Text(f"{tally.errors} failed", "red")}
        errors = Text(f"{tally.errors}", "red" if tally.errors else "")
        table.add_row(tally.env, tally.agent, str(figures["episodes"]), *shown.values(), errors)
    return table


def _summarise(
    console: Console,
    run: Run,
    envs: list[str],
    problems: _Problems,
    fail_on_error: float,
    ended: str,
) -> int:
    """Print the failures, the run's folder and the next step; return the exit status.

    Args:
        console: The console to print on.
        run: The run.
        envs: Ids of the environments.
        problems: The problems of its episodes.
        fail_on_error: The largest accepted share of errors.
        ended: Why it ended early; empty if it did not.
    """
    for line in problems.failures.lines(run.shown_trajectories):
        print_line(console, line, "red")
    for line in problems.format_errors.lines():
        print_line(console, line, "yellow")
    print_line(console, f"Run: {run.shown_path}")
    if ended == _INTERRUPTED:
        print_line(console, ended, "yellow")
        print_line(
            console, f"To continue, repeat the command with out={run.shown_path} resume=true"
        )
        return INTERRUPTED
    if ended:
        print_line(console, ended, "red")
        print_line(console, repeat_advice(run.shown_path), "red")
        return 1
    if problems.failures.are_too_many(fail_on_error):
        for line in problems.failures.advice(fail_on_error, run.shown_path):
            print_line(console, line, "red")
        return 1
    if not envs[0].startswith("mixture:"):
        print_line(console, f"Next: gem-core play {shlex.quote(envs[0])}", "dim")
    return 0
