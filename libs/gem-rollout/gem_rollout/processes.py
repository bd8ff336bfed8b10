"""Environments that compute for long, played in worker processes.

Between two turns an environment is a snapshot, so any idle worker can take the next step of any
episode: none waits behind another's slow step, forks are copies of bytes, and a step whose deadline
has passed costs a worker and nothing else.
"""

import asyncio
import contextlib
import hashlib
import math
import pickle
import traceback
from collections.abc import Callable
from typing import Any, Self

import cloudpickle

from gem_core.env import AsyncEnv, Env, Step
from gem_core.errors import ConfigError, SnapshotError
from gem_core.maybe_async import is_awaitable
from gem_core.observation import Action, Info, Observation
from gem_core.seeding import check_seed
from gem_rollout.episode import name_of
from gem_workers import WorkerPool, shared_pool

__all__ = ["ProcessEnv", "in_processes", "play_part"]

_TARGET = f"{__name__}:play_part"


def in_processes(
    make_env: Callable[[], Env], *, pool: WorkerPool | None = None
) -> Callable[[], "ProcessEnv"]:
    """Return a function that makes environments which compute in worker processes.

    For environments that compute for milliseconds and more in ``reset`` or ``step``: each costs a
    snapshot and a message besides. Each worker makes one environment and keeps it. What an agent
    asks of the environment (a random action, its oracle's look at it) is answered in this process.

    Args:
        make_env: Makes the environment; picklable, or a function that cloudpickle can send.
            It must be able to make snapshots, and hold nothing outside of them.
        pool: The workers; None for those that all share in this process, one per core.

    Raises:
        ConfigError: ``make_env`` cannot be sent to another process.
    """
    try:
        blob = cloudpickle.dumps(make_env)
    except Exception as error:
        raise ConfigError(
            f"An environment for worker processes must be picklable, with its arguments, tools "
            f"and wrappers: {error}"
        ) from error
    home = _Home(make_env, blob, pool)
    return lambda: ProcessEnv(home)


class _Home:
    """What the environments of one kind share: how they are made, and one here to be asked."""

    def __init__(self, make_env: Callable[[], Env], blob: bytes, pool: WorkerPool | None) -> None:
        self._make_env = make_env
        self._blob = blob
        self._key = hashlib.blake2b(blob, digest_size=16).digest()
        self._pool = pool
        self._env: Env | None = None

    @property
    def env(self) -> Env:
        """The environment of this process, in whatever state."""
        if self._env is None:
            self._env = self._make_env()
        return self._env

    async def call(self, method: str, state: bytes, argument: Any) -> Any:
        """Do something in a worker; send it the environment if it has none."""
        pool = self._pool or shared_pool(preload=(__name__,))
        for blob in (b"", self._blob):
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
        home: How it is made.
    """

    def __init__(self, home: _Home) -> None:
        self._home = home
        self._state = b""
        self.spec = home.env.spec
        self._name = name_of(home.env)

    async def start(self) -> tuple[Observation, Info]:
        """Start an episode: ``reset`` asks a worker instead, and never comes here."""
        raise NotImplementedError

    def reset(self, *, seed: int | None = None, **options: Any) -> Any:
        """Start an episode; see ``Env.reset``."""
        if seed is not None:
            options["seed"] = check_seed(seed)
        self._ended = None
        return self._reset(options)

    async def _reset(self, options: dict[str, Any]) -> tuple[Observation, Info]:
        first, self._state = await self._home.call("reset", self._state, options)
        self._ended = False
        return first  # type: ignore[no-any-return]

    async def step(self, action: Action) -> Step:
        """Take one action; see ``Env.step``."""
        step, self._state = await self._home.call("step", self._state, action)
        return Step(*step)

    def reset_options(self, number: int) -> dict[str, Any]:
        return self._home.env.unwrapped.reset_options(number)

    def sample_random_action(self) -> Action:
        env = self._here()
        action = env.sample_random_action()
        self._state = env.snapshot()
        return action

    def seed_actions(self, seed: int) -> None:
        env = self._here()
        env.unwrapped.seed_actions(seed)
        self._state = env.snapshot()

    def _here(self) -> Env:
        """Return an environment of this process in the state of this one."""
        env = self._home.env
        if self._state:
            env.restore(self._state)
        return env

    def __getattr__(self, name: str) -> Any:
        """Return what the environment itself has, such as an oracle asks for."""
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
            raise SnapshotError(f"This is no snapshot of a {self._name}: {error}") from error

    def fork(self) -> Self:
        """Return an independent copy; see ``Env.fork``."""
        twin = type(self)(self._home)
        twin._ended, twin._state = self._ended, self._state  # noqa: SLF001 - its own class
        return twin


_envs: dict[bytes, tuple[Env, bytes]] = {}
"""The environments of a worker process, each with the state that it was made in."""


def play_part(key: bytes, blob: bytes, method: str, state: bytes, argument: Any) -> Any:
    """Reset or step an environment in a worker process.

    Args:
        key: Which environment.
        blob: How it is made; empty if the worker is thought to have it.
        method: ``reset`` or ``step``.
        state: Snapshot to go on from; empty for an environment that was just made.
        argument: Options of the reset, or the action.

    Returns:
        What came of it and the new state; the error, if it can be sent; None if the worker does
        not have the environment.
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
    except Exception as error:
        error.add_note(traceback.format_exc())
        with contextlib.suppress(Exception):
            pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
            return error
        raise


async def _awaited(value: Any) -> Any:
    return await value
