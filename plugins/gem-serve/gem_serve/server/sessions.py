"""Sessions: one environment each, and numbered calls of which none is done twice."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any

from gem_core.env import BaseEnv, Env
from gem_core.errors import DeadlineError, UnknownIdError, near_names
from gem_core.factory import EnvFactory
from gem_core.maybe_async import is_awaitable
from gem_core.seeded_env import check_single_agent
from gem_rollout.env_pool import close_quietly
from gem_rollout.threads import Threads
from gem_serve.errors import (
    CapacityError,
    MessageError,
    SessionLostError,
    StaleError,
    error_reply,
)
from gem_serve.server.limits import Limits
from gem_serve.server.metrics import Metrics

__all__ = ["KEPT", "Reply", "Session", "Sessions"]

KEPT = 8
"""Answers that a session keeps. So many calls of a session may be unanswered at the same time."""

Reply = dict[str, Any]


class Session:
    """An environment that a client plays.

    Args:
        name: Name of the environment on the server.
        env: The environment.
    """

    __slots__ = (
        "_lock",
        "_next",
        "_replies",
        "env",
        "episode",
        "is_new",
        "link",
        "name",
        "steps",
        "used",
    )

    def __init__(self, name: str, env: Env) -> None:
        self.name = name
        self.env = env
        self.link: object | None = None
        """The connection that keeps it alive; None if there is none."""
        self.used = time.monotonic()
        self.steps = 0
        self.episode: str | None = None
        """Name of the episode that is being played; None before the first and after its end."""
        self.is_new = True
        """Whether its client does not know yet that it was opened."""
        self._next = 1
        self._replies: dict[int, asyncio.Future[Reply]] = {}
        self._lock = asyncio.Lock()

    @property
    def is_busy(self) -> bool:
        """Whether a call is being done."""
        return self._lock.locked()

    async def answer(self, number: int | None, act: Callable[[], Awaitable[Reply]]) -> Reply:
        """Do a call in its turn, or return the answer that it had.

        Args:
            number: Its place among the calls of the session, from 1; None for the next.
            act: Does it.

        Raises:
            StaleError: It is not the next one, and its answer is not kept.
        """
        number = self._next if number is None else number
        if (reply := self._replies.get(number)) is None:
            if number != self._next:
                raise StaleError(
                    f"The next call of this session has the number {self._next}, and the answers "
                    f"of the last {KEPT} are kept; got {number}."
                )
            self._next += 1
            reply = self._replies[number] = asyncio.ensure_future(self._in_turn(act))
            self._replies.pop(number - KEPT, None)
        # A connection that breaks does not end the call.
        return await asyncio.shield(reply)

    async def _in_turn(self, act: Callable[[], Awaitable[Reply]]) -> Reply:
        async with self._lock:
            try:
                return await act()
            except Exception as error:  # noqa: BLE001 - it is the client's answer
                return error_reply(error)
            finally:
                self.used = time.monotonic()


class Sessions:
    """All sessions of a server.

    Args:
        factories: Makes the environments, by name. Each is made once, to see that it works.
        limits: What clients may do.
        metrics: Counts what happens.

    Raises:
        GemError: An environment cannot be made, or is for several agents.
    """

    def __init__(
        self, factories: Mapping[str, EnvFactory], limits: Limits, metrics: Metrics
    ) -> None:
        self.factories = dict(factories)
        self.limits = limits
        self.draining = False
        self.described = {name: _described(make) for name, make in self.factories.items()}
        self._metrics = metrics
        self._sessions: dict[str, Session] = {}
        self._opening: dict[str, asyncio.Future[Any]] = {}
        self._threads: Threads | None = None

    def __len__(self) -> int:
        return len(self._sessions) + len(self._opening)

    def __iter__(self) -> Iterator[Session]:
        return iter(self._sessions.values())

    @property
    def threads(self) -> Threads:
        """The threads of blocking environments."""
        if self._threads is None:
            self._threads = Threads()
        return self._threads

    async def find(self, session_id: str) -> Session:
        """Return a session, when it has been opened.

        Raises:
            SessionLostError: There is none with this id.
        """
        if (opening := self._opening.get(session_id)) is not None:
            await opening
        session = self._sessions.get(session_id)
        if session is None:
            raise SessionLostError(
                f"This server has no session {session_id[:8]!r}...: it was closed, or idle for "
                f"more than {self.limits.idle_timeout:g} s, or the server was started anew. "
                f"Open a session, or make the environment anew."
            )
        session.used = time.monotonic()
        return session

    def attach(self, session_ids: Iterable[str], link: object) -> None:
        """Let a connection keep sessions alive."""
        for session_id in session_ids:
            if (session := self._sessions.get(session_id)) is not None:
                session.link = link

    def reserve(self, session_id: str) -> asyncio.Future[Any] | None:
        """Let calls of a session that is about to be added wait; None if they need not."""
        if session_id in self._sessions or session_id in self._opening:
            return None
        made = self._opening[session_id] = asyncio.get_running_loop().create_future()
        return made

    def release(self, session_id: str, reserved: asyncio.Future[Any] | None) -> None:
        """Let the calls go on that wait for a reserved session."""
        if reserved is not None:
            del self._opening[session_id]
            reserved.set_result(None)

    def check_room(self, session_id: str, *, reserved: int = 0) -> None:
        """Raise unless a session can be added.

        Args:
            session_id: The id that it will have.
            reserved: How many places it has already.

        Raises:
            CapacityError: The server is full, or about to end.
            MessageError: The id is taken.
        """
        if self.draining:
            raise CapacityError("The server is about to end and begins nothing new.")
        if len(self) - reserved >= self.limits.max_envs:
            self._metrics.refused += 1
            raise CapacityError(
                f"The server is full: it has {self.limits.max_envs} sessions (--max-envs)."
            )
        if session_id in self._sessions:
            raise MessageError("A session with this id exists. Use random ids.")

    def factory(self, name: str) -> EnvFactory:
        """Return the factory of an environment.

        Raises:
            UnknownIdError: The server does not have it; near names are suggested.
        """
        if name not in self.factories:
            raise UnknownIdError(
                f"This server has no environment {name!r}.{near_names(name, self.factories)} "
                f"It has: {', '.join(list(self.factories)[:8])}."
            )
        return self.factories[name]

    async def open(self, session_id: str, name: str) -> tuple[Session, float]:
        """Open a session, or return the one that this call opened before it was repeated.

        Returns:
            The session, and the seconds that it took to make the environment.

        Raises:
            CapacityError: The server is full, or about to end.
            UnknownIdError: The server does not have the environment.
        """
        opened = self._sessions.get(session_id)
        if opened is not None and opened.name == name:
            return opened, 0.0
        if session_id not in self._opening:
            factory = self.factory(name)
            self.check_room(session_id)
            self._opening[session_id] = asyncio.ensure_future(self._made(session_id, name, factory))
        made: tuple[Session, float] = await self._opening[session_id]
        return made

    async def _made(self, session_id: str, name: str, make: EnvFactory) -> tuple[Session, float]:
        started = time.perf_counter()
        try:
            env = await self.threads.run(make)
            return self.add(session_id, Session(name, env)), time.perf_counter() - started
        finally:
            del self._opening[session_id]

    def add(self, session_id: str, session: Session) -> Session:
        """Keep a session under an id."""
        self._sessions[session_id] = session
        self._metrics.opened += 1
        return session

    async def call(self, session: Session, function: Callable[[], Any]) -> Any:
        """Call a function of a session's environment: here, in a thread if it blocks, or awaited.

        Raises:
            DeadlineError: It took longer than the step timeout; the session has ended.
        """
        if not session.env.blocking:
            value = function()
        else:
            value = await self._in_thread(session, function)
        if is_awaitable(value):
            try:
                async with asyncio.timeout(self.limits.step_timeout):
                    return await value
            except TimeoutError as error:
                raise self._late(session) from error
        return value

    async def _in_thread(self, session: Session, function: Callable[[], Any]) -> Any:
        future = self.threads.run(function)
        await asyncio.wait([future], timeout=self.limits.step_timeout)
        env = session.env
        if not future.done() and self.threads.abandon(future, lambda _: close_quietly(env)):
            raise self._late(session)
        return await future

    def _late(self, session: Session) -> DeadlineError:
        for session_id in [key for key, one in self._sessions.items() if one is session]:
            del self._sessions[session_id]
        return DeadlineError(
            f"A call of {session.name} took longer than {self.limits.step_timeout:g} s "
            f"(--step-timeout) and was given up; its session has ended."
        )

    async def close(self, session_id: str) -> None:
        """End a session; nothing happens if there is none."""
        session = self._sessions.pop(session_id, None)
        if session is None:
            return
        self._metrics.closed += 1
        async with session._lock:  # noqa: SLF001 - after the call that is being done
            if session.env.blocking:
                await self.threads.run(lambda: close_quietly(session.env))
            else:
                close_quietly(session.env)

    def leave(self, link: object) -> None:
        """Note that a connection has ended: its sessions are idle from now on."""
        for session in self:
            if session.link is link:
                session.link, session.used = None, time.monotonic()

    async def expire(self) -> None:
        """End the sessions that have been idle for too long."""
        oldest = time.monotonic() - self.limits.idle_timeout
        for key, one in list(self._sessions.items()):  # closing one takes time for others to go on
            if one.link is None and one.used < oldest and not one.is_busy:
                self._metrics.expired += 1
                await self.close(key)

    def playing(self) -> int:
        """Return how many episodes are being played."""
        return sum(one.episode is not None for one in self)

    async def shut(self) -> None:
        """End all sessions, and the threads."""
        for session_id in list(self._sessions):
            session = self._sessions[session_id]
            if session.is_busy:
                del self._sessions[session_id]  # its step is abandoned
            else:
                await self.close(session_id)
        if self._threads is not None:
            self._threads.close()


def _described(make: EnvFactory) -> dict[str, Any]:
    """Make an environment once, and return what its clients need to know.

    Raises:
        GemError: It cannot be made, or it is for several agents.
    """
    with make() as env:
        check_single_agent(env, "a server")
        inner = env.unwrapped
        return {
            "has_tasks": _has_tasks(type(inner)),
            "unseeded_info": sorted(getattr(inner, "unseeded_info", ())),
        }


def _has_tasks(cls: type) -> bool:
    """Return whether ``reset_options`` does more than that of the base class."""
    found = getattr(cls, "reset_options", None)
    return found is not None and found is not BaseEnv.reset_options
