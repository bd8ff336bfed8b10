"""An environment on a server, as if it were here."""

import asyncio
import base64
import dataclasses
import os
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from functools import partial
from typing import Any, ClassVar, Self

from gem_core.env import Step
from gem_core.errors import (
    ConfigError,
    EpisodeEndedError,
    SnapshotError,
    UnknownIdError,
    near_names,
)
from gem_core.lifetimes import Lifetime
from gem_core.maybe_async import drive, then
from gem_core.observation import Action, Info, Observation
from gem_core.secret import Secret
from gem_core.seeding import check_seed, fresh_seed
from gem_core.specs import EnvSpec
from gem_serve.errors import CapacityError, SessionLostError
from gem_serve.remote.link import Reply, known_token, link_to
from gem_serve.remote.record import Record
from gem_serve.remote.session import ClientSession
from gem_serve.wire import from_wire, to_wire

__all__ = ["RemoteEnv"]

_LONGEST_WAIT = 86_400
_MARK = b"gem-remote\0"


class RemoteEnv:
    """An environment that a server plays.

    Where an event loop runs, ``reset`` and ``step`` return awaitables; elsewhere they return the
    values. The session on the server begins with the first call that needs it. After
    ``SessionLostError``, ``ConnectionLostError`` or ``DeadlineError`` the episode is lost, and the
    next ``reset`` begins a new session. After ``close`` every call raises ``ClosedError``, and in
    a fork of the process that made the environment every call raises ``ForkError``.

    Args:
        address: ``HOST:PORT``.
        name: Name of the environment on the server.
        token: The server's token; None for that in the environment variable ``GEM_SERVE_TOKEN``,
            or for the one with which this process has connected to the server before.
        timeout: Most seconds to wait for an answer.
        reconnect: Seconds in which a lost connection must be made again.
        capacity_wait: Most seconds that ``reset`` waits for a slot on a server that is full or
            about to end; 0 to fail immediately.
        tls: Whether to connect with TLS.
        replay: Whether an episode that began with a seed goes on where the server has lost its
            session, as one that was killed and started again has: in a new session, the same seed
            and actions are played first. If they do not give the same answers, the episode is lost.

    Raises:
        ConnectionLostError: The server cannot be reached.
        AccessError: It refuses the token.
        UnknownIdError: It does not have this environment; near names are suggested.
        ConfigError: A time is not positive, or ``capacity_wait`` is not in 0 to 86,400.
    """

    blocking = False
    multi_agent: ClassVar[bool] = False
    spec: EnvSpec | None = None

    def __init__(
        self,
        address: str,
        name: str,
        *,
        token: Secret | None = None,
        timeout: float = 60.0,
        reconnect: float = 30.0,
        capacity_wait: float = 300.0,
        tls: bool = False,
        replay: bool = False,
    ) -> None:
        if not 0 <= capacity_wait <= _LONGEST_WAIT:
            raise ConfigError(f"capacity_wait is 0 to {_LONGEST_WAIT:,}; got {capacity_wait}.")
        if timeout <= 0 or reconnect <= 0:
            raise ConfigError(
                f"timeout and reconnect must be positive; got {timeout}, {reconnect}."
            )
        self._options: dict[str, Any] = {
            "address": address,
            "name": name,
            "token": token,
            "timeout": timeout,
            "reconnect": reconnect,
            "capacity_wait": capacity_wait,
            "tls": tls,
            "replay": replay,
        }
        self._name, self._timeout, self._capacity_wait = name, timeout, capacity_wait
        url = f"{'https' if tls else 'http'}://{address}"
        token = token or os.environ.get("GEM_SERVE_TOKEN") or known_token(url)
        self._link = link_to(url, token, reconnect)
        self._held = [ClientSession(self._link, capacity_wait)]
        self._lifetime = Lifetime(self, _close, self._held, what="environment on a server")
        self._seeds: dict[str, Reply] = {}
        """The calls that seed the next episode, by name; another session needs them again."""
        self._replays = replay
        self._record: Record | None = None
        """What to play again, if the episode can be."""
        described = self._link.hello(max(timeout, reconnect) + 1)["environments"]
        if name not in described:
            raise UnknownIdError(
                f"{url} has no environment {name!r}.{near_names(name, described)} "
                f"It has: {', '.join(list(described)[:8])}."
            )
        self._about: dict[str, Any] = described[name]

    @property
    def _session(self) -> ClientSession:
        return self._held[0]

    @property
    def unseeded_info(self) -> frozenset[str]:
        """The keys of ``info`` whose values the seed does not decide."""
        return frozenset(self._about["unseeded_info"])

    @property
    def unwrapped(self) -> Self:
        """The environment itself."""
        return self

    @property
    def provisioning_seconds(self) -> float | None:
        """Seconds that the server took to make the environment; None before the first call."""
        return self._session.provisioning_seconds

    def reset(self, *, seed: int | None = None, **options: Any) -> Any:
        """Start an episode; see ``Env.reset``.

        While the server is full or about to end, this waits at most ``capacity_wait`` seconds. If
        the server no longer has the session, an episode with a seed begins in a new one.

        Raises:
            CapacityError: The server still took no more sessions or episodes.
            SessionLostError: The server no longer has the session, and without a seed another
                session could not continue.
            DeadlineError: There was no answer in time.
            ConnectionLostError: The connection was lost and not made again in time.
        """
        self._lifetime.check()
        is_new = self._session.is_lost or not self._session.is_open
        if self._session.is_lost:
            self._begin_session()
        message: Reply = {"seed": seed}
        if "remote_task" in options:
            message["task"] = options.pop("remote_task")
        if options:
            message["options"] = to_wire(options)
        self._record = None
        seeds = dict(self._seeds)
        started = self._started(message, is_new=is_new)
        if not self._replays or (seed is None and "seed" not in seeds):
            return then(started, _first)
        return then(started, partial(self._recorded, message, seeds))

    def _started(self, message: Reply, *, is_new: bool) -> Any:
        start = _Start(self, message, is_new=is_new)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return start.now()
        return start.later()

    def _recorded(self, message: Reply, seeds: dict[str, Reply], reply: Reply) -> Any:
        self._record = Record(message, seeds, reply)
        return _first(reply)

    def step(self, action: Action) -> Any:
        """Take one action; see ``Env.step``.

        Raises:
            SessionLostError: The server no longer has the session, and the episode cannot be
                played again.
            DeadlineError: There was no answer in time; the episode is lost.
            ConnectionLostError: The connection was lost and not made again in time.
        """
        self._lifetime.check()
        if not self._session.is_open or self._session.is_lost:
            raise EpisodeEndedError("RemoteEnv.step: no episode is running. Call reset() first.")
        message = {"action": to_wire(action)}
        if self._record is None:
            return self._asked("step", message, _step)
        return drive(self._step_of(self._record, message))

    def _step_of(self, record: Record, message: Reply) -> Generator[Any, Any, Step]:
        """Take a step of an episode that can be played again."""
        try:
            reply: Reply = yield self._asked("step", message, dict)
        except SessionLostError:
            yield from self._play_again(record)
            reply = yield self._asked("step", message, dict)
        record.add(message, reply)
        return _step(reply)

    def _play_again(self, record: Record) -> Generator[Any, Any, None]:
        """Play an episode again in a new session.

        Raises:
            SessionLostError: It differs from the one that was lost.
        """
        self._seeds = dict(record.seeds)
        self._begin_session()
        record.check(-1, (yield self._started(record.start, is_new=True)))
        for index, message in enumerate(record.actions):
            record.check(index, (yield self._asked("step", message, dict)))

    def sample_random_action(self) -> Action:
        """Return a well-formed action for the current state, chosen by the server."""
        return from_wire(self._now("sample")["action"])

    def seed(self, seed: int) -> None:
        """Make the next ``reset()`` and all that follow it repeatable."""
        self._seed("seed", seed)

    def seed_actions(self, seed: int) -> None:
        """Seed what ``sample_random_action`` draws."""
        self._seed("seed_actions", seed)

    def _seed(self, op: str, seed: int) -> None:
        message = {"seed": check_seed(seed)}
        self._opened().send(op, message, self._timeout)
        self._seeds[op] = message

    def reset_options(self, number: int, seed: int | None = None) -> dict[str, Any]:
        """Return the options of ``reset`` for episode ``number``; the server looks them up."""
        return {"remote_task": [number, seed]} if self._about["has_tasks"] else {}

    def snapshot(self) -> bytes:
        """Return the state, signed by the server. It is opaque here, and is never unpickled here.

        Raises:
            SnapshotError: The environment cannot be saved.
        """
        return _MARK + base64.b64decode(self._now("snapshot")["snapshot"])

    def restore(self, snapshot: bytes) -> None:
        """Return to the state of a snapshot from a server with the same secret.

        Raises:
            SnapshotError: It is not one, or is of another environment; nothing has changed.
        """
        self._record = None  # the state has another past
        self._now("restore", {"snapshot": _signed(snapshot)})

    def fork(self) -> Self:
        """Return a copy with a session of its own, which continues exactly as this one would."""
        return self._copied({})

    def spawn(self, *, seed: int | None = None, same_state: bool = False) -> Self:
        """Return a new environment of the same configuration; see ``Env.spawn``."""
        if same_state:
            return self.fork()
        return self._copied({"seed": fresh_seed() if seed is None else check_seed(seed)})

    def close(self) -> None:
        """End the session, without waiting for the server; may be called twice.

        A call that another thread waits for raises ``ClosedError``.
        """
        self._lifetime.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, which may travel further than the token should.

        The token is taken from ``GEM_SERVE_TOKEN`` where the pickle is read, or is one with which
        that process has connected to the server before.
        """
        self._lifetime.check()
        state = self.snapshot() if self._session.is_open and not self._session.is_lost else None
        options = {name: value for name, value in self._options.items() if name != "token"}
        spec = self.spec
        if spec is not None and "token" in spec.kwargs:
            kwargs = {name: value for name, value in spec.kwargs.items() if name != "token"}
            spec = dataclasses.replace(spec, kwargs=kwargs)
        return {"options": options, "spec": spec, "snapshot": state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["options"])  # type: ignore[misc]
        self.spec = state["spec"]
        if state["snapshot"] is not None:
            self._session.open(self._name, _signed(state["snapshot"]))

    def _copied(self, message: dict[str, Any]) -> Self:
        session = self._opened()
        twin = type(self)(**self._options)
        twin.spec = self.spec
        into = twin._session.id  # noqa: SLF001 - its own class
        sent = session.send("fork", {"into": into, **message}, self._timeout)
        twin._session.begun_by(sent)  # noqa: SLF001 - its own class
        return twin

    def _begin_session(self) -> ClientSession:
        """Begin another session, with the seeds of the next episode."""
        self._lifetime.check()
        self._session.close()
        self._held[0] = ClientSession(self._link, self._capacity_wait)
        session = self._opened()
        for op, message in self._seeds.items():
            session.send(op, message, self._timeout)
        return session

    def _opened(self) -> ClientSession:
        self._lifetime.check()
        session = self._session
        if session.is_lost:
            raise SessionLostError("The session was lost. Call reset() first.")
        if not session.is_open:
            session.open(self._name)
            if not self._lifetime.is_open:  # another thread has closed it meanwhile
                session.close()
        return session

    def _now(self, op: str, message: Reply | None = None) -> Reply:
        session = self._opened()
        return session.result(session.send(op, message or {}, self._timeout), self._timeout)

    def _asked(self, op: str, message: Reply, read: Callable[[Reply], Any]) -> Any:
        session = self._opened()
        sent = session.send(op, message, self._timeout)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return read(session.result(sent, self._timeout))
        return self._later(session, sent, read)

    async def _later(
        self, session: ClientSession, sent: Future[Reply], read: Callable[[Reply], Any]
    ) -> Any:
        return read(await session.wait(sent, self._timeout))


class _Start:
    """The start of an episode, which is tried again while the server has no slot for it.

    Args:
        env: The environment.
        message: The message that starts the episode.
        is_new: Whether the session has no state that could be lost.
    """

    def __init__(self, env: RemoteEnv, message: Reply, *, is_new: bool) -> None:
        self._env, self._message, self._is_new = env, message, is_new
        self._until = time.monotonic() + env._capacity_wait  # noqa: SLF001 - a part of it
        self._was_lost = False
        self._session = env._opened()  # noqa: SLF001
        self._sent = self._session.send("reset", message, env._timeout)  # noqa: SLF001

    def now(self) -> Reply:
        """Return the answer."""
        while True:
            try:
                return self._read(self._session.result(self._sent, self._env._timeout))  # noqa: SLF001
            except (CapacityError, SessionLostError) as error:
                time.sleep(self._pause(error))
            self._again()

    async def later(self) -> Reply:
        """Return the answer, in an event loop."""
        while True:
            try:
                return self._read(await self._session.wait(self._sent, self._env._timeout))  # noqa: SLF001
            except (CapacityError, SessionLostError) as error:
                pause = self._pause(error)
            await asyncio.sleep(pause)
            self._again()

    def _read(self, reply: Reply) -> Reply:
        self._env._seeds.clear()  # noqa: SLF001
        return reply

    def _pause(self, error: CapacityError | SessionLostError) -> float:
        """Return the seconds to wait before another session is begun.

        Raises:
            CapacityError: The time is over, or another session would have lost the state.
            SessionLostError: The state of the session is lost.
        """
        is_seeded = self._message["seed"] is not None or "seed" in self._env._seeds  # noqa: SLF001
        if not is_seeded and not self._is_new:
            raise error
        if isinstance(error, SessionLostError):
            if self._was_lost:
                raise error
            self._was_lost = True
            return 0.0
        if time.monotonic() + error.retry_after > self._until:
            raise error
        return error.retry_after

    def _again(self) -> None:
        self._session = self._env._begin_session()  # noqa: SLF001
        self._sent = self._session.send("reset", self._message, self._env._timeout)  # noqa: SLF001


def _close(held: list[ClientSession]) -> None:
    held[0].close()


def _first(reply: Reply) -> tuple[Observation, Info]:
    return from_wire(reply["observation"]), from_wire(reply["info"])


def _step(reply: Reply) -> Step:
    return Step(
        from_wire(reply["observation"]),
        float(reply["reward"]),
        reply["terminated"],
        reply["truncated"],
        from_wire(reply["info"]),
    )


def _signed(snapshot: bytes) -> str:
    if not isinstance(snapshot, bytes) or not snapshot.startswith(_MARK):
        raise SnapshotError("This is not a snapshot of an environment on a server.")
    return base64.b64encode(snapshot[len(_MARK) :]).decode()
