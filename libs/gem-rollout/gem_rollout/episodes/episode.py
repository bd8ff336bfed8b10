"""One episode: an agent acts in an environment until the episode ends or a deadline is missed.

``Episode`` is one body of code for all kinds of environments and agents: a generator that yields
values that may be awaitable. ``play_episode`` drives one of them; the engine drives many.
"""

import time
from collections.abc import Callable, Generator, Mapping
from enum import Enum, auto
from typing import Any

from gem_core.agent import Agent, Reply
from gem_core.env import Env, Step
from gem_core.errors import DeadlineError
from gem_core.faults import checked_reward, error_record
from gem_core.maybe_async import drive
from gem_core.observation import Info, Observation
from gem_core.optional import seed_actions, seed_agent
from gem_core.seeded_env import SeededEnv, check_single_agent
from gem_core.seeding import child_seed
from gem_core.specs import EnvSpec
from gem_core.vector.slot import FAULTS
from gem_rollout.episodes.components import options_of_reset
from gem_rollout.episodes.deadline import Deadline
from gem_rollout.episodes.policy import FaultPolicy
from gem_rollout.records.observations import Observations
from gem_rollout.records.trajectory import Trajectory, Turn
from gem_rollout.tokens.limits import LimitReachedError

__all__ = ["Episode", "Phase", "State", "name_of", "play_episode", "success_of"]

Phase = Callable[[], Generator[Any, Any, None]]


class State(Enum):
    """The state of an episode."""

    RESETTING = auto()
    ACTING = auto()
    """The agent chooses an action."""
    STEPPING = auto()
    """The environment takes the action."""


class Episode:
    """An episode in progress. Only its own methods change it.

    Args:
        env: The environment.
        agent: The agent.
        trajectory: The record, filled as the episode goes on.
        number: The number for the environment's ``reset_options``.
        policy: The deadlines.
        run_seed: The seed for the environment's ``reset_options``; None without a run.
        forked: Whether the environment is a fork for this episode alone.
    """

    def __init__(
        self,
        env: Env,
        agent: Agent,
        trajectory: Trajectory,
        number: int,
        policy: FaultPolicy,
        *,
        run_seed: int | None = None,
        forked: bool = False,
    ) -> None:
        self.env = env
        self.agent = agent
        self.trajectory = trajectory
        self.forked = forked
        self.state = State.RESETTING
        self.error: BaseException | None = None
        """The error that ended it early."""
        self.first: tuple[Observation, Info] = "", {}
        """Observation and info of the reset."""
        self.deadline = Deadline(policy)
        self.abandoned = False
        """Whether a thread is still in it, which closes environment and agent when it returns."""
        self.is_waiting = False
        """Whether it awaits something, such as a model."""
        self._number, self._run_seed = number, run_seed

    def run(self, *phases: Phase) -> Generator[Any, Any, None]:
        """Run phases one after another; an error ends the episode and is recorded.

        A limit of tokens that the agent has reached truncates it. One that a model within the
        environment has reached, such as a judge, is an error.
        """
        try:
            for phase in phases:
                yield from phase()
        except FAULTS as error:
            if self.abandoned:
                return
            if isinstance(error, LimitReachedError) and self.state is State.ACTING:
                self.truncate(error.limit)
            else:
                self.fail(error)

    def reset(self) -> Generator[Any, Any, None]:
        """Reset the environment, with the options that the trajectory has if it is a replay."""
        check_single_agent(self.env, "a rollout")
        trajectory, started = self.trajectory, time.perf_counter()
        try:
            if trajectory.reset_options is None:
                options = options_of_reset(self.env, self._number, self._run_seed)
                trajectory.reset_options = options
            first = yield self.env.reset(seed=trajectory.seed, **trajectory.reset_options)
        finally:
            trajectory.setup_seconds += time.perf_counter() - started
        self.begin(first)

    def begin(self, first: tuple[Observation, Info]) -> None:
        """Begin with the observation and info of a reset, or of the reset that was forked."""
        self.first = first
        trajectory = self.trajectory
        trajectory.final_observation, trajectory.reset_info = first
        if trajectory.sample or self.forked:  # random agents of a group should differ
            path = ("actions", trajectory.sample) if trajectory.sample else ("actions",)
            seed_actions(self.env, child_seed(trajectory.seed, *path))

    def play(self) -> Generator[Any, Any, None]:
        """Take turns until the episode ends."""
        env, agent, trajectory, clock = self.env, self.agent, self.trajectory, time.perf_counter
        deadline = self.deadline
        observation, info = self.first
        self._check(clock())
        self.state, before = State.ACTING, clock()
        deadline.begin_turn(before)
        seed_agent(agent, child_seed(trajectory.seed, "agent", trajectory.sample))
        agent.reset(env)
        observations = Observations()
        while True:
            said = yield agent.act(observation, info)
            action, generation = said if isinstance(said, Reply) else (said, None)
            between = clock()
            self._check(between)
            self.state = State.STEPPING
            step: Step = yield env.step(action)
            after = clock()
            seen = observations.keep(observation)
            observation, reward, terminated, truncated, info = step
            reward = checked_reward(reward, env.unwrapped)
            trajectory.turns.append(
                Turn(
                    trajectory.agent,
                    seen,
                    action,
                    reward,
                    terminated,
                    truncated,
                    info,
                    between - before,
                    after - between,
                    generation,
                )
            )
            trajectory.final_observation = observation
            self._check(after)
            if terminated or truncated:
                return
            self.state, before = State.ACTING, after
            deadline.begin_turn(after)

    def _check(self, now: float) -> None:
        if now > self.deadline.until:
            raise self.overdue()

    def overdue(self) -> DeadlineError:
        """Note that the deadline was missed, and return the error."""
        who = "agent" if self.state is State.ACTING else "environment"
        turn = f"turn {len(self.trajectory.turns) + 1}"
        return self.deadline.miss(who, "its reset" if self.state is State.RESETTING else turn)

    def truncate(self, limit: str) -> None:
        """End the episode after its last turn, because no tokens are left for another."""
        last = self.trajectory.turns[-1]
        last.truncated = True
        last.info = {**last.info, "truncated_by": limit}

    def fail(self, error: BaseException) -> None:
        """Record the error that ends the episode."""
        self.error = error
        boundary = "agent" if self.state is State.ACTING else "env"
        self.trajectory.error = error_record(error, boundary)
        if spent := getattr(error, "spent", None):  # by a judge that has failed
            self.trajectory.error["spent"] = dict(spent)

    def abandon(self) -> None:
        """End the episode while a thread is in it; the thread no longer changes the trajectory."""
        self.abandoned = True
        kept = Trajectory(**{**vars(self.trajectory), "turns": list(self.trajectory.turns)})
        self.trajectory = kept
        self.fail(self.overdue())

    def finish(self) -> Trajectory:
        """Return the trajectory of the episode, which has ended."""
        self.trajectory.success = success_of(self.env.spec, self.trajectory)
        return self.trajectory


