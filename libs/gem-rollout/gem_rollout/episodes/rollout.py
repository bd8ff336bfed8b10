"""Collect episodes: ``collect`` for ordinary code, ``collect_async`` inside an event loop."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Self

from gem_core.agent import Agent
from gem_core.errors import ClosedError, ConfigError
from gem_core.lifetimes import Lifetime, Lock
from gem_core.plugins import default_registry
from gem_core.specs import AGENTS, AgentSpec
from gem_rollout.episodes.components import Environments, Sampler, components_by_name
from gem_rollout.episodes.endings import end_in_thread, prepare
from gem_rollout.episodes.engine import PATIENCE, Engine, Plan
from gem_rollout.episodes.policy import Budget, FaultPolicy
from gem_rollout.episodes.report import Report
from gem_rollout.episodes.run_loop import RunLoop
from gem_rollout.records.trajectory import Trajectory

__all__ = ["AgentMaker", "AsyncRollout", "Rollout", "collect", "collect_async"]

AgentMaker = str | AgentSpec | Callable[[], Agent]
"""The agent that ``collect`` takes: an id, a spec or a factory."""

_HURRY = 0.5
"""Seconds that episodes in flight have to end after a second Ctrl-C."""
_LIMIT = 10.0
"""Seconds that ``close`` waits for another thread."""
_log = logging.getLogger("gem_rollout")


def collect(
    make_env: Environments,
    make_agent: AgentMaker,
    *,
    episodes: int | Iterable[int] | Iterable[tuple[str, int]],
    episodes_per_group: int = 1,
    fork_groups: bool = False,
    seed: int = 0,
    concurrency: int = 16,
    agent_name: str = "agent",
    policy: FaultPolicy | None = None,
    budget: Budget | None = None,
    sampler: Sampler | None = None,
) -> "Rollout":
    """Play episodes and yield each trajectory when its episode ends.

    After Ctrl-C the run yields the episodes that have ended, then raises ``KeyboardInterrupt``. A
    second Ctrl-C ends it immediately.

    Args:
        make_env: The environment: an id, a spec, or a function that makes one, called whenever
            another episode runs at the same time. For a mixture, a list of ``Component`` or a
            mapping from names to them.
        make_agent: The agent: an id, a spec, or a function that makes one, called as above.
        episodes: How many episodes to play, or their numbers. Episode ``i`` begins in the same
            state in every run with the same ``seed``, so a run can be continued with the missing
            numbers. In a mixture a number may be a pair of a component's name and a number within
            it; otherwise components are drawn by weight.
        episodes_per_group: How many episodes (``k``) begin in the same state: episode ``i`` is
            sample ``i % k`` of group ``i // k``, and the group decides seed and component.
        fork_groups: Whether to reset the environment once per group and fork it for the other
            episodes, instead of resetting it with the same seed each time.
        seed: Seed of the run, a non-negative int.
        concurrency: Most episodes that run at the same time.
        agent_name: Name of the agent in the trajectories.
        policy: How to handle failures and slow episodes; by default they are recorded.
        budget: Limits of the run; by default there are none.
        sampler: Adapts the weights of a mixture.

    Returns:
        An iterator of trajectories, with a ``report``. ``with collect(...) as rollout``, or its
        ``close``, ends the run early; so does dropping it.

    Raises:
        ConfigError: An argument of the wrong type or out of range, or an event loop runs in this
            thread (use ``collect_async`` there).
        UnknownIdError: No environment or agent has the id.
    """
    _refuse_event_loop()
    return Rollout(
        _plan(
            make_env,
            make_agent,
            episodes=episodes,
            samples=episodes_per_group,
            fork_groups=fork_groups,
            seed=seed,
            concurrency=concurrency,
            agent_name=agent_name,
            policy=policy,
            budget=budget,
            sampler=sampler,
        )
    )


def collect_async(
    make_env: Environments,
    make_agent: AgentMaker,
    *,
    episodes: int | Iterable[int] | Iterable[tuple[str, int]],
    episodes_per_group: int = 1,
    fork_groups: bool = False,
    seed: int = 0,
    concurrency: int = 16,
    agent_name: str = "agent",
    policy: FaultPolicy | None = None,
    budget: Budget | None = None,
    sampler: Sampler | None = None,
) -> "AsyncRollout":
    """Do the same as ``collect`` for callers in an event loop; returns an async iterator."""
    return AsyncRollout(
        _plan(
            make_env,
            make_agent,
            episodes=episodes,
            samples=episodes_per_group,
            fork_groups=fork_groups,
            seed=seed,
            concurrency=concurrency,
            agent_name=agent_name,
            policy=policy,
            budget=budget,
            sampler=sampler,
        )
    )


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _refuse_event_loop() -> None:
    if _running_loop() is not None:
        raise ConfigError("An event loop runs here: use `async for` on collect_async(...).")


def _plan(
    make_env: Environments,
    make_agent: AgentMaker,
    *,
    episodes: int | Iterable[int] | Iterable[tuple[str, int]],
    policy: FaultPolicy | None,
    budget: Budget | None,
    **options: Any,
) -> Plan:
    return Plan(
        components=components_by_name(make_env),
        make_agent=_agent_maker(make_agent),
        numbers=iter(range(episodes) if isinstance(episodes, int) else episodes),
        policy=policy or FaultPolicy(),
        budget=budget or Budget(),
        **options,
    )


def _agent_maker(make_agent: AgentMaker) -> Callable[[], Agent]:
    if isinstance(make_agent, str):
        make_agent = default_registry().find(AGENTS, make_agent)
    if isinstance(make_agent, AgentSpec):
        return make_agent.make
    is_agent = isinstance(make_agent, Agent) and not isinstance(make_agent, type)
    if is_agent or not callable(make_agent):
        raise ConfigError(
            f"make_agent is an id, a spec or a function that makes an agent; got {make_agent!r}. "
            f"Episodes that run at the same time need an agent each, so pass a class or a function "
            f"such as lambda: MyAgent() instead of an agent."
        )
    return make_agent


class AsyncRollout:
    """A run as an asynchronous iterator of trajectories, in the order in which they end.

    Use it with ``async with`` to end the run when the block is left. One that is dropped ends soon
    after, and all end with their event loop, if that ends as that of ``asyncio.run`` does.

    Args:
        plan: The arguments of the run.
    """

    def __init__(self, plan: Plan) -> None:
        self._run = _AsyncRun(plan)
        self.report: Report = self._run.engine.report
        """Counts of the run, always up to date."""
        self._is_over = False
        prepare()
        self._lifetime = Lifetime(self, _end_async, self._run, what="rollout")

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Trajectory:
        """Return the next trajectory.

        Raises:
            ClosedError: The run was closed, or its event loop has ended.
            ForkError: This is a fork of the process that made it.
        """
        if self._is_over:
            raise StopAsyncIteration
        self._lifetime.check()
        try:
            trajectory = await self._run.next()
        except BaseException:
            await self.aclose()
            raise
        if trajectory is None:
            self._is_over = True
            await self.aclose()
            raise StopAsyncIteration
        return trajectory

    async def __aenter__(self) -> Self:
        self._lifetime.check()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the run: cut off the episodes in flight and close everything; may be called twice.

        Episodes have 1.3 seconds to end, and environments that block 5 seconds to close; what takes
        longer is left to its thread, and a warning is logged. In a fork this does nothing.
        """
        if self._lifetime.is_open:
            try:
                await self._run.close()
            finally:
                self._lifetime.end()


