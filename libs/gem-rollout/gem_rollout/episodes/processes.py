"""Environments with expensive steps, played in worker processes.

Where the agent can be moved, a worker plays whole episodes (``whole_episodes``). Otherwise an
environment is a snapshot between two turns, so that any idle worker can take the next step of any
episode. No step waits for another episode's slow step, a fork copies bytes, and a missed deadline
costs one worker.
"""

import asyncio
import hashlib
import math
import pickle
import traceback
from collections.abc import Callable
from typing import Any, Self

from gem_core.agent import Agent
from gem_core.env import AsyncEnv, Env, Step
from gem_core.errors import ConfigError, SnapshotError
from gem_core.maybe_async import is_awaitable
from gem_core.observation import Action, Info, Observation
from gem_core.optional import seed_actions
from gem_core.seeding import check_seed
from gem_rollout.episodes.components import options_of_reset
from gem_rollout.episodes.episode import name_of
from gem_rollout.episodes.whole_episodes import WholeEpisodes, is_movable
from gem_workers import Pool, WorkerPool, shared_pool
from gem_workers.pickles import portable
from gem_workers.row_files import RowFiles

__all__ = ["PooledFactory", "ProcessEnv", "in_processes", "play_part"]

_TARGET = f"{__name__}:play_part"
_MODULES = (__name__, "gem_rollout.episodes.whole_episodes")


def in_processes(make_env: Callable[[], Env], *, pool: Pool | None = None) -> "PooledFactory":
    """Return a function that makes environments that compute in worker processes.

    Use it for environments whose ``reset`` or ``step`` computes for milliseconds or longer. If the
    agent's class is ``movable``, as the programs of gem-core are, each worker plays whole episodes
    with an agent of its own; groups that fork are excepted. Otherwise the agent acts in this
    process and any worker takes the next step: each call adds a snapshot and a message, and what
    agents ask for (a random action, attributes that an oracle reads) is answered here.

    Args:
        make_env: Makes the environment; cloudpickle must be able to pickle it. The environment's
            snapshots must hold its whole state.
        pool: The workers; None for the shared pool of this process.

    Raises:
        ConfigError: ``make_env`` cannot be pickled.
    """
    files = RowFiles(here=pool is None or isinstance(pool, WorkerPool))
    try:
        (blob,) = files.dump([make_env])
    except Exception as error:
        raise ConfigError(
            f"An environment for worker processes must be picklable, with its arguments, tools "
            f"and wrappers: {error}"
        ) from error
    return PooledFactory(_Origin(make_env, blob, pool, files))


class PooledFactory:
    """Makes environments that compute in the workers of a pool; made by ``in_processes``.

    Args:
        origin: Factory and pool.
    """

    def __init__(self, origin: "_Origin") -> None:
        self._origin = origin
        self._whole: WholeEpisodes | None = None

    @property
    def spec(self) -> Any:
        """The spec of the environments; None if their factory has none."""
        return getattr(self._origin.make_env, "spec", None)

    def __call__(self) -> Any:
        """Return an environment, a ``ProcessEnv``."""
        return ProcessEnv(self._origin)

    def whole_episodes(self, make_agent: Callable[[], Agent]) -> WholeEpisodes | None:
        """Return the ``WholeEpisodes`` to play with an agent; None to play in steps."""
        if not is_movable(make_agent):
            return None
        if self._whole is None:
            self._whole = WholeEpisodes(self._origin.make_env, self._origin.pool)
        return self._whole


class _Origin:
    """The shared part of all environments of one ``in_processes``: factory, pool, local copy."""

    def __init__(
        self, make_env: Callable[[], Env], blob: bytes, pool: Pool | None, files: RowFiles
    ) -> None:
        self.make_env = make_env
        self._files = files  # which the pickle refers to
        self._blob = blob
        self._key = hashlib.blake2b(blob, digest_size=16).digest()
        self._pool = pool
        self._env: Env | None = None

    @property
    def env(self) -> Env:
        """The copy in this process, in any state."""
        if self._env is None:
            self._env = self.make_env()
        return self._env

    @property
    def pool(self) -> Pool:
        """The workers."""
        return self._pool or shared_pool(preload=_MODULES)

    async def call(self, method: str, state: bytes, argument: Any) -> Any:
        """Call a method in a worker, and send the factory first if the worker lacks it."""
        pool = self.pool
        for known in (True, False):
            blob = b"" if known else pool.shared(self._blob)
            answer = await pool.call_async(
                _TARGET, self._key, blob, method, state, argument, deadline=math.inf
            )
            if answer is not None:
                break
        if isinstance(answer, Exception):
            raise answer
        return answer