def name_of(env: Env | SeededEnv) -> str:
    """Return the id of an environment, or the name of its class if it has no spec."""
    if env.spec is not None:
        return env.spec.id
    return getattr(env, "shown_name", None) or type(env).__name__


def success_of(spec: EnvSpec | None, trajectory: Trajectory) -> bool | None:
    """Return whether an episode succeeded; None if neither its last info nor the spec says so."""
    # Rewards for tool calls add to the return, so the environment's own verdict comes first.
    correct = trajectory.turns[-1].info.get("correct") if trajectory.turns else None
    if isinstance(correct, bool):
        return correct and trajectory.error is None
    if spec is None or spec.return_range is None:
        return None
    if trajectory.error is not None:
        return False
    return trajectory.episode_return >= spec.return_range[1] - 1e-9


def play_episode(
    env: Env,
    agent: Agent,
    seed: int,
    index: int = 0,
    agent_name: str = "agent",
    *,
    reset_options: Mapping[str, Any] | None = None,
) -> Any:
    """Play one episode; returns its trajectory, or an awaitable of it.

    Args:
        env: The environment; it is reset with ``seed``.
        agent: The agent.
        seed: Seed of the episode.
        index: Number of the episode.
        agent_name: Name of the agent in the trajectory.
        reset_options: Further options of the reset; None for the environment's own for ``index``.
    """
    trajectory = Trajectory(name_of(env), agent_name, index, seed)
    trajectory.reset_options = None if reset_options is None else dict(reset_options)
    return drive(_play(env, agent, trajectory))


def _play(env: Env, agent: Agent, trajectory: Trajectory) -> Generator[Any, Any, Trajectory]:
    index = trajectory.index
    trajectory.group, trajectory.started_at = index, time.time()
    episode = Episode(env, agent, trajectory, index, FaultPolicy())
    yield from episode.run(episode.reset, episode.play)
    return episode.finish()