class _AsyncRun:
    """The state of an ``AsyncRollout``."""

    def __init__(self, plan: Plan) -> None:
        self.engine = Engine(plan)
        self.loop: asyncio.AbstractEventLoop | None = None
        self.is_closing = False
        self._guard: AsyncGenerator[None, None] | None = None
        self._stop: asyncio.Task[None] | None = None

    async def next(self) -> Trajectory | None:
        """Return the next trajectory; None at the end."""
        engine = self.engine
        if self.is_closing:
            raise ClosedError("This rollout is closed.")
        if self.loop is None:
            self.loop, self._guard = asyncio.get_running_loop(), self._end_with_loop()
            await anext(self._guard)
        elif self.loop is not asyncio.get_running_loop():
            raise ConfigError("A rollout is consumed in the event loop in which it has begun.")
        if self._stop is None and await engine.ready() and not self.is_closing:
            return engine.take()
        if self.is_closing:
            raise ClosedError("This rollout is closed.")
        await self.stop()
        if engine.finished:
            return engine.take()
        if engine.error is not None:
            raise engine.error
        return None

    async def _end_with_loop(self) -> AsyncGenerator[None, None]:
        """Wait to be closed by ``loop.shutdown_asyncgens``."""
        try:
            yield
        finally:
            self.is_closing = True
            await self.engine.stop()

    async def close(self) -> None:
        self.is_closing = True
        if self.loop is asyncio.get_running_loop():
            await self.stop()

    async def stop(self) -> None:
        self.begin_stop()
        if self._stop is not None:
            await asyncio.wait([self._stop])

    def begin_stop(self) -> None:
        """Begin to end the run, in its event loop."""
        if self._stop is None and self.loop is not None:
            self._stop = self.loop.create_task(self._stop_all())
            _stops.add(self._stop)
            self._stop.add_done_callback(_stops.discard)

    async def _stop_all(self) -> None:
        try:
            await self.engine.stop()
        finally:
            if self._guard is not None:
                with suppress(RuntimeError):  # the loop ends, and is just closing it
                    await self._guard.aclose()

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to end."""
        return self.loop is None or (self._stop is not None and self._stop.done())


_stops: set[asyncio.Task[None]] = set()
"""The tasks that end rollouts; an event loop refers to its tasks only weakly."""


def _end_async(run: _AsyncRun) -> None:
    """End a run that was dropped."""
    loop, run.is_closing = run.loop, True
    if loop is None or run.is_over:
        return
    try:
        loop.call_soon_threadsafe(run.begin_stop)
    except RuntimeError:  # the loop is closed
        end_in_thread(partial(run.engine.close_rest, are_over=True))


class Rollout:
    """A run as an iterator of trajectories, in the order in which they end.

    Use it with ``with`` to end the run when the block is left. One that is dropped ends soon after,
    in another thread.

    Args:
        plan: The arguments of the run.
    """

    def __init__(self, plan: Plan) -> None:
        self._run = _Run(plan)
        self.report: Report = self._run.engine.report
        """Counts of the run, always up to date."""
        self._is_over = False
        prepare()
        self._lifetime = Lifetime(self, _end, self._run, what="rollout")

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Trajectory:
        """Return the next trajectory.

        Raises:
            ClosedError: The run was closed.
            ConfigError: An event loop runs in this thread.
            ForkError: This is a fork of the process that made it.
        """
        if self._is_over:
            raise StopIteration
        self._lifetime.check()
        _refuse_event_loop()
        try:
            trajectory = self._run.next(self)
        except BaseException:
            self.close()
            raise
        if trajectory is None:
            self._is_over = True
            self.close()
            raise StopIteration
        return trajectory

    def __enter__(self) -> Self:
        self._lifetime.check()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the run: cut off the episodes in flight and close everything; may be called twice.

        Episodes have 1.3 seconds to end, and environments that block 5 seconds to close; what takes
        longer is left to its thread, and a warning is logged. Another thread that waits for a
        trajectory gets a ``ClosedError``; if it is in a step that does not return within 10
        seconds, it closes the environments after that step. In a fork this does nothing.

        Raises:
            KeyboardInterrupt: Ctrl-C arrived while the caller worked between two trajectories.
        """
        if self._lifetime.is_open:
            try:
                self._run.end()
            finally:
                self._lifetime.end()


