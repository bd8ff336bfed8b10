"""``gem-core eval``: evaluate agents on environments, with confidence intervals."""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import click
import pydantic
from pydantic import Field
from rich.console import Console

from gem_core.agent import Agent
from gem_core.errors import ConfigError, ModelUnavailableError
from gem_core.factory import EnvFactory
from gem_core.notices import results_alone
from gem_eval.episodes import EpisodeRecord, with_task_ids
from gem_eval.metrics import metrics_of, rows_of
from gem_eval.progress import Progress, Tally
from gem_eval.resume import check_same, known_episodes, with_earlier
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
from gem_eval.until import Measure, Outcome, SequentialComparison, episodes_against, width_of
from gem_rollout import Budget, Component, FaultPolicy, TrajectoryFile, collect
from gem_rollout.commands import (
    INTERRUPTED,
    HydraCommand,
    Job,
    agent_makers,
    env_parameters,
    envs_by_name,
)
from gem_rollout.commands.preflight import check_agents
from gem_rollout.commands.progress import print_line
from gem_rollout.commands.run import RunKeys
from gem_rollout.episodes.executor import EpisodeWorkers, executor_of
from gem_rollout.episodes.report import Report
from gem_rollout.episodes.rollout import Rollout
from gem_rollout.models.threads import command_threads
from gem_rollout.records.failures import Failures, repeat_advice
from gem_rollout.records.format_errors import FormatErrors
from gem_rollout.records.provenance import Observed
from gem_rollout.records.runs import Run, write_json

__all__ = ["command"]

_PRINTED = ("confidence", "rows", "decision")


class BudgetKeys(pydantic.BaseModel):
    """Limits of the whole run. At one of them no further episode begins, and the run ends."""

    model_config = pydantic.ConfigDict(extra="forbid", use_attribute_docstrings=True)

    episodes: int | None = Field(default=None, ge=1)
    """Most episodes of the run."""
    turns: int | None = Field(default=None, ge=1)
    """Most turns of the run. Many environments limit those of an episode: env.max_turns."""
    tokens: int | None = Field(default=None, ge=1)
    """Most tokens of the run, prompts included. For those of a reply, see agent.max_tokens."""
    cost: float | None = Field(default=None, gt=0)
    """Highest cost of the run, in the unit that the agent reports."""
    seconds: float | None = Field(default=None, gt=0)
    """Longest wall time."""

    @pydantic.model_validator(mode="before")
    @classmethod
    def _from_number(cls, value: Any) -> Any:
        """Take a number alone, as in ``budget=500``, as that of the episodes; null as no limit."""
        return {"episodes": value} if isinstance(value, int) else value or {}


class EvalKeys(RunKeys):
    """The keys of ``gem-core eval``."""

    episodes: int = Field(default=20, ge=1)
    """Tasks of each environment: rows of a dataset, each once, or start states."""
    samples: int = Field(default=1, ge=1)
    """Times that each agent plays each task."""
    seed: int = Field(default=0, ge=0)
    """Runs with the same seed have the same tasks, so that agents can be compared on them."""
    fork_groups: bool = False
    """Reset an environment once for all samples of a task and fork it, if a reset is expensive."""
    budget: BudgetKeys = Field(default_factory=BudgetKeys)
    on_error: Literal["record", "retry", "raise"] = "record"
    """After an error: record it, retry the episode in a fresh environment, or raise it."""
    retries: int = Field(default=2, ge=0)
    """Further attempts with on_error=retry."""
    turn_deadline: float | None = Field(default=None, gt=0)
    """Seconds that a turn may take."""
    episode_deadline: float | None = Field(default=None, gt=0)
    """Seconds that an episode may take."""
    confidence: float = Field(default=0.95, gt=0, lt=1)
    """Confidence level of the intervals."""
    until: Literal["decided"] | None = None
    """decided: compare agent=[A,B], task by task, and stop once it is known which is better."""
    against: str | None = None
    """With until=decided: compare the agent with that of RUN or RUN@AGENT, on the same tasks."""
    measure: Measure = "success"
    """With until=decided: compare success or return."""
    difference: float = Field(default=0.05, gt=0, lt=1)
    """With until=decided: smallest difference that matters, as a share of the possible range."""

    @pydantic.model_validator(mode="after")
    def _check_until(self) -> Self:
        if self.until is None:
            if self.against is not None:
                raise ValueError("against needs until=decided.")
            return self
        if not self.budget.model_dump(exclude_none=True):
            raise ValueError(
                "until=decided needs a budget, such as budget=2000: the most episodes to play."
            )
        return self