class ProcessEnv(AsyncEnv):
    """An environment that computes in worker processes; made by ``in_processes``.

    Args:
        origin: Factory and pool.
    """

    def __init__(self, origin: _Origin) -> None:
        self._origin = origin
        self._state = b""
        self.spec = origin.env.spec
        self.shown_name = name_of(origin.env)
        """The name in trajectories, if there is no spec."""

    async def start(self) -> tuple[Observation, Info]:
        """Start an episode with the next seed and no options."""
        return await self._reset({})

    def reset(self, *, seed: int | None = None, **options: Any) -> Any:
        """Start an episode; see ``Env.reset``."""
        if seed is not None:
            options["seed"] = check_seed(seed)
        self._ended = None
        return self._reset(options)

    async def _reset(self, options: dict[str, Any]) -> tuple[Observation, Info]:
        first, self._state = await self._origin.call("reset", self._state, options)
        self._ended = False
        return first  # type: ignore[no-any-return]

    async def step(self, action: Action) -> Step:
        """Take one action; see ``Env.step``."""
        step, self._state = await self._origin.call("step", self._state, action)
        return Step(*step)

    def reset_options(self, number: int, seed: int | None = None) -> dict[str, Any]:
        return options_of_reset(self._origin.env, number, seed)

    def sample_random_action(self) -> Action:
        env = self._here()
        action = env.sample_random_action()
        self._state = env.snapshot()
        return action

    def seed_actions(self, seed: int) -> None:
        env = self._here()
        seed_actions(env, seed)
        self._state = env.snapshot()

    def _here(self) -> Env:
        """Return the copy in this process, restored to the current state."""
        env = self._origin.env
        if self._state:
            env.restore(self._state)
        return env

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the environment, such as an oracle reads."""
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._here().unwrapped, name)

    def snapshot(self) -> bytes:
        """Return the whole state; see ``Env.snapshot``."""
        return pickle.dumps((self._ended, self._state))

    def restore(self, snapshot: bytes) -> None:
        """Return to the state of a snapshot; see ``Env.restore``."""
        try:
            self._ended, self._state = pickle.loads(snapshot)  # noqa: S301 - as `Env` warns
        except Exception as error:
            raise SnapshotError(f"This is not a snapshot of {self.shown_name}: {error}") from error

    def fork(self) -> Self:
        """Return an independent copy; see ``Env.fork``."""
        twin = type(self)(self._origin)
        twin._ended, twin._state = self._ended, self._state  # noqa: SLF001 - its own class
        return twin


_envs: dict[bytes, tuple[Env, bytes]] = {}
"""The environments of a worker process by key, each with its initial snapshot."""


def play_part(key: bytes, blob: bytes, method: str, state: bytes, argument: Any) -> Any:
    """Reset or step an environment in a worker process.

    Args:
        key: Hash of the pickled factory.
        blob: The pickled factory; empty if the worker probably has the environment.
        method: ``reset`` or ``step``.
        state: Snapshot to start from; empty for a new environment.
        argument: The keyword options of ``reset``, or the action.

    Returns:
        The result and the new snapshot; or the error; or None if the worker lacks the environment.
    """
    if key not in _envs:
        if not blob:
            return None
        env = pickle.loads(blob)()  # noqa: S301 - from our own process
        _envs[key] = env, env.snapshot()
    env, new = _envs[key]
    env.restore(state or new)
    try:
        result: Any = env.reset(**argument) if method == "reset" else env.step(argument)
        if is_awaitable(result):
            result = asyncio.run(_awaited(result))
        return tuple(result), env.snapshot()
    except Exception as error:  # noqa: BLE001 - raised again in the host
        sent = portable(error)
        sent.add_note(traceback.format_exc())
        return sent


async def _awaited(value: Any) -> Any:
    return await value
