"""Plays the stored actions of a run again, to show what a changed grader or reward changes."""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from omegaconf import OmegaConf

from gem_core.agent import BaseAgent, Reply
from gem_core.background import DaemonExecutor
from gem_core.config import factory_from_config
from gem_core.env import Env
from gem_core.errors import ConfigError, EpisodeEndedError
from gem_core.factory import EnvFactory
from gem_core.lifetimes import Lifetime, Lock
from gem_core.maybe_async import is_awaitable
from gem_core.observation import Action, Info, Observation
from gem_core.resolve import configured, resolve
from gem_core.specs import ENVS
from gem_rollout import Trajectory, play_episode
from gem_rollout.answer_instruction import instructed
from gem_rollout.commands.environments import named_specs

__all__ = ["Change", "change_of", "changed_config", "env_makers", "replay"]

_STACK = ("env", "mixture", "tools", "wrappers", "tool_use", "answer_instruction")
_CHANGED = (*_STACK, "envs")
_END_SECONDS = 5.0


@dataclass(frozen=True)
class Change:
    """The differences between a stored episode and its replay.

    Args:
        env_id: Name of its environment.
        agent: Name of its agent.
        index: Index of the episode.
        kinds: The kinds of differences: ``reward`` (of a turn), ``success``, ``end`` (earlier,
            later, or of another kind) and ``observation``.
        return_before: The stored return.
        return_after: The return of the replay.
        success_before: The stored success.
        success_after: The success of the replay.
        error: The error that ended the replay; empty if there is none.
    """

    env_id: str
    agent: str
    index: int
    kinds: tuple[str, ...]
    return_before: float
    return_after: float
    success_before: bool | None
    success_after: bool | None
    error: str