_ENDINGS = {
    "interrupted": "Interrupted. The finished episodes are kept.",
    **{name: f"The limit budget.{name} is reached." for name in BudgetKeys.model_fields},
}
"""What is said of a run that ended early without an error."""


_MOST_HELD = 64
"""Environments that take turns after each task."""
_TASKS_OF_MANY = 10
"""Tasks after which more environments take turns."""


@dataclass
class _Cell:
    """One agent in one environment.

    Args:
        factory: Makes the environment.
        make_agent: Makes the agent.
        tally: Counts the episodes.
        done: Indices of the episodes that the run has already.
    """

    factory: EnvFactory
    make_agent: Callable[[], Agent]
    tally: Tally
    done: set[int] = field(default_factory=set)


@dataclass
class _Spent:
    """The part of the limits that episodes have used up."""

    limits: Mapping[str, float]
    started: float = field(default_factory=time.monotonic)
    used: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("episodes", "turns", "tokens", "cost"), 0.0)
    )
    ended_by: str = ""
    """The limit that has ended a rollout."""

    def add(self, episode: EpisodeRecord) -> None:
        """Add an episode of an earlier run."""
        self.used["episodes"] += 1
        self.used["turns"] += episode.turns
        self.used["tokens"] += (episode.prompt_tokens or 0) + (episode.completion_tokens or 0)
        self.used["cost"] += episode.cost or 0.0

    def add_rollout(self, report: Report) -> None:
        """Add the episodes of a rollout that has ended, failed attempts and judges included."""
        total = report.total
        self.used["episodes"] += report.begun
        self.used["turns"] += total.turns
        self.used["tokens"] += total.tokens
        self.used["cost"] += total.cost
        if report.ended_by in self.limits:
            self.ended_by = report.ended_by

    def left(self) -> dict[str, float]:
        """Return the rest of each limit, 0 or more."""
        used = {**self.used, "seconds": time.monotonic() - self.started}
        return {name: max(0.0, limit - used[name]) for name, limit in self.limits.items()}

    def counts(self) -> bool:
        """Return whether a limit will be reached: the agents report tokens and cost, or not."""
        return any(self.used.get(name, 1.0) for name in self.limits)

    def reached(self) -> str:
        """Return the name of a limit that is reached, or an empty text."""
        return self.ended_by or next((name for name, left in self.left().items() if not left), "")


def _evaluate(job: Job[EvalKeys]) -> int:
    """Evaluate agents on environments."""
    left_out: dict[str, str] = {}
    with results_alone():
        factories = envs_by_name(job.config, left_out=left_out)
        agents = agent_makers(job.config)
    comparison = _comparison(job, factories, list(agents))
    ids = list(dict.fromkeys(factory.spec.id for factory in factories.values()))
    run, episodes = _known(job, ids)
    total = 0 if comparison else job.keys.episodes * job.keys.samples
    cells = [
        _Cell(factory, make_agent, Tally(env, name, total))
        for env, factory in factories.items()
        for name, make_agent in agents.items()
    ]
    spent = _spent(job.keys)
    for episode in _wanted(episodes, cells, every=comparison is not None):
        spent.add(episode)
        if comparison:
            comparison.add(episode)
    console = console_for(stderr=True)
    with (
        results_alone(),
        command_threads(job.keys.threads),
        executor_of(job.config) as workers,
    ):
        if job.keys.preflight and not spent.reached():
            _check_agents(cells, job.keys, console, workers, endless=comparison is not None)
        run = _begin(job, run, ids, list(agents), env_parameters(factories))
        facts = job.facts_of(run)
        for line in facts.differences():
            print_line(console, line, "yellow")
        with TrajectoryFile(run.trajectories_path) as file:
            playing = _play(cells, file, job.keys, spent, console, workers, comparison, facts)
            status = _take(playing, episodes, comparison)
    missing = sum(max(0, cell.tally.total - cell.tally.done) for cell in cells)
    status = status or (spent.reached() if missing else "")
    metrics = metrics_of(episodes, job.keys.confidence)
    metrics |= {"missing": missing, "left_out": left_out}
    outcome = comparison.end(_ENDINGS.get(status, status)) if comparison else None
    if outcome:
        metrics["decision"] = outcome.to_dict()
    write_json(run.metrics_path, metrics)
    _print_figures(episodes, job, metrics, outcome)
    _summarise(console, run, episodes, missing, status, left_out.values())
    if status == "interrupted":
        return INTERRUPTED
    if status and status not in _ENDINGS:
        return 1
    asked = {(cell.tally.env_id, cell.tally.agent) for cell in cells}
    failures = _failures(one for one in episodes if (one.env_id, one.agent) in asked)
    for line in failures.advice(job.keys.fail_on_error, run.shown_path):
        print_line(console, line, "red")
    return int(failures.are_too_many(job.keys.fail_on_error))


