"""Collects the episodes that a step learns from.

The episodes of a step depend only on the seed, the step and the curriculum's state. Groups are
numbered throughout the run, and the number of a group determines its source and its start state.
"""

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from gem_core.agent import Agent, BaseAgent, Reply
from gem_core.env import Env
from gem_core.errors import ConfigError
from gem_core.observation import Info, Observation
from gem_core.seeding import child_seed
from gem_rollout import Component, FaultPolicy, Report, Trajectory, collect
from gem_rollout.episodes.components import Sampler
from gem_rollout.records.failures import Failures
from gem_train.config import RolloutConfig
from gem_train.errors import (
    FailedEpisodesError,
    FilteredOutError,
    NoEpisodesError,
    TooManyErrorsError,
)
from gem_train.filters import EpisodeFilter
from gem_train.transitions import trainable

__all__ = ["INVALID_ACTION", "Collector", "CutIsInvalid"]

INVALID_ACTION = "<｜INVALID_ACTION｜>"  # noqa: RUF001 - bars that no response has by chance
"""The action that replaces a response that was cut at its token limit."""


class CutIsInvalid(BaseAgent):
    """Replaces a response that was cut at its token limit by an invalid action.

    An answer early in such a response is then not a success, and the environment's penalty teaches
    the model to end its responses. The model's own history keeps the original response.

    Args:
        agent: The agent that samples from the model.
    """

    def __init__(self, agent: Any) -> None:
        self._agent = agent

    def seed_episode(self, seed: int) -> None:
        self._agent.seed_episode(seed)

    def reset(self, env: Env) -> None:
        self._agent.reset(env)

    def act(self, observation: Observation, info: Info) -> Awaitable[Reply]:
        """Return an awaitable of the reply."""
        return self._act(observation, info)

    async def _act(self, observation: Observation, info: Info) -> Reply:
        reply: Reply = await self._agent.act(observation, info)
        if reply.generation is not None and reply.generation.finish_reason == "length":
            return Reply(INVALID_ACTION, reply.generation)
        return reply

    def close(self) -> None:
        self._agent.close()