class _Recorded(BaseAgent):
    """Plays the actions of a trajectory."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._turns = iter(trajectory.turns)

    def act(self, observation: Observation, info: Info) -> Action | Reply:
        turn = next(self._turns, None)
        if turn is None:
            raise EpisodeEndedError("The stored actions end before the episode ends.")
        return Reply(turn.action, turn.generation)


def changed_config(config: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """Return a run's configuration with some values replaced.

    Args:
        config: The composed configuration of the run; empty if it is unknown.
        overrides: ``key=value`` below ``env``, ``envs.NAME``, ``mixture``, ``tools``, ``wrappers``,
            ``tool_use`` or ``answer_instruction``, such as ``env.max_turns=9``.

    Raises:
        ConfigError: An override is not of this form.
    """
    for override in overrides:
        key, equals, _ = override.partition("=")
        if not equals or key.partition(".")[0] not in _CHANGED:
            raise ConfigError(
                f"An override is KEY=VALUE, with a key below {', '.join(_CHANGED)}; "
                f"got {override!r}."
            )
    try:
        changes = OmegaConf.from_dotlist(list(overrides))
        merged: Any = OmegaConf.to_container(
            OmegaConf.merge(OmegaConf.create(dict(config)), changes)
        )
    except Exception as error:  # of OmegaConf, or of YAML
        message = " ".join(str(error).split())
        raise ConfigError(f"The overrides cannot be used: {message}") from error
    return merged  # type: ignore[no-any-return]


def env_makers(config: Mapping[str, Any], env_ids: Mapping[str, str]) -> dict[str, EnvFactory]:
    """Return a factory for each environment of a run, by name.

    Args:
        config: The result of ``changed_config``. Parameters of ``env`` apply to all environments.
        env_ids: The id of each environment of the trajectories, by its name (``env_name``).

    Raises:
        GemError: An environment does not exist any more, or refuses its parameters.
    """
    stack = {key: config[key] for key in _STACK if config.get(key)}
    if stack.get("mixture"):
        factory = factory_from_config({key: stack[key] for key in stack if key != "env"})
        factory = instructed(factory, stack)
        return dict.fromkeys(env_ids, factory)
    env = stack.get("env") or {}
    parameters = {} if isinstance(env, str) else {k: env[k] for k in env if k != "id"}
    specs = named_specs(config["envs"]) if config.get("envs") else {}
    found = {
        name: configured(specs.get(name) or resolve(ENVS, env_id), parameters)
        for name, env_id in env_ids.items()
    }
    return {
        name: instructed(factory_from_config({**stack, "env": spec}), stack)
        for name, spec in found.items()
    }


def replay(
    trajectories: Iterable[Trajectory],
    makers: Mapping[str, Callable[[], Env]],
    concurrency: int = 4,
) -> Iterator[tuple[Trajectory, Trajectory]]:
    """Play trajectories again, and yield each stored trajectory with its replay, in order.

    The replay keeps the stored generations of the model. If the stored actions end before the
    episode ends, its error is the stored error, or else an ``EpisodeEndedError``.

    Ctrl-C and an error of ``trajectories`` end it: episodes that are being played have five seconds
    to end, then their environments are closed. A generator that is closed or dropped ends soon.

    Args:
        trajectories: The stored trajectories.
        makers: Factories of the environments, by name.
        concurrency: Number of threads, each with its own environments.
    """
    waiting: _Waiting = deque()
    player = _Player(makers, waiting)
    threads = _Threads(concurrency)
    try:
        for old in trajectories:
            waiting.append((old, threads.submit(player.play, old)))
            if len(waiting) > 4 * concurrency:
                yield player.first()
        while waiting:
            yield player.first()
    except GeneratorExit:  # perhaps of the garbage collector, which must not wait
        _cancel(waiting)
        raise
    except BaseException:
        player.lifetime.end()
        raise
    else:
        player.lifetime.end()
    finally:
        threads.shutdown()


_Waiting = deque[tuple[Trajectory, Future[Trajectory]]]


class _Threads(DaemonExecutor):
    """A number of threads, for which the interpreter does not wait at exit."""

    def __init__(self, concurrency: int) -> None:
        super().__init__()
        self._max_workers = concurrency


def _cancel(waiting: _Waiting) -> None:
    for _, future in waiting:
        future.cancel()


def _end(waiting: _Waiting, stack: ExitStack, lock: Lock) -> None:
    """Let the episodes that are being played end, and close what the threads have opened."""
    _cancel(waiting)
    wait([future for _, future in waiting if not future.cancelled()], _END_SECONDS)
    with lock:
        opened = stack.pop_all()
    opened.close()


def _close_loop(loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_running():  # its episode has not ended in time
        loop.close()


class _Player:
    """Plays episodes in the calling thread, with environments of that thread.

    Args:
        makers: Factories of the environments, by name.
        waiting: The episodes that are played or will be.
    """

    def __init__(self, makers: Mapping[str, Callable[[], Env]], waiting: _Waiting) -> None:
        self._makers = makers
        self._waiting = waiting
        self._own = threading.local()
        self._stack = ExitStack()
        self._lock = Lock()
        self.lifetime = Lifetime(self, _end, waiting, self._stack, self._lock, what="replay")

    def first(self) -> tuple[Trajectory, Trajectory]:
        """Return the trajectory that has waited longest, with its replay.

        Raises:
            ForkError: This is a fork of the process in which the threads run.
        """
        self.lifetime.check()
        old, future = self._waiting[0]
        new = future.result()
        self._waiting.popleft()
        return old, new

    def play(self, old: Trajectory) -> Trajectory:
        env = self._env(old.env_name)
        new = play_episode(
            env,
            _Recorded(old),
            old.seed,
            old.group,
            old.agent,
            reset_options=old.reset_options,
        )
        if is_awaitable(new):
            new = self._loop().run_until_complete(new)
        new.index, new.group, new.sample = old.index, old.group, old.sample
        new.attempts, new.failures, new.component = old.attempts, old.failures, old.component
        for before, now in zip(old.turns, new.turns, strict=False):
            now.agent_seconds = before.agent_seconds
        if _is_out_of_actions(new) and old.error is not None:
            new.error = old.error
        return new  # type: ignore[no-any-return]

    def _env(self, name: str) -> Env:
        envs = self._own.__dict__.setdefault("envs", {})
        if name not in envs:
            env = self._makers[name]()
            self._close_at_end(env.close)
            envs[name] = env
        return envs[name]  # type: ignore[no-any-return]

    def _loop(self) -> Any:
        if not hasattr(self._own, "loop"):
            loop = asyncio.new_event_loop()
            self._close_at_end(_close_loop, loop)
            self._own.loop = loop
        return self._own.loop

    def _close_at_end(self, close: Callable[..., object], *args: Any) -> None:
        with self._lock:
            if self.lifetime.is_open:
                self._stack.callback(close, *args)
                return
        close(*args)
        self.lifetime.check()


def _is_out_of_actions(trajectory: Trajectory) -> bool:
    error = trajectory.error or {}
    return error.get("boundary") == "agent" and error.get("type") == EpisodeEndedError.__name__


def change_of(old: Trajectory, new: Trajectory) -> Change:
    """Return the differences between a trajectory and its replay.

    Args:
        old: The stored trajectory.
        new: The replay.
    """
    turns = list(zip(old.turns, new.turns, strict=False))
    ends = [
        (len(one.turns), [(t.terminated, t.truncated) for t in one.turns[-1:]], _kind(one))
        for one in (old, new)
    ]
    seen = [(was.observation, now.observation) for was, now in turns]
    seen.append((old.final_observation, new.final_observation))
    differs = {
        "reward": any(abs(was.reward - now.reward) > 1e-9 for was, now in turns),
        "success": old.success != new.success,
        "end": ends[0] != ends[1],
        "observation": any(was != now and was != _stored(now) for was, now in seen),
    }
    return Change(
        env_id=old.env_name,
        agent=old.agent,
        index=old.index,
        kinds=tuple(kind for kind, is_so in differs.items() if is_so),
        return_before=old.episode_return,
        return_after=new.episode_return,
        success_before=old.success,
        success_after=new.success,
        error="" if new.error is None or new.error == old.error else str(new.error["message"]),
    )


def _kind(trajectory: Trajectory) -> str:
    return str((trajectory.error or {}).get("type", ""))


def _stored(observation: Any) -> Any:
    """Return an observation as it would be read from a file of trajectories."""

    def plain(value: Any) -> Any:
        as_json = getattr(value, "to_json", None) or getattr(value, "tolist", None)
        return as_json() if callable(as_json) else repr(value)

    return json.loads(json.dumps(observation, default=plain))
