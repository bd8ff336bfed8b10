"""Compares agents on the same tasks: differences, significance and power.

A pair is a task that both agents have played; the episodes of a task are averaged first. Tasks that
only one agent has played are left out, counted and named. Tasks are the same if their ids are, or
their seeds where one of the runs has no ids. Pairs that ask the same question in several
environments are a cluster, as their differences are not independent.
"""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from statistics import fmean
from typing import Any, NamedTuple

from gem_core.errors import ConfigError, near_names
from gem_eval import paired
from gem_eval.design import Components, components_of, same_decision
from gem_eval.episodes import Measure, Task, TaskResult, run_and_agent, tasks_of, with_task_ids
from gem_eval.resume import differences
from gem_eval.statistics import Estimate
from gem_rollout.records.provenance import other_facts
from gem_rollout.records.runs import Run

__all__ = ["Candidate", "Comparison", "Options", "Pairing", "candidates_of", "compare"]

ALL_TASKS = "all tasks"
_STACK = ("env", "mixture", "tools", "wrappers", "tool_use", "answer_instruction")


@dataclass(frozen=True)
class Candidate:
    """One agent of one run.

    Args:
        name: The name that tables show.
        run: The run.
        agent: Name of the agent in the run.
        tasks: Its episodes by task.
    """

    name: str
    run: Run
    agent: str
    tasks: Mapping[Task, Sequence[TaskResult]]


@dataclass(frozen=True)
class Options:
    """The options of a comparison.

    Args:
        measures: The quantities to compare.
        all_pairs: Compare all pairs of candidates, instead of each candidate with the first.
        confidence: Confidence level of the intervals, and 1 minus the level of the tests.
        difference: The difference for which the required number of pairs is computed.
        power: The power for which that number is computed.
        seed: Seed of the random halves of the tasks.
    """

    measures: tuple[Measure, ...] = ("success", "return")
    all_pairs: bool = False
    confidence: float = 0.95
    difference: float = 0.05
    power: float = 0.8
    seed: int = 0


@dataclass
class Comparison:
    """A comparison of two candidates in one environment, or in all.

    Args:
        first: Name of the first candidate.
        second: Name of the second.
        name: Id of the environment, or ``all tasks``.
        measure: ``success`` or ``return``.
        pairs: Number of tasks that both have played.
        first_mean: Mean over these tasks of the first.
        second_mean: Mean of the second.
        difference: Mean difference, second minus first.
        test: The test.
        p_value: Its two-sided p-value.
        p_corrected: The p-value, corrected by Holm's method for all comparisons of this kind
            (overall, or by environment) and measure.
        detectable: The smallest true difference that this number of pairs detects with
            ``Options.power``; None if it is unknown.
        required: The number of pairs that detects ``Options.difference``; None if it is unknown.
        half: Share of the random halves of the tasks that lead to the same decision, without
            correction for several comparisons; None for fewer than 4 tasks.
        components: Where the differences vary.
    """

    first: str
    second: str
    name: str
    measure: Measure
    pairs: int
    first_mean: float
    second_mean: float
    difference: Estimate
    test: str
    p_value: float
    p_corrected: float
    detectable: float | None
    required: int | None
    half: float | None
    components: Components

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        nested = ("difference", "components")
        return {**vars(self), **{name: getattr(self, name).to_dict() for name in nested}}


@dataclass(frozen=True)
class Pairing:
    """The tasks of two candidates.

    Args:
        first: The first.
        second: The second.
        shared: Tasks that both have played.
        only_first: Tasks that only the first has played.
        only_second: Tasks that only the second has played.
        other_openings: Shared tasks whose first observations differ.
        config: A line for each key in which the runs' environments were configured differently,
            and for each version of Python, of a package or of data that differs.
    """

    first: Candidate
    second: Candidate
    shared: list[Task]
    only_first: list[Task]
    only_second: list[Task]
    other_openings: int
    config: list[str]


