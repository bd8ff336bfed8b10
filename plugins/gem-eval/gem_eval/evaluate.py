"""``gem-core eval``: evaluate agents on environments, with confidence intervals."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from gem_core.agent import Agent
from gem_core.errors import ModelUnavailableError
from gem_core.factory import EnvFactory
from gem_core.notices import results_alone
from gem_eval.episodes import EpisodeRecord
from gem_eval.eval_keys import ENDINGS, EvalKeys, Spent
from gem_eval.metrics import metrics_of
from gem_eval.progress import Progress, Tally
from gem_eval.resume import check_same, known_episodes, with_earlier
from gem_eval.summary import failures_in, print_figures, summarise
from gem_eval.tables import (
    console_for,
)
from gem_eval.until import (
    SequentialComparison,
    comparison_of,
)
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
from gem_rollout.episodes.executor import EpisodeWorkers, executor_of
from gem_rollout.episodes.rollout import Rollout
from gem_rollout.models.threads import command_threads
from gem_rollout.records.provenance import Observed
from gem_rollout.records.runs import Run, write_json

__all__ = ["command"]

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


def _evaluate(job: Job[EvalKeys]) -> int:
    """Evaluate agents on environments."""
    left_out: dict[str, str] = {}
    with results_alone():
        factories = envs_by_name(job.config, left_out=left_out)
        agents = agent_makers(job.config)
    comparison = comparison_of(job, factories, list(agents))
    ids = list(dict.fromkeys(factory.spec.id for factory in factories.values()))
    run, episodes = _known(job, ids)
    total = 0 if comparison else job.keys.episodes * job.keys.samples
    cells = [
        _Cell(factory, make_agent, Tally(env, name, total))
        for env, factory in factories.items()
        for name, make_agent in agents.items()
    ]
    spent = Spent(job.keys.budget.model_dump(exclude_none=True))
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
    outcome = comparison.end(ENDINGS.get(status, status)) if comparison else None
    if outcome:
        metrics["decision"] = outcome.to_dict()
    write_json(run.metrics_path, metrics)
    print_figures(episodes, job, metrics, outcome)
    summarise(console, run, episodes, missing, status, left_out.values())
    if status == "interrupted":
        return INTERRUPTED
    if status and status not in ENDINGS:
        return 1
    asked = {(cell.tally.env_id, cell.tally.agent) for cell in cells}
    failures = failures_in(one for one in episodes if (one.env_id, one.agent) in asked)
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
    spent: Spent,
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
    spent: Spent,
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
    spent: Spent,
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