class _Run:
    """The state of a ``Rollout``. One thread at a time uses it."""

    def __init__(self, plan: Plan) -> None:
        self.engine = Engine(plan)
        self._lock = Lock()
        self._loop: RunLoop | None = None
        self._is_closing = False
        self._is_stopped = False
        self._is_over = False

    def next(self, owner: object) -> Trajectory | None:
        """Return the next trajectory; None at the end.

        Args:
            owner: The object that users hold.
        """
        with self._lock:
            if self._loop is None:
                self._loop = RunLoop(owner, self.engine.interrupt)
            self._loop.listen()
            trajectory = None if self._is_closing else self._next(self._loop)
            if self._is_closing:
                self._close(self._loop)
                raise ClosedError("This rollout is closed.")
            return trajectory

    def _next(self, loop: RunLoop) -> Trajectory | None:
        engine = self.engine
        goes_on = not self._is_stopped and not loop.interrupted
        if goes_on and (engine.finished or loop.wait(engine.ready())):
            return engine.take()
        if not self._is_stopped and not engine.finished and not self._is_closing:
            self._is_stopped = True
            loop.finish(engine.stop())
        if engine.finished:
            return engine.take()
        if engine.error is not None:
            raise engine.error
        return None

    @property
    def needs_end(self) -> bool:
        """Whether there is something to end."""
        return self._loop is not None and not self._is_over

    def end(self) -> None:
        """End the run, or let the thread that is in it do so."""
        self._is_closing, loop = True, self._loop
        if loop is None or self._is_over:
            return
        if loop.is_running:  # in another thread, or this is a step
            self.engine.interrupt()
            loop.wake()
        if _running_loop() is not None:
            if not loop.is_mine:
                end_in_thread(self.end).join(_LIMIT)
            return
        if not self._lock.acquire(timeout=_LIMIT):
            _log.warning(
                "A thread is in a step of a rollout that was closed %g seconds ago: it closes the "
                "environments when the step returns.",
                _LIMIT,
            )
            return
        try:
            self._close(loop)
        finally:
            self._lock.release()

    def _close(self, loop: RunLoop) -> None:
        if self._is_over:
            return
        self._is_over = True
        try:
            loop.close(lambda: self.engine.stop(_HURRY if loop.in_a_hurry else PATIENCE))
        finally:
            end_in_thread(partial(self.engine.close_rest, are_over=True)).join(_HURRY)
        loop.raise_interrupt()


def _end(run: _Run) -> None:
    """End a run that was dropped."""
    if run.needs_end:
        end_in_thread(run.end)
