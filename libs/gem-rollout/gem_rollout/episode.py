"""One episode: an agent acts in an environment until one of them ends it, or time is up.

``Episode`` is one body of code for all kinds of environments and agents: a generator that yields
what may be awaitable. ``play_episode`` drives one; the engine drives many at once.
"""

import math
import time
from collections.abc import Callable, Generator
from typing import Any

from gem_core.agent import Agent, Reply
from gem_core.env import Env, Step
from gem_core.errors import DeadlineError
from gem_core.faults import error_record
from gem_core.maybe_async import drive
from gem_core.observation import Info, Observation
from gem_core.optional import reset_options, seed_actions, seed_agent
from gem_core.seeded_env import SeededEnv, check_single_agent
from gem_core.seeding import child_seed
from gem_core.specs import EnvSpec
from gem_core.vector.slot import FAULTS
from gem_rollout.policy import FaultPolicy
from gem_rollout.trajectory import Trajectory, Turn

__all__ = ["Episode", "Phase", "name_of", "play_episode", "success_of"]

Phase = Callable[[], Generator[Any, Any, None]]


class Episode:
    """An episode under way.

    Args:
        env: The environment.
        agent: The agent.
        trajectory: What is filled with what happens.
        number: What the environment is asked the options of its reset for.
        policy: The deadlines.
    """

    def __init__(
        self, env: Env, agent: Agent, trajectory: Trajectory, number: int, policy: FaultPolicy
    ) -> None:
        self.env = env
        self.agent = agent
        self.trajectory = trajectory
        self.error: BaseException | None = None
        """What ended it early."""
        self.until = math.inf
        """When what it does now must have ended, on the clock of ``time.perf_counter``."""
        self.late = False
        """Whether a deadline ended it."""
        self.forked = False
        """Whether its environment is a fork, made for it alone."""
        self.left = False
        """Whether a thread is still in it, which closes environment and agent when it returns."""
        self.first: tuple[Observation, Info] = "", {}
        """What the reset returned."""
        self._number = number
        self._boundary = "env"
        self._playing = False
        self._limit = ""
        self._turn_seconds = policy.turn_deadline
        self._seconds = policy.episode_deadline
        self._end = math.inf
        if self._seconds is not None:
            self._end = self.until = time.perf_counter() + self._seconds
            self._limit = f"the {self._seconds:g} seconds of episode_deadline"

    def run(self, *phases: Phase) -> Generator[Any, Any, None]:
        """Go through phases; an error ends the episode, and is kept."""
        try:
            for phase in phases:
                yield from phase()
        except FAULTS as error:
            if not self.left:
                self.fail(error)

    def reset(self) -> Generator[Any, Any, None]:
        """Reset the environment."""
        check_single_agent(self.env, "a rollout")
        started = time.perf_counter()
        try:
            options = reset_options(self.env, self._number)
            first = yield self.env.reset(seed=self.trajectory.seed, **options)
        finally:
            self.trajectory.setup_seconds += time.perf_counter() - started
        self.show(first)

    def show(self, first: tuple[Observation, Info], *, forked: bool = False) -> None:
        """Take what a reset returned.

        Args:
            first: What it returned.
            forked: Whether another episode was reset, and this environment is a fork.
        """
        self.first, self.forked = first, forked
        trajectory = self.trajectory
        trajectory.final_observation, trajectory.reset_info = first
        if trajectory.sample or forked:  # random agents of a group are to differ
            path = ("actions", trajectory.sample) if trajectory.sample else ("actions",)
            seed_actions(self.env, child_seed(trajectory.seed, *path))

    def play(self) -> Generator[Any, Any, None]:
        """Take turns until the episode ends."""
        env, agent, trajectory, clock = self.env, self.agent, self.trajectory, time.perf_counter
        observation, info = self.first
        name, turns = trajectory.agent, trajectory.turns
        self._check(clock())
        self._playing = True
        self._boundary, before = "agent", clock()
        self._begin_turn(before)
        seed_agent(agent, child_seed(trajectory.seed, "agent", trajectory.sample))
        agent.reset(env)
        while True:
            said = yield agent.act(observation, info)
            action, generation = said if isinstance(said, Reply) else (said, None)
            between = clock()
            if between > self.until:
                raise self.overdue()
            self._boundary = "env"
            step: Step = yield env.step(action)
            after = clock()
            seen, (observation, reward, terminated, truncated, info) = observation, step
            turns.append(
                Turn(
                    name,
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
            self._boundary, before = "agent", after
            self._begin_turn(after)

    def _begin_turn(self, now: float) -> None:
        if self._turn_seconds is not None and now + self._turn_seconds < self._end:
            self.until = now + self._turn_seconds
            self._limit = f"the {self._turn_seconds:g} seconds of turn_deadline"
        elif self.until != self._end:
            self.until = self._end
            self._limit = f"the {self._seconds:g} seconds of episode_deadline"

    def _check(self, now: float) -> None:
        if now > self.until:
            raise self.overdue()

    def overdue(self) -> DeadlineError:
        """Return the error of a deadline that has passed, and note that it has."""
        self.late, self.until = True, math.inf
        who = "agent" if self._boundary == "agent" else "environment"
        turns = len(self.trajectory.turns)
        where = f"turn {turns + 1}" if self._playing else "its reset"
        return DeadlineError(f"The {who} was not done with {where} within {self._limit}.")

    def fail(self, error: BaseException) -> None:
        """End the episode with an error."""
        self.error = error
        self.trajectory.error = error_record(error, self._boundary)

    def leave(self) -> None:
        """End the episode while a thread is in it, which changes nothing of it any more."""
        self.left = True
        kept = Trajectory(**{**vars(self.trajectory), "turns": list(self.trajectory.turns)})
        self.trajectory = kept
        self.fail(self.overdue())

    def finish(self) -> Trajectory:
        """Return the trajectory of the episode, which has ended."""
        self.trajectory.success = success_of(self.env.spec, self.trajectory)
        return self.trajectory


def name_of(env: Env | SeededEnv) -> str:
    """Return the id of an environment, or the name of its class."""
    return env.spec.id if env.spec is not None else type(env).__name__


def success_of(spec: EnvSpec | None, trajectory: Trajectory) -> bool | None:
    """Tell whether an episode succeeded; None if neither its last info nor the spec tells."""
    # What tools are paid adds to the return, so an environment's own word is worth more.
    correct = trajectory.turns[-1].info.get("correct") if trajectory.turns else None
    if isinstance(correct, bool):
        return correct and trajectory.error is None
    if spec is None or spec.return_range is None:
        return None
    if trajectory.error is not None:
        return False
    return trajectory.episode_return >= spec.return_range[1] - 1e-9


def play_episode(
    env: Env, agent: Agent, seed: int, index: int = 0, agent_name: str = "agent"
) -> Any:
    """Play one episode; returns its trajectory, or an awaitable of it.

    Args:
        env: The environment; it is reset with ``seed``, and with its own options for ``index``.
        agent: The agent.
        seed: Seed of the episode.
        index: Number of the episode.
        agent_name: Name for the trajectory.
    """
    return drive(_play(env, agent, seed, index, agent_name))


def _play(
    env: Env, agent: Agent, seed: int, index: int, agent_name: str
) -> Generator[Any, Any, Trajectory]:
    trajectory = Trajectory(name_of(env), agent_name, index, seed)
    trajectory.group, trajectory.started_at = index, time.time()
    episode = Episode(env, agent, trajectory, index, FaultPolicy())
    yield from episode.run(episode.reset, episode.play)
    return episode.finish()