command = HydraCommand(
    "eval",
    _evaluate,
    EvalKeys,
    formats=("table", "json", "csv", "md"),
    executor=True,
    again=True,
    examples=[
        "gem-core eval game:GuessTheNumber-v0-easy agent=oracle episodes=50",
        "gem-core eval math:Sample agent=openai agent.model=NAME agent.base_url=URL samples=4",
        "gem-core eval 'game:*-easy' agent=[oracle,random] --format md",
        "gem-core eval qa:Sample tools=[search] wrappers=[concat] agent=openai agent.model=NAME",
        "gem-core eval math:Sample +agent@agent.small=openai agent.small.model=NAME agent=random",
        "gem-core eval 'envs=[{id: math:Sample, shuffle: false}, qa:Sample]' agent=oracle",
        "gem-core eval +env@envs.a=rg/gcd envs.a.level=0 +env@envs.b=rg/gcd agent=oracle",
        "gem-core eval out=runs/mine resume=true ...",
        "gem-core eval --again runs/mine episodes=40",
    ],
)


def _known(job: Job[EvalKeys], envs: list[str]) -> tuple[Run, list[EpisodeRecord]]:
    """Return the run that is to be made or continued, and its episodes; nothing is written."""
    run = Run(job.folder)
    run.check_can_write(resume=job.keys.resume, envs=envs)
    if not run.has_episodes:
        return run, []
    check_same(run, job.config)
    return run, known_episodes(run, seed=job.keys.seed, leave_out_errors=job.keys.repeat_errors)


def _begin(
    job: Job[EvalKeys],
    run: Run,
    envs: list[str],
    agents: list[str],
    parameters: Mapping[str, Any],
) -> Run:
    """Make the run's folder, or continue the run in it."""
    # A number alone, as in budget=500, is written as that of the episodes.
    config = {**job.config, "budget": job.keys.budget.model_dump()}
    if run.has_episodes:
        config = with_earlier(config, run.info().get("config") or {})
        if job.keys.repeat_errors:
            run.remove_errors()
    return Run.create(
        run.path,
        command=job.command,
        config=config,
        envs=envs,
        agents=agents,
        parameters=parameters,
    )


def _comparison(
    job: Job[EvalKeys], factories: Mapping[str, EnvFactory], agents: Sequence[str]
) -> SequentialComparison | None:
    """Return the sequential comparison that is asked for; None without one.

    Raises:
        ConfigError: There are not two agents to compare, the range of returns is unknown, or the
            budget is too small for a pair.
    """
    keys = job.keys
    if keys.until is None:
        return None
    envs, known, source = env_parameters(factories), None, ""
    for name, one in envs.items():
        if one.get("shuffle") is False:
            raise ConfigError(
                f"until=decided needs tasks in random order: leave out shuffle=false of {name}."
            )
    if keys.against is not None:
        known, first, source = episodes_against(keys.against, job.config, envs)
        agents = [first if first not in agents else f"{source}@{first}", *agents]
    if len(agents) != 2:
        asked = "agent=[A,B], or one agent and against=RUN"
        raise ConfigError(f"until=decided compares two agents: {asked}; got {', '.join(agents)}.")
    least = keys.samples * (2 if known is None else 1)
    if keys.budget.episodes is not None and keys.budget.episodes < least:
        raise ConfigError(
            f"A pair needs {least} episodes: budget={keys.budget.episodes} is too small."
        )
    if "episodes" in (word.partition("=")[0] for word in job.words):
        line = f"episodes={keys.episodes} does not count: until=decided plays up to the budget."
        print_line(console_for(stderr=True), line, "yellow")
    return SequentialComparison(
        {name: width_of(name, factory.spec, keys.measure) for name, factory in factories.items()},
        first=agents[0],
        second=agents[1],
        samples=keys.samples,
        measure=keys.measure,
        difference=keys.difference,
        confidence=keys.confidence,
        seed=keys.seed,
        fail_on_error=keys.fail_on_error,
        against=known,
        source=source,
    )


