"""The sessions of a server: their slots, and how each session ends."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any

from gem_core.env import BaseEnv, Env
from gem_core.errors import DeadlineError, UnknownIdError, near_names
from gem_core.factory import EnvFactory
from gem_core.maybe_async import is_awaitable
from gem_core.seeded_env import check_single_agent
from gem_rollout.episodes.pool import close_quietly
from gem_rollout.episodes.threads import GRACE, Threads
from gem_serve.errors import (
    CapacityError,
    MessageError,
    SessionLostError,
)
from gem_serve.server.capacity import Capacity
from gem_serve.server.limits import Limits
from gem_serve.server.metrics import Metrics
from gem_serve.server.session import Reply, Session

__all__ = ["Sessions"]

_MOST_SESSIONS = 16
"""The sessions that are parked or wait for a slot, for each slot."""
_MOST_PARKED = 256 * 2**20
"""Bytes of the snapshots of all parked sessions."""
_SECONDS_TO_CLOSE = 5.0
"""Seconds that the environments of unfinished calls have to close when the server ends."""


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
        self.capacity = Capacity(limits.max_envs)
        self.on_parked: Callable[[str, object], None] = lambda _, __: None
        """Called with the id of a session that is parked, and its connection."""
        self._opening: dict[str, asyncio.Future[Any]] = {}
        self._queued: dict[str, asyncio.Future[None]] = {}
        self._unwanted: set[str] = set()
        """The ids of sessions that were closed before they were opened."""
        self._parking: set[asyncio.Task[None]] = set()
        self._threads: Threads | None = None

    def __len__(self) -> int:
        return len(self._sessions) + len(self._opening)

    def __iter__(self) -> Iterator[Session]:
        return iter(self._sessions.values())

    def items(self) -> Iterator[tuple[str, Session]]:
        """Return the sessions with their ids."""
        return iter(list(self._sessions.items()))

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
            if not reserved.done():  # the server may have ended
                reserved.set_result(None)

    async def take_slot(self, seconds: float, session_id: str = "") -> None:
        """Take a slot for an environment.

        Args:
            seconds: Most seconds to wait for one.
            session_id: The session that is opened; closing it ends the wait.

        Raises:
            CapacityError: The server is full, or about to end.
            SessionLostError: The session was closed.
        """
        self.check_not_draining()
        if session_id in self._unwanted:
            raise _closed_early()
        most = _MOST_SESSIONS * self.limits.max_envs
        if self.capacity.is_full and (seconds <= 0 or len(self) > most):
            self._metrics.refused += 1
            raise self.capacity.full()
        slot = self._queued[session_id] = self.capacity.join()
        self.make_room()
        try:
            await self.capacity.get(slot, seconds)
        except CapacityError:
            self._metrics.refused += 1
            raise
        finally:
            self._queued.pop(session_id, None)

    def check_not_draining(self) -> None:
        """Raise if nothing new begins.

        Raises:
            CapacityError: The server is about to end.
        """
        if self.draining:
            raise CapacityError("The server is about to end and begins nothing new.")

    def drain(self) -> None:
        """Begin nothing new from now on."""
        self.draining = True
        self.capacity.refuse(CapacityError("The server is about to end and begins nothing new."))

    def make_room(self) -> None:
        """Park as many sessions as wait for a slot, those first that were not used for longest."""
        needed = self.capacity.waiting - len(self._parking)
        if needed <= 0:
            return
        idle = [(one.used, key) for key, one in self._sessions.items() if one.can_be_parked]
        for _, session_id in sorted(idle)[:needed]:
            task = asyncio.ensure_future(self._park(session_id))
            self._parking.add(task)
            task.add_done_callback(self._parking.discard)

    async def _park(self, session_id: str) -> None:
        if (session := self._sessions.get(session_id)) is None:
            return
        async with session._lock:  # noqa: SLF001 - no call may come between
            if not session.has_env or session.episode is not None:
                return
            try:
                saved = await self.call(session, session.env.snapshot)
            except Exception:  # noqa: BLE001 - it cannot be saved, so it keeps its slot
                session.patience = 0.0
                return
            held = sum(len(one.saved or b"") for one in self)
            if not session.has_env or held + len(saved) > _MOST_PARKED:
                return
            session.saved = saved
            await self._close_env(session)
            self._metrics.parked += 1
            self.on_parked(session_id, session.link)

    async def wake(self, session: Session) -> None:
        """Give a parked session its environment again.

        Raises:
            CapacityError: No slot was free in time, or the server is about to end.
        """
        session.has_ended_episode = False
        if session.has_env or session.saved is None:
            return
        await self.take_slot(session.patience)
        try:
            env = await self.threads.run(self.factory(session.name))
        except BaseException:
            self.capacity.release()
            raise
        saved, session.env = session.saved, env
        try:
            await self.call(session, lambda: env.restore(saved))
        except Exception:
            await self._close_env(session)
            session.saved = saved
            raise

    async def _close_env(self, session: Session) -> None:
        """Close the environment of a session, and give back its slot."""
        if (env := session.take_env()) is None:
            return
        try:
            if env.blocking:
                await self.threads.run(lambda: close_quietly(env))
            else:
                close_quietly(env)
        finally:
            self.capacity.release()

    def factory(self, name: str) -> EnvFactory:
        """Return the factory of an environment.

        Raises:
            UnknownIdError: The server does not have it; near names are suggested.
        """
        if name not in self.factories:
            raise UnknownIdError(
                f"This server has no environment {name[:100]!r}.{near_names(name, self.factories)} "
                f"It has: {', '.join(list(self.factories)[:8])}."
            )
        return self.factories[name]

    async def open(
        self, session_id: str, name: str, patience: float = 0.0
    ) -> tuple[Session, float]:
        """Open a session, or return the one that this call opened before it was repeated.

        Args:
            session_id: Its id.
            name: Name of its environment.
            patience: Most seconds to wait for a slot, now and whenever it was parked.

        Returns:
            The session, and the seconds that it took to make the environment.

        Raises:
            CapacityError: The server is full, or about to end.
            UnknownIdError: The server does not have the environment.
            MessageError: A session with another environment has this id.
        """
        opened = self._sessions.get(session_id)
        if opened is not None and opened.name == name:
            return opened, 0.0
        if session_id not in self._opening:
            factory = self.factory(name)
            self.check_id(session_id)
            made = self._made(session_id, name, factory, patience)
            self._opening[session_id] = asyncio.ensure_future(made)
        opening: tuple[Session, float] = await asyncio.shield(self._opening[session_id])
        return opening

    def check_id(self, session_id: str) -> None:
        """Raise if a session has this id.

        Raises:
            MessageError: The id is taken.
        """
        if session_id in self._sessions:
            raise MessageError("A session with this id exists. Use random ids.")

    async def _made(
        self, session_id: str, name: str, make: EnvFactory, patience: float
    ) -> tuple[Session, float]:
        try:
            await self.take_slot(patience, session_id)
            started = time.perf_counter()
            try:
                env = await self.threads.run(make)
            except BaseException:
                self.capacity.release()
                raise
            session = self.add(session_id, Session(name, env, patience))
            return session, time.perf_counter() - started
        finally:
            del self._opening[session_id]

    def add(self, session_id: str, session: Session) -> Session:
        """Keep a session, which has a slot, under an id."""
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
            return await self._awaited(session, value)
        return value

    async def _awaited(self, session: Session, value: Awaitable[Any]) -> Any:
        task = session.doing = asyncio.ensure_future(value)
        await asyncio.wait([task], timeout=self.limits.step_timeout)
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=GRACE)
            env = session.env
            error = self._late(session)
            close_quietly(env)
            raise error
        return task.result()

    async def _in_thread(self, session: Session, function: Callable[[], Any]) -> Any:
        future = session.doing = self.threads.run(function)
        await asyncio.wait([future], timeout=self.limits.step_timeout)
        env = session.env
        if not future.done() and self.threads.abandon(future, lambda _: close_quietly(env)):
            raise self._late(session)
        return await future

    def _late(self, session: Session) -> DeadlineError:
        for session_id in [key for key, one in self._sessions.items() if one is session]:
            del self._sessions[session_id]
        if session.take_env() is not None:
            self.capacity.release()
        return DeadlineError(
            f"A call of {session.name} took longer than {self.limits.step_timeout:g} s "
            f"(--step-timeout) and was given up; its session has ended."
        )

    async def close(self, session_id: str) -> None:
        """End a session; nothing happens if there is none."""
        if (slot := self._queued.get(session_id)) is not None and not slot.done():
            slot.set_exception(_closed_early())
        if (opening := self._opening.get(session_id)) is not None:
            self._unwanted.add(session_id)
            await asyncio.wait([opening])
            self._unwanted.discard(session_id)
        session = self._sessions.pop(session_id, None)
        if session is None:
            return
        self._metrics.closed += 1

        async def end() -> Reply:
            session.saved = None
            await self._close_env(session)
            return {}

        await session.after_calls(end)

    def leave(self, link: object) -> None:
        """Note that a connection has ended: its sessions are idle from now on."""
        for session in self:
            if session.link is link:
                session.link, session.used = None, time.monotonic()

    async def expire(self) -> None:
        """End the sessions that have been idle for too long, and make room for those that wait."""
        self.make_room()
        oldest = time.monotonic() - self.limits.idle_timeout
        idle = [key for key, one in self._sessions.items() if one.is_idle_since(oldest)]
        await _some_seconds(self._expire(key, oldest) for key in idle)

    async def _expire(self, session_id: str, oldest: float) -> None:
        session = self._sessions.get(session_id)
        if session is not None and session.is_idle_since(oldest):
            self._metrics.expired += 1
            await self.close(session_id)

    def playing(self) -> int:
        """Return the number of episodes that are being played."""
        return sum(one.episode is not None for one in self)

    async def shut(self) -> None:
        """End all sessions and close their environments, also those in the middle of a call.

        An environment whose end takes longer than some seconds is left to its thread.
        """
        self.drain()
        for opening in list(self._opening.values()):
            opening.cancel()
        for late in await _some_seconds(self._end(one) for one in list(self._sessions)):
            late.cancel()
        await asyncio.sleep(0)
        if self._threads is not None:
            self._threads.close()

    async def _end(self, session_id: str) -> None:
        """End a session; a call that is being done is cancelled."""
        session = self._sessions[session_id]
        if session.doing is not None and (env := session.take_env()) is not None:
            del self._sessions[session_id]
            if env.blocking:
                await self._close_in_call(session.doing, env)
            else:
                session.doing.cancel()
                await asyncio.wait([session.doing], timeout=GRACE)
                close_quietly(env)
        else:
            await self.close(session_id)

    async def _close_in_call(self, doing: "asyncio.Future[Any]", env: Env) -> None:
        """Close an environment whose call runs in a thread, even if the call does not end."""
        await self.threads.cancel(doing, lambda _: None)
        doing.cancel()  # nobody waits for it any more
        closing = threading.Thread(target=close_quietly, args=(env,), daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, _SECONDS_TO_CLOSE)


def _closed_early() -> SessionLostError:
    return SessionLostError("The session was closed while it was opened.")


async def _some_seconds(endings: Iterable[Coroutine[Any, Any, None]]) -> "set[asyncio.Task[None]]":
    """End sessions at the same time, wait a limited time for it, and return what is not done."""
    tasks = [asyncio.create_task(ending) for ending in endings]
    if not tasks:
        return set()
    ended, late = await asyncio.wait(tasks, timeout=_SECONDS_TO_CLOSE + 2 * GRACE)
    for task in ended:
        task.result()
    return late


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