class Collector:
    """Collects whole episodes.

    Args:
        sources: The environments by name.
        make_agent: Makes an agent that samples from the policy.
        config: The number of episodes, and further options.
        group_size: Number of episodes that share a start state.
        seed: Seed of the run.
        curriculum: Adapts the shares of the sources; None for their own weights.
        filters: Choose the groups that are learned from.

    Raises:
        ConfigError: The number of episodes is not a multiple of the group size.
    """

    def __init__(
        self,
        sources: Mapping[str, Component],
        make_agent: Callable[[], Agent],
        config: RolloutConfig,
        *,
        group_size: int,
        seed: int,
        curriculum: Sampler | None = None,
        filters: Sequence[EpisodeFilter] = (),
    ) -> None:
        if config.episodes % group_size:
            raise ConfigError(
                f"rollout.episodes ({config.episodes}) must be a multiple of the group size "
                f"({group_size}); set rollout.group_size or rollout.episodes."
            )
        self._sources = dict(sources)
        self._make_agent = make_agent
        self._config = config
        self._group_size = group_size
        self._seed = seed
        self._curriculum = curriculum
        self._filters = filters
        self._groups = 0
        self._begun = dict.fromkeys(self._sources, 0)
        self._report = Report()
        self._kept: list[Trajectory] = []

    def collect(self) -> list[Trajectory]:
        """Play ``rollout.episodes`` episodes, and return them in the order of their numbers.

        With ``rollout.turns``, further waves of as many episodes follow until there are enough
        turns to learn from; with filters, until as many episodes are kept.

        Raises:
            NoEpisodesError: All episodes of a wave ended in an error.
            TooManyErrorsError: More of them did than ``rollout.max_error_share``.
            FilteredOutError: The filters keep too little to learn from.
        """
        before = self.state_dict()
        try:
            trajectories, self._kept, waves = [], [], 0
            while self._wants_more(waves):
                wave = self._wave()
                trajectories += wave
                self._keep(wave)
                waves += 1
            self._check_kept(trajectories)
        except BaseException:  # such as Ctrl-C: a resumed run repeats the step
            self.load_state_dict(before)
            raise
        if self._curriculum is not None:
            for one in trajectories:
                self._curriculum.update(one)
        return trajectories

    def kept(self) -> list[Trajectory]:
        """Return the last episodes without an error that were not filtered: the training data."""
        return self._kept

    def _wants_more(self, waves: int) -> bool:
        if waves == 0 or not self._filters:
            return waves == 0 or self._turns(self._kept) < (self._config.turns or 0)
        return waves < self._config.max_waves and not self._has_enough()

    def _has_enough(self) -> bool:
        turns = self._turns(self._kept)
        return len(self._kept) >= self._config.episodes and turns >= (self._config.turns or 0)

    def _keep(self, wave: list[Trajectory]) -> None:
        """Add the groups of a wave that the filters keep, until there are enough."""
        groups: dict[tuple[str, int], list[Trajectory]] = {}
        for one in trainable(wave, keep_failed=self._config.keep_failed):
            groups.setdefault((one.component, one.index // self._group_size), []).append(one)
        kept = list(groups.values())
        for chooses in self._filters:
            flags = chooses.filter_groups(kept)
            if len(flags) != len(kept):
                raise ConfigError(
                    f"{type(chooses).__name__}.filter_groups must return one value for each of "
                    f"{len(kept)} groups; got {len(flags)}."
                )
            kept = [group for group, is_kept in zip(kept, flags, strict=True) if is_kept]
        for group in kept:
            if not self._filters or not self._has_enough():
                self._kept += group

    def _check_kept(self, trajectories: list[Trajectory]) -> None:
        """Raise if there is not enough to learn from."""
        turns = self._turns(self._kept)
        if self._kept and turns >= (self._config.turns or 0):
            return
        names = ", ".join(type(one).__name__ for one in self._filters)
        raise FilteredOutError(
            f"The filters ({names}) keep {len(self._kept)} of {len(trajectories)} episodes with "
            f"{turns} turns, which is too little to learn from. Choose other tasks or filters, or "
            f"raise rollout.max_waves (now {self._config.max_waves}) or rollout.group_size."
        )

    def _turns(self, trajectories: list[Trajectory]) -> int:
        keeps = self._config.keep_failed
        return sum(len(one.turns) for one in trajectories if keeps or one.error is None)

    def _wave(self) -> list[Trajectory]:
        numbers = list(self._numbers())
        rollout = collect(
            self._sources,
            self._make_agent,
            episodes=numbers,
            episodes_per_group=self._group_size,
            fork_groups=self._config.fork_groups,
            seed=self._seed,
            concurrency=self._config.concurrency,
            agent_name="policy",
            policy=FaultPolicy(
                on_error="retry" if self._config.retries else "record",
                retries=self._config.retries,
                turn_deadline=self._config.turn_deadline,
            ),
        )
        position = {pair: number for number, pair in enumerate(numbers)}
        found = sorted(rollout, key=lambda one: position[one.component, one.index])
        self._report = rollout.report
        self._check_errors(found)
        return found

    def _check_errors(self, found: list[Trajectory]) -> None:
        """Raise if too many episodes ended in an error to learn from the others."""
        share = sum(one.error is not None for one in found) / len(found)
        limit, kind = self._config.max_error_share, FailedEpisodesError
        if not self._turns(found):
            message, kind = "There is nothing to learn from in a step.", NoEpisodesError
        elif share > limit:
            kind = TooManyErrorsError
            message = (
                f"{share:.0%} of the episodes of a step ended in an error, and "
                f"rollout.max_error_share is {limit:.0%}. The step was not learned from: mend the "
                f"cause, or raise the limit."
            )
        else:
            return
        failures = Failures()
        for one in found:
            failures.add(one)
        raise kind("\n".join([message, *failures.lines()]), found)

    def _numbers(self) -> Iterator[tuple[str, int]]:
        """Yield the episodes of a wave: the source, and the number of the episode within it."""
        weights = {name: source.weight for name, source in self._sources.items()}
        if self._curriculum is not None:
            weights = dict(self._curriculum.weights(self._report))
        names = list(weights)
        shares = list(accumulate(weights.values()))
        for _ in range(self._config.episodes // self._group_size):
            part = child_seed(self._seed, "source", self._groups) / 2**63 * shares[-1]
            name = names[min(bisect_right(shares, part), len(names) - 1)]
            first = self._begun[name] * self._group_size
            self._groups += 1
            self._begun[name] += 1
            for index in range(first, first + self._group_size):
                yield name, index

    def state_dict(self) -> dict[str, Any]:
        """Return the counters of groups, for a checkpoint."""
        return {"groups": self._groups, "begun": dict(self._begun)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a state that ``state_dict`` returned.

        Raises:
            ConfigError: The state belongs to other environments.
        """
        if state["begun"].keys() != self._begun.keys():
            raise ConfigError(
                f"The checkpoint was made with {', '.join(state['begun'])}, not with "
                f"{', '.join(self._begun)}. Resume it with the same environments."
            )
        self._groups, self._begun = state["groups"], dict(state["begun"])