def _spent(keys: EvalKeys) -> _Spent:
    return _Spent(keys.budget.model_dump(exclude_none=True))


def _wanted(
    episodes: list[EpisodeRecord], cells: list[_Cell], *, every: bool
) -> Iterator[EpisodeRecord]:
    """Count the episodes that the run has already, and yield those that are asked for."""
    by_name = {(cell.tally.env_id, cell.tally.agent): cell for cell in cells}
    for episode in episodes:
        cell = by_name.get((episode.env_id, episode.agent))
        if cell is not None and (every or episode.index < cell.tally.total):
            cell.done.add(episode.index)
            cell.tally.add(episode)
            yield episode


def _check_agents(
    cells: list[_Cell],
    keys: EvalKeys,
    console: Console,
    workers: EpisodeWorkers,
    *,
    endless: bool,
) -> None:
    """Check the agents that have episodes to play; ``endless`` if their number is not known."""
    first: dict[tuple[str, str], int] = {}
    for cell in cells:
        index = next(index for index in itertools.count() if index not in cell.done)
        if endless or index < cell.tally.total:
            first[cell.tally.env_id, cell.tally.agent] = index
    agents = {cell.tally.agent: cell.make_agent for cell in cells}
    envs = {cell.tally.env_id: Component(workers.factory(cell.factory)) for cell in cells}
    for line in check_agents(agents, envs, first, samples=keys.samples, seed=keys.seed):
        print_line(console, line, "yellow")


def _play(
    cells: list[_Cell],
    file: TrajectoryFile,
    keys: EvalKeys,
    spent: _Spent,
    console: Console,
    workers: EpisodeWorkers,
    comparison: SequentialComparison | None,
    facts: Observed,
) -> Iterator[EpisodeRecord]:
    """Play the missing episodes: one agent after the other, each in all environments together."""
    tallies, warned = [cell.tally for cell in cells], set[str]()
    with Progress(console, tallies, keys.progress, keys.confidence) as progress:
        for part in _parts(cells, keys, comparison, progress, spent):
            for agent in dict.fromkeys(tally.agent for tally in tallies):
                of_agent = {cell.tally.env_id: cell for cell in cells if cell.tally.agent == agent}
                missing = [
                    (name, index) for name, index in part if index not in of_agent[name].done
                ]
                if not missing:
                    continue
                if spent.reached():
                    return
                with _rollout(of_agent, missing, keys, spent, workers) as rollout:
                    progress.rollout = rollout
                    for trajectory in rollout:
                        warning = rollout.report.repeats(trajectory.component, keys.episodes)
                        if warning and warning not in warned and comparison is None:
                            warned.add(warning)
                            print_line(console, warning, "yellow")
                        file.append(trajectory)
                        for line in facts.add(trajectory):
                            print_line(console, line, "yellow")
                        episode = EpisodeRecord.of(trajectory)
                        progress.add(of_agent[trajectory.component].tally, episode)
                        yield episode
                spent.add_rollout(rollout.report)


def _take(
    playing: Iterable[EpisodeRecord],
    episodes: list[EpisodeRecord],
    comparison: SequentialComparison | None,
) -> str:
    """Take the episodes as they end; return why they ended early, or an empty text."""
    try:
        for episode in playing:
            episodes.append(episode)
            if comparison:
                comparison.add(episode)
    except KeyboardInterrupt:
        return "interrupted"
    except ModelUnavailableError as error:
        return str(error)
    return ""


