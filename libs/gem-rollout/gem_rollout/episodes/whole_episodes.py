"""Whole episodes with their agents in the workers of a pool: a request and an answer for each.

The worker keeps environment and agent, and the host gets the trajectory. The agent must be able to
act anywhere; ``processes`` plays with those that cannot.
"""

import asyncio
import functools
import hashlib
import math
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gem_core.agent import Agent
from gem_core.env import Env
from gem_core.errors import ConfigError, DeadlineError
from gem_core.faults import error_record
from gem_core.specs import AgentSpec, EnvSpec
from gem_rollout.episodes.episode import Episode, name_of
from gem_rollout.episodes.policy import FaultPolicy
from gem_rollout.episodes.pool import close_quietly
from gem_rollout.episodes.runner import Runner
from gem_rollout.episodes.threads import GRACE, Threads
from gem_rollout.records.trajectory import Trajectory
from gem_workers import WorkerPool
from gem_workers.pickles import portable
from gem_workers.pools import Last, Pool
from gem_workers.row_files import RowFiles

__all__ = ["Order", "PlayedEpisode", "WholeEpisodes", "is_movable", "play_whole"]

_TARGET = f"{__name__}:play_whole"


@dataclass(frozen=True, kw_only=True)
class Order:
    """An episode to play.

    Args:
        trajectory: The record, still without turns.
        number: The number for the environment's ``reset_options``.
        run_seed: Seed of the run.
        policy: The deadlines.
    """

    trajectory: Trajectory
    number: int
    run_seed: int
    policy: FaultPolicy


@dataclass(kw_only=True)
class PlayedEpisode:
    """An episode that a worker has played.

    Args:
        trajectory: The complete record.
        error: The error that ended it early.
        late: Whether it missed a deadline.
        abandoned: Whether a step went on after its deadline.
        task_count: The environment's number of tasks; None if it has none.
        made: Whether the environment and the agent could be made.
    """

    trajectory: Trajectory
    error: BaseException | None = None
    late: bool = False
    abandoned: bool = False
    task_count: int | None = None
    made: bool = True


class WholeEpisodes:
    """Plays the episodes of an environment in the workers of a pool.

    Args:
        make_env: Makes the environment.
        pool: The workers.
    """

    def __init__(self, make_env: Callable[[], Env], pool: Pool) -> None:
        self._make_env = make_env
        self._pool = pool
        self._files = RowFiles(here=isinstance(pool, WorkerPool))
        self._packed: tuple[Callable[[], Agent], bytes, bytes] | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """The spec of the environment; None if its factory has none."""
        return getattr(self._make_env, "spec", None)

    @property
    def name(self) -> str:
        """The id of the environment, or the name of its class or factory."""
        if self.spec is not None:
            return self.spec.id
        return getattr(self._make_env, "__name__", type(self._make_env).__name__)

    async def play(self, make_agent: Callable[[], Agent], order: Order) -> PlayedEpisode:
        """Play an episode.

        Raises:
            ConfigError: The environment or the agent cannot be pickled.
            WorkerDiedError: The worker died.
        """
        key, blob = self._pack(make_agent)
        limit = order.policy.episode_deadline
        # The worker itself keeps the deadlines; this is for steps that do not let it.
        deadline = math.inf if limit is None else limit + 2 * GRACE
        try:
            for known in (True, False):
                sent = b"" if known else self._pool.shared(blob)
                played = await self._pool.call_async(_TARGET, key, sent, order, deadline=deadline)
                if played is not None:
                    break
        except DeadlineError:
            return _overdue(order)
        return played  # type: ignore[no-any-return]

    def _pack(self, make_agent: Callable[[], Agent]) -> tuple[bytes, bytes]:
        """Return the pickled factories and their hash."""
        if self._packed is None or self._packed[0] is not make_agent:
            try:
                (blob,) = self._files.dump([(self._make_env, make_agent)])
            except Exception as error:
                raise ConfigError(
                    f"An agent that is movable must be picklable, with its arguments, and so must "
                    f"the environment: {error}"
                ) from error
            self._packed = make_agent, hashlib.blake2b(blob, digest_size=16).digest(), blob
        return self._packed[1:]