def candidates_of(arguments: Sequence[str]) -> list[Candidate]:
    """Return the candidates: all agents of ``RUN``, or the one of ``RUN@AGENT``.

    Args:
        arguments: Run folders or ``.jsonl`` files, each with an optional agent.

    Raises:
        ConfigError: There are fewer than two, or a run or an agent does not exist.
    """
    found: list[tuple[Run, str, list[TaskResult]]] = []
    read: dict[str, tuple[Run, dict[str, list[TaskResult]]]] = {}
    for argument in arguments:
        source, agent = run_and_agent(argument)
        path = str(source.path)
        run, agents = read[path] = read.get(path) or _read(source)
        if agent and agent not in agents:
            raise ConfigError(
                f"{path} has no agent {agent!r}.{near_names(agent, agents)} "
                f"It has: {', '.join(agents) or 'no episodes'}."
            )
        found += [(run, name, own) for name, own in agents.items() if agent in ("", name)]
    if len(found) < 2:
        raise ConfigError(
            f"A comparison needs two agents; found {len(found)} in {', '.join(arguments)}. "
            f"Give two runs, or a run of several agents."
        )
    names = _names([(run, agent) for run, agent, _ in found])
    episodes = iter(with_task_ids(one for _, _, own in found for one in own))
    return [
        Candidate(name, run, agent, tasks_of(islice(episodes, len(own))))
        for name, (run, agent, own) in zip(names, found, strict=True)
    ]


def _read(run: Run) -> tuple[Run, dict[str, list[TaskResult]]]:
    agents: dict[str, list[TaskResult]] = {}
    for one in run.records(TaskResult.read):
        agents.setdefault(one.agent, []).append(one)
    return run, agents


def _names(found: Sequence[tuple[Run, str]]) -> list[str]:
    """Return the shortest names that distinguish the candidates."""
    for names in (
        [agent for _, agent in found],
        [run.name for run, _ in found],
        [f"{run.name}@{agent}" for run, agent in found],
    ):
        if len(set(names)) == len(names):
            return names
    return [f"{run.path}@{agent}" for run, agent in found]


def compare(
    candidates: Sequence[Candidate], options: Options
) -> tuple[list[Pairing], list[Comparison]]:
    """Compare candidates.

    Returns:
        The pairings of tasks, and the comparisons: overall first, then by environment.

    Raises:
        ConfigError: Two of them have no task in common.
    """
    chosen = (
        list(combinations(candidates, 2))
        if options.all_pairs
        else [(candidates[0], other) for other in candidates[1:]]
    )
    pairings = [_pair(first, second) for first, second in chosen]
    found: list[Comparison] = []
    for measure in options.measures:
        overall = [one for p in pairings for one in _compare(p, measure, options, by_env=False)]
        by_env = [one for p in pairings for one in _compare(p, measure, options, by_env=True)]
        for family in (overall, by_env):
            corrected = paired.holm([one.p_value for one in family])
            for one, p_value in zip(family, corrected, strict=True):
                one.p_corrected = p_value
            found += family
    return pairings, found


def _pair(first: Candidate, second: Candidate) -> Pairing:
    first, second = _with_the_same_keys(first, second)
    shared = [task for task in first.tasks if task in second.tasks]
    if not shared:
        raise ConfigError(
            f"{first.name} and {second.name} have no task in common: {first.name} played "
            f"{_environments(first)}, {second.name} {_environments(second)}. Runs share tasks if "
            f"their environments have the same names, and the same rows of a dataset or else the "
            f"same seed."
        )
    openings = sum(first.tasks[t][0].opening != second.tasks[t][0].opening for t in shared)
    infos = [one.run.info() for one in (first, second)]
    ours, theirs = (info.get("config") or {} for info in infos)
    # A run of several environments has no single set of parameters to compare.
    keys = _STACK if ours.get("env") and theirs.get("env") else _STACK[1:]
    lines = [line for key in keys for line in differences(key, ours.get(key), theirs.get(key))]
    return Pairing(
        first,
        second,
        shared,
        [task for task in first.tasks if task not in second.tasks],
        [task for task in second.tasks if task not in first.tasks],
        openings,
        [*(lines if ours and theirs else []), *other_facts(*infos)],
    )


def _with_the_same_keys(first: Candidate, second: Candidate) -> tuple[Candidate, Candidate]:
    """Return both with tasks by seed in environments of which only one of them has ids of tasks.

    Runs of earlier releases have none.
    """
    named = [
        {own[0].env_id for own in one.tasks.values() if own[0].task_id is not None}
        for one in (first, second)
    ]
    return _by_seed(first, named[0] - named[1]), _by_seed(second, named[1] - named[0])