def _parts(
    cells: list[_Cell],
    keys: EvalKeys,
    comparison: SequentialComparison | None,
    progress: Progress,
    spent: _Spent,
) -> Iterator[list[tuple[str, int]]]:
    """Yield the episodes, as pairs of an environment and an index, that each agent plays next."""
    if comparison is None:
        envs = list(dict.fromkeys(cell.tally.env_id for cell in cells))
        yield list(_in_turn(envs, keys.episodes * keys.samples, keys.samples))
        return
    while part := comparison.block(keys.budget.episodes, keys.concurrency):
        counts = Counter(name for name, _ in part)
        for cell in cells:
            cell.tally.total += counts[cell.tally.env_id]
        yield part
        comparison.take()
        progress.say(comparison.outcome().line())
        if not spent.counts():
            comparison.reason = (
                f"No agent reports what budget limits ({', '.join(spent.limits)}): add a number of "
                f"episodes."
            )


def _in_turn(envs: Sequence[str], total: int, samples: int) -> Iterator[tuple[str, int]]:
    """Yield episodes task by task, each task in all environments; its samples follow each other.

    So the first part of a run has the mix of the whole. Of many environments several tasks follow
    each other, as a rollout does not hold them all.
    """
    size = samples * (1 if len(envs) <= _MOST_HELD else _TASKS_OF_MANY)
    for start in range(0, total, size):
        for name in envs:
            for index in range(start, min(start + size, total)):
                yield name, index


def _rollout(
    cells: Mapping[str, _Cell],
    episodes: Iterable[tuple[str, int]],
    keys: EvalKeys,
    spent: _Spent,
    workers: EpisodeWorkers,
) -> Rollout:
    """Return a rollout of episodes of one agent.

    Args:
        cells: The agent in each environment, by the environment's name.
        episodes: The episodes: names of environments and indices.
        keys: The keys of the command.
        spent: What earlier episodes have used of the budget.
        workers: Where the environments are.
    """
    left = spent.left()
    whole = {name: int(left[name]) for name in ("episodes", "turns", "tokens") if name in left}
    budget = Budget(cost=left.get("cost"), seconds=left.get("seconds"), **whole)
    one = next(iter(cells.values()))
    return collect(
        {env_id: Component(workers.factory(cell.factory)) for env_id, cell in cells.items()},
        one.make_agent,
        episodes=episodes,
        episodes_per_group=keys.samples,
        fork_groups=keys.fork_groups,
        seed=keys.seed,
        concurrency=keys.concurrency,
        agent_name=one.tally.agent,
        policy=FaultPolicy(
            on_error=keys.on_error,
            retries=keys.retries,
            turn_deadline=keys.turn_deadline,
            episode_deadline=keys.episode_deadline,
            abort_after=keys.abort_after,
        ),
        budget=budget,
    )


def _print_figures(
    episodes: list[EpisodeRecord],
    job: Job[EvalKeys],
    metrics: Mapping[str, Any],
    outcome: Outcome | None,
) -> None:
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


def _summarise(
    console: Console,
    run: Run,
    episodes: list[EpisodeRecord],
    missing: int,
    status: str,
    left_out: Iterable[str],
) -> None:
    """Print problems, the run's folder and the next step."""
    failures, format_errors = _failures(episodes), FormatErrors()
    for one in episodes:
        format_errors.add(one.env_id, one.agent, one.bad_ending)
    for line in failures.lines(run.shown_trajectories):
        print_line(console, line, "red")
    for line in format_errors.lines():
        print_line(console, line, "yellow")
    for line in _repeated(episodes):
        print_line(console, line, "dim")
    if status:
        text = f"{_ENDINGS.get(status, status)} {missing} episodes are missing."
        print_line(console, text, "yellow" if status in _ENDINGS else "red")
    for reason in left_out:
        print_line(console, f"Left out: {reason}", "yellow")
    path = run.shown_path
    print_line(console, f"Run: {path}")
    if status and status not in _ENDINGS:
        print_line(console, repeat_advice(path), "red")
    elif missing:
        print_line(console, f"To continue, repeat the command with out={path} resume=true")
    else:
        print_line(console, f"Next: gem-core view {path}", "dim")


def _failures(episodes: Iterable[EpisodeRecord]) -> Failures:
    failures = Failures()
    for one in episodes:
        failures.add_episode(one.env_id, one.agent, one.failure)
    return failures
