"""``gem-core eval until=decided``: play until it is known which of two agents is better."""

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gem_core.errors import ConfigError
from gem_core.factory import EnvFactory
from gem_core.specs import EnvSpec
from gem_eval.anytime import Decision
from gem_eval.episodes import EpisodeRecord, Measure, run_and_agent, with_task_ids
from gem_eval.eval_keys import EvalKeys
from gem_eval.resume import differences
from gem_eval.sequence import Draw, PairedSequence
from gem_eval.tables import console_for
from gem_rollout.commands import Job, env_parameters
from gem_rollout.commands.progress import print_line

__all__ = [
    "Outcome",
    "SequentialComparison",
    "block_size",
    "comparison_of",
    "episodes_against",
    "width_of",
]

Group = tuple[str, int]
"""An environment and the number of a task in it."""

_AT_ANY_TIME = (
    "The interval of the difference holds although the results decided when to stop; those of the "
    "table do not allow for it."
)
_SAME = ("env", "mixture", "tools", "wrappers", "tool_use", "answer_instruction", "seed")
"""Keys that decide what the agents are asked."""
_FEWEST, _SHARE = 16, 20
"""A block has at least so many pairs, and one part in so many of those before it."""


def block_size(pairs: int, at_once: int) -> int:
    """Return how many pairs are played before the next look.

    Args:
        pairs: The number of pairs played so far.
        at_once: How many tasks an agent plays at the same time.
    """
    return max(_FEWEST, pairs // _SHARE, at_once)


def _whole_groups(episodes: Iterable[EpisodeRecord], env_id: str) -> int:
    """Return how many tasks of an environment were played before one that is not complete.

    In a run that was cut off, tasks after that one are the shorter ones, which are not like others.
    """
    counts = Counter(one.group for one in episodes if one.env_id == env_id)
    samples = max(counts.values(), default=0)
    return next(group for group in itertools.count() if counts[group] < max(samples, 1))


def width_of(name: str, spec: EnvSpec, measure: Measure) -> float:
    """Return the largest difference that is possible between two agents in an environment.

    Raises:
        ConfigError: The range of its returns is unknown, and returns are compared.
    """
    if measure == "success":
        return 1.0
    if spec.return_range is None:
        raise ConfigError(
            f"The range of the returns of {name} is unknown (return_range of its spec), so nothing "
            f"can be said at any time about their mean. Compare measure=success."
        )
    low, high = spec.return_range
    return high - low


def episodes_against(
    argument: str, config: Mapping[str, Any], envs: Mapping[str, Any]
) -> tuple[list[EpisodeRecord], str, str]:
    """Return the episodes to compare with, the name of their agent, and of their run.

    Args:
        argument: ``RUN`` or ``RUN@AGENT``.
        config: The configuration of the new run, which must have the same tasks.
        envs: The id and the parameters of each of its environments, by name.

    Raises:
        ConfigError: There is no such run, it has several agents and none was named, or its
            environments are others or were configured differently.
    """
    run, agent = run_and_agent(argument)
    episodes = with_task_ids(map(EpisodeRecord.of, run.trajectories()))
    agents = list(dict.fromkeys(one.agent for one in episodes))
    if not agent and len(agents) == 1:
        agent = agents[0]
    if agent not in agents:
        raise ConfigError(
            f"against={argument} needs one agent of {run.shown_path}, as in "
            f"against={run.shown_path}@AGENT. It has: {', '.join(agents) or 'no episodes'}."
        )
    episodes = [one for one in episodes if one.agent == agent]
    info = run.info()
    old, parameters = info.get("config") or {}, info.get("parameters") or {}
    lines = [line for key in _SAME for line in differences(key, old.get(key), config.get(key))]
    if not lines:  # those of env=ID are among them
        for name in set(envs) & set(parameters):
            lines += differences(name, parameters[name], envs[name])
    if lines:
        raise ConfigError(
            "\n  ".join([f"{run.shown_path} has other tasks (there -> here):", *lines])
        )
    if absent := set(envs) - {one.env_id for one in episodes}:
        raise ConfigError(
            f"{run.shown_path} has no episodes of {agent} in {', '.join(sorted(absent))}."
        )
    return episodes, agent, run.shown_path


@dataclass
class Outcome:
    """How a sequential comparison ended.

    Args:
        first: Name of the agent that the other one is compared with.
        second: Name of the other one.
        measure: ``success`` or ``return``.
        smallest: The smallest difference that matters, in the unit of the measure.
        decision: What is known.
        reason: Why no more pairs are played; empty after a verdict.
        pairs_by_env: The pairs of each environment behind the decision.
        other_openings: Pairs whose first observations differ.
        with_errors: Pairs with an episode that an error ended.
    """

    first: str
    second: str
    measure: Measure
    smallest: float
    decision: Decision
    reason: str
    pairs_by_env: dict[str, int]
    other_openings: int
    with_errors: int

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain data, those of the decision among them."""
        plain = {name: value for name, value in vars(self).items() if name != "decision"}
        return {**plain, **self.decision.to_dict()}

    def line(self) -> str:
        """Return a sentence."""
        verdict = self.decision.verdict
        said = {
            "better": f"{self.second} is better than {self.first}",
            "worse": f"{self.second} is worse than {self.first}",
            "equivalent": f"{self.second} and {self.first} are equivalent within "
            f"{self._shown(self.smallest).lstrip('+')}",
            "undecided": f"Undecided between {self.second} and {self.first}",
        }[verdict]
        why = f" {self.reason}" if verdict == "undecided" else ""
        count = self.decision.pairs
        return f"{said}: {self.figures()}, after {count:,} pair{'s' * (count != 1)}.{why}"

    def notes(self) -> list[str]:
        """Return what a reader of the table and of the sentence has to know."""
        lines = [_AT_ANY_TIME]
        if self.with_errors:
            lines.append(
                f"{self.with_errors} pairs have an episode that an error ended. It counts as a "
                f"failure of its agent, with the return that it had."
            )
        if self.other_openings:
            lines.append(
                f"{self.other_openings} pairs begin with different observations: the environments "
                f"were not the same."
            )
        return lines

    def figures(self) -> str:
        """Return the difference with its interval."""
        one = self.decision.estimate
        low, high = (self._shown(end, unit="") for end in (one.low or 0.0, one.high or 0.0))
        return f"{self.measure} {self._shown(one.value)} [{low}, {high}]"

    def _shown(self, value: float, unit: str = " points") -> str:
        if self.measure == "return":
            return f"{value:+.3g}"
        points = value * 100
        is_hidden = points and not round(points, 1)  # an end that is almost 0 is not 0
        return f"{points:{'+.1g' if is_hidden else '+.1f'}}{unit}"


@dataclass
class SequentialComparison:
    """Chooses the episodes of a sequential comparison, and decides from them.

    Args:
        widths: For each environment, the largest difference that is possible.
        first: Name of the agent that the other one is compared with.
        second: Name of the other one.
        samples: Episodes of each agent and task.
        measure: ``success`` or ``return``.
        difference: The smallest difference that matters, as a share of the mean width.
        confidence: In (0, 1).
        seed: Seed of the run.
        fail_on_error: Nothing is decided while a larger share of the pairs has an error.
        against: The first agent's episodes if they were played before; None if both agents play.
        source: What the first agent's episodes are from, as messages call it.
    """

    widths: Mapping[str, float]
    first: str
    second: str
    samples: int
    measure: Measure
    difference: float
    confidence: float
    seed: int
    fail_on_error: float = 1.0
    against: Sequence[EpisodeRecord] | None = None
    source: str = ""
    reason: str = field(default="", init=False)
    """Why no more pairs can be played; empty while there may be more."""
    _other_openings: list[bool] = field(default_factory=list, init=False)  # of each pair
    _with_errors: list[bool] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._sequence = PairedSequence(
            self.widths, seed=self.seed, difference=self.difference, confidence=self.confidence
        )
        self._played: dict[tuple[bool, Group], list[EpisodeRecord]] = {}  # True: by the first agent
        self._seen: dict[Hashable, Group] = {}
        self._pending: list[tuple[Draw, Group]] = []
        for one in self.against or ():
            self._played.setdefault((True, (one.env_id, one.group)), []).append(one)
        self._known = {name: _whole_groups(self.against or (), name) for name in self.widths}

    def end(self, reason: str) -> Outcome:
        """Return how it ended; ``reason`` is why the run ended early, empty if it did not."""
        self.take()  # what was played of a block that was not finished
        self.reason = self.reason or reason
        return self.outcome()

    @property
    def agents(self) -> int:
        """The number of agents that play."""
        return 1 if self.against is not None else 2

    def add(self, episode: EpisodeRecord) -> None:
        """Take an episode, of whichever task."""
        is_first = self.against is None and episode.agent == self.first
        self._played.setdefault((is_first, (episode.env_id, episode.group)), []).append(episode)

    def block(self, episodes: int | None, concurrency: int) -> list[tuple[str, int]]:
        """Return the episodes to be played next, by each agent; none if there are no more.

        Args:
            episodes: The most episodes of the whole comparison; None for no limit.
            concurrency: How many episodes are played at the same time.
        """
        outcome = self.outcome()
        if outcome.reason or outcome.decision.verdict != "undecided":
            return []
        self._pending, done = [], self._sequence.pairs
        wanted = block_size(done, concurrency // self.samples)
        if episodes is not None:
            wanted = min(wanted, episodes // (self.agents * self.samples) - done)
        for draw in self._sequence.block(wanted):
            group = self._group(draw)
            if group is None:
                break
            self._pending.append((draw, group))
        if not self._pending and not self.reason:
            self.reason = "The budget is used up."
        return [
            (env_id, group * self.samples + sample)
            for _, (env_id, group) in self._pending
            for sample in range(self.samples)
        ]

    def _group(self, draw: Draw) -> Group | None:
        if self.against is None:
            return draw.env_id, draw.number
        known = self._known[draw.env_id]
        if draw.number >= known:
            self.reason = f"All {known:,} tasks of {draw.env_id} in {self.source} were played."
            return None
        return draw.env_id, draw.number

    def take(self) -> None:
        """Compare the pairs of the last block, up to the first one that was not played.

        Raises:
            ConfigError: An environment does not say whether an episode succeeded, or a return is
                not in the range that its spec names.
        """
        while self._pending:
            _, group = self._pending[0]
            first, second = (self._played.get((side, group), []) for side in (True, False))
            if not first or len(second) < self.samples:
                return
            if self.against is None and len(first) < self.samples:
                return
            if not self._is_new(second[0], group):
                return
            failed = any(one.failure is not None for one in (*first, *second))
            self._with_errors.append(failed)
            self._other_openings.append(not failed and first[0].opening != second[0].opening)
            gap = self._mean(second) - self._mean(first)
            gap = round(gap, 12)  # so that 0.1 + 0.2 - 0.3 is 0
            if abs(gap) > self.widths[group[0]] + 1e-9:
                raise ConfigError(
                    f"Returns of {group[0]} differ by {abs(gap):g}, more than the "
                    f"{self.widths[group[0]]:g} that its return_range allows, as with rewards for "
                    f"calls of tools: compare measure=success."
                )
            self._sequence.add(gap)
            self._pending.pop(0)

    def _is_new(self, episode: EpisodeRecord, group: Group) -> bool:
        earlier = self._seen.setdefault(episode.cluster, group)
        if earlier == group:
            return True
        if earlier[0] == group[0]:
            self.reason = f"All tasks of {group[0]} were played."
        else:
            self.reason = f"{earlier[0]} and {group[0]} ask the same questions."
        return False

    def _mean(self, episodes: Sequence[EpisodeRecord]) -> float:
        values = [self._value(one) for one in episodes]
        return sum(values) / len(values)

    def _value(self, episode: EpisodeRecord) -> float:
        if self.measure == "return":
            return episode.episode_return
        if episode.success is None and episode.failure is None:
            raise ConfigError(
                f"{episode.env_id} does not say whether an episode succeeded: compare "
                f"measure=return, which needs a return_range in its spec."
            )
        return float(bool(episode.success))

    def decision(self) -> Decision:
        """Return what is known so far."""
        return self._sequence.decision()

    def outcome(self) -> Outcome:
        """Return how the comparison ended, or stands."""
        decision, reason = self.decision(), self.reason
        errors = sum(self._with_errors[: decision.pairs])
        if errors > self.fail_on_error * decision.pairs:
            decision = replace(decision, verdict="undecided")
            reason = f"Errors ended an episode in {errors} of them: more than fail_on_error allows."
        draws = [self._sequence.draw(index) for index in range(decision.pairs)]
        return Outcome(
            first=self.first,
            second=self.second,
            measure=self.measure,
            smallest=self._sequence.difference,
            decision=decision,
            reason="" if decision.verdict != "undecided" else reason,
            pairs_by_env=dict(Counter(draw.env_id for draw in draws)),
            other_openings=sum(self._other_openings[: decision.pairs]),
            with_errors=errors,
        )


def comparison_of(
    job: Job[EvalKeys], factories: Mapping[str, EnvFactory], agents: Sequence[str]
) -> SequentialComparison | None:
    """Return the sequential comparison that is asked for; None without one.

    Args:
        job: The command.
        factories: The environments by name.
        agents: The names of the agents.

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