def _by_seed(candidate: Candidate, envs: Collection[str]) -> Candidate:
    if not envs:
        return candidate
    episodes = (
        replace(one, task_id=None) if one.env_id in envs else one
        for own in candidate.tasks.values()
        for one in own
    )
    return replace(candidate, tasks=tasks_of(episodes))


def _environments(candidate: Candidate) -> str:
    return ", ".join(sorted({env_id for env_id, _ in candidate.tasks}))


def _compare(
    pairing: Pairing, measure: Measure, options: Options, *, by_env: bool
) -> Iterator[Comparison]:
    """Yield the comparison of all tasks, or one for each environment if there are several."""
    envs = sorted({env_id for env_id, _ in pairing.shared})
    if not by_env:
        parts = {ALL_TASKS if len(envs) > 1 else envs[0]: pairing.shared}
    elif len(envs) > 1:
        parts = {name: [task for task in pairing.shared if task[0] == name] for name in envs}
    else:
        return
    for name, tasks in parts.items():
        sides = ((pairing.first.tasks[task], pairing.second.tasks[task]) for task in tasks)
        played = [
            _Played(
                ours[0].env_id,
                ours[0].cluster,
                _values(ours, measure),
                _values(theirs, measure),
                _most(ours[0], measure),
            )
            for ours, theirs in sides
        ]
        known = [one for one in played if one.first and one.second]
        if known:
            yield _comparison(pairing, name, measure, known, options)


class _Played(NamedTuple):
    """The values of both on a task, and the largest possible difference."""

    env: str
    cluster: Hashable
    first: list[float]
    second: list[float]
    most: float | None


def _values(episodes: Sequence[TaskResult], measure: Measure) -> list[float]:
    if measure == "return":
        return [one.episode_return for one in episodes]
    return [float(one.success) for one in episodes if one.success is not None]


def _most(episode: TaskResult, measure: Measure) -> float | None:
    ends = (0.0, 1.0) if measure == "success" else episode.return_range
    return None if ends is None else ends[1] - ends[0]


def _mean(values: Sequence[float]) -> float:
    return values[0] if len(values) == 1 else sum(values) / len(values)


def _comparison(
    pairing: Pairing, name: str, measure: Measure, played: Sequence[_Played], options: Options
) -> Comparison:
    means = [(_mean(one.first), _mean(one.second)) for one in played]
    gaps = [round(theirs - ours, 12) for ours, theirs in means]  # so that 0.1 + 0.2 - 0.3 is 0
    clusters: dict[Hashable, list[float]] = {}
    envs: dict[str, list[tuple[list[float], list[float]]]] = {}
    for one, gap in zip(played, gaps, strict=True):
        clusters.setdefault(one.cluster, []).append(gap)
        envs.setdefault(one.env, []).append((one.first, one.second))
    values = list(clusters.values())
    bounds = [one.most for one in played]
    most = None if None in bounds else max(bound for bound in bounds if bound is not None)
    # Means of several episodes may be binary too. Each pair is one trial, which is conservative.
    is_share = measure == "success" or all(
        value in (0, 1) for one in played for value in (*one.first, *one.second)
    )
    most = 1.0 if is_share else most
    binary = len(values) == len(gaps) and is_share and all(gap in (-1, 0, 1) for gap in gaps)
    if binary:
        estimate, p_value = paired.binary_difference(gaps, options.confidence)
    else:
        estimate, p_value = paired.mean_difference(values, options.confidence, most)
    deviation = paired.standard_deviation(values, binary=binary)
    detectable, required = None, None
    if deviation is not None:
        bound = paired.bound_of(values, most)
        detectable = paired.detectable_difference(
            len(values), deviation, options.power, options.confidence, most=bound, binary=binary
        )
        required = paired.required_pairs(
            options.difference,
            deviation,
            options.power,
            options.confidence,
            most=bound,
            binary=binary,
        )
    return Comparison(
        first=pairing.first.name,
        second=pairing.second.name,
        name=name,
        measure=measure,
        pairs=len(gaps),
        first_mean=fmean([ours for ours, _ in means]),
        second_mean=fmean([theirs for _, theirs in means]),
        difference=estimate,
        test="exact McNemar" if binary else "empirical likelihood",
        p_value=p_value,
        p_corrected=p_value,
        detectable=detectable,
        required=required,
        half=same_decision(
            paired.decisions(values, options.confidence, most, binary=binary),
            len(values),
            options.seed,
        ),
        components=components_of(envs),
    )