def _overdue(order: Order) -> PlayedEpisode:
    error = DeadlineError(
        f"The episode did not end within the {order.policy.episode_deadline:g} seconds of "
        f"episode_deadline; its worker was killed."
    )
    order.trajectory.error = error_record(error, "env")
    return PlayedEpisode(trajectory=order.trajectory, error=error, late=True, abandoned=True)


class _Stack:
    """The environment and the agent of a worker, made when needed and used again."""

    def __init__(self, blob: bytes) -> None:
        self.make_env, self.make_agent = pickle.loads(blob)  # noqa: S301 - from our own process
        self.env: Env | None = None
        self.agent: Agent | None = None

    def prepare(self, *, fresh: bool) -> float:
        """Make the missing environment and agent; return the seconds that this took."""
        if fresh:
            self.discard()
        started = time.perf_counter()
        if self.env is None:
            self.env = self.make_env()
        if self.agent is None:
            self.agent = self.make_agent()
        return time.perf_counter() - started

    def discard(self) -> None:
        env, agent, self.env, self.agent = self.env, self.agent, None, None
        close_quietly(env, agent)


_stacks: dict[bytes, _Stack] = {}
"""The environments and agents of a worker process, by key."""
_loop: asyncio.AbstractEventLoop | None = None
"""The event loop of a worker process: connections of agents belong to it."""


def play_whole(key: bytes, blob: bytes, order: Order) -> Any:
    """Play an episode in a worker process.

    Args:
        key: Hash of the pickled factories.
        blob: The pickled factories; empty if the worker probably has them.
        order: The episode.

    Returns:
        ``PlayedEpisode``, in ``Last`` if a step still runs; None if the worker lacks the factories.
    """
    global _loop  # noqa: PLW0603 - see above
    if key not in _stacks:
        if not blob:
            return None
        _stacks[key] = _Stack(blob)
    stack = _stacks[key]
    try:
        order.trajectory.setup_seconds = stack.prepare(fresh=order.trajectory.attempts > 1)
    except Exception as error:  # noqa: BLE001 - raised or recorded in the host
        order.trajectory.error = error_record(error, "env")
        return PlayedEpisode(trajectory=order.trajectory, error=portable(error), made=False)
    if _loop is None:
        _loop = asyncio.new_event_loop()
    played = _loop.run_until_complete(_played(stack, order))
    if played.error is not None:
        stack.discard()
        played.error = portable(played.error)
    return Last(played) if played.abandoned else played


async def _played(stack: _Stack, order: Order) -> PlayedEpisode:
    env, agent = stack.env, stack.agent
    assert env is not None and agent is not None  # noqa: S101, PT018 - prepared
    policy = order.policy
    order.trajectory.env_id, order.trajectory.started_at = name_of(env), time.time()
    episode = Episode(env, agent, order.trajectory, order.number, policy, run_seed=order.run_seed)
    threads = Threads()
    has_deadline = policy.turn_deadline is not None or policy.episode_deadline is not None
    runner = Runner(threads, policy.turn_deadline, in_thread=has_deadline)
    try:
        await runner.run(episode, episode.reset, episode.play)
    finally:
        threads.close()
    count = getattr(env.unwrapped, "task_count", None)
    if episode.abandoned:
        stack.env = stack.agent = None  # the thread closes them
    return PlayedEpisode(
        trajectory=episode.finish(),
        error=episode.error,
        late=episode.deadline.missed,
        abandoned=episode.abandoned,
        task_count=count if isinstance(count, int) else None,
    )


def is_movable(make_agent: Any) -> bool:
    """Return whether what an agent's class says of itself is that its copies may act anywhere."""
    if isinstance(make_agent, functools.partial):
        make_agent = make_agent.func
    owner = getattr(make_agent, "__self__", None)
    target = owner.load() if isinstance(owner, AgentSpec) else make_agent
    return getattr(target, "movable", False) is True
