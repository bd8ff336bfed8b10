"""Collect episodes: ``for`` in ordinary code, ``async for`` inside an event loop."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from typing import Self

from gem_core.agent import Agent
from gem_core.errors import ClosedError, ConfigError
from gem_core.lifetimes import Lifetime, Lock
from gem_core.plugins import default_registry
from gem_core.specs import AGENTS, AgentSpec
from gem_rollout.episodes.components import Environments, Sampler, components_by_name
from gem_rollout.episodes.endings import end_in_thread, prepare
from gem_rollout.episodes.engine import HURRY, Engine, Plan
from gem_rollout.episodes.policy import Budget, FaultPolicy
from gem_rollout.episodes.report import Report
from gem_rollout.episodes.run_loop import RunLoop
from gem_rollout.records.trajectory import Trajectory

__all__ = ["AgentMaker", "Rollout", "collect"]

AgentMaker = str | AgentSpec | Callable[[], Agent]
"""The agent that ``collect`` takes: an id, a spec or a factory."""

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

    ``for`` in ordinary code, ``async for`` in an event loop. After Ctrl-C, or once the task is
    cancelled, the episodes in flight are cut off: see ``Rollout``.

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
        An iterator of trajectories, with a ``report``. ``with collect(...) as rollout`` (``async
        with`` in an event loop), or its ``close``, ends the run early; so does dropping it.

    Raises:
        ConfigError: An argument of the wrong type or out of range.
        UnknownIdError: No environment or agent has the id.
    """
    return Rollout(
        Plan(
            components=components_by_name(make_env),
            make_agent=_agent_maker(make_agent),
            numbers=iter(range(episodes) if isinstance(episodes, int) else episodes),
            samples=episodes_per_group,
            fork_groups=fork_groups,
            seed=seed,
            concurrency=concurrency,
            agent_name=agent_name,
            policy=policy or FaultPolicy(),
            budget=budget or Budget(),
            sampler=sampler,
        )
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


class Rollout:
    """A run as an iterator of trajectories, in the order in which they end.

    Use it with ``with`` to end the run when the block is left; in an event loop, with ``async
    with``. One that is dropped ends soon after, and one in an event loop ends with it, if that ends
    as that of ``asyncio.run`` does.

    The first Ctrl-C while the main thread waits for a trajectory cuts off the episodes in flight.
    Those that have ended are yielded; then ``KeyboardInterrupt`` is raised. In a ``with`` block the
    same holds while the caller works between two trajectories: Ctrl-C is noted, and raised at the
    end of the run or of the block. Without a block it is raised there immediately, and trajectories
    that were not taken are lost. A second Ctrl-C is always raised immediately. In an event loop,
    the loop handles Ctrl-C, and cancelling the task has the effect of the first one.

    Args:
        plan: The arguments of the run.
    """

    def __init__(self, plan: Plan) -> None:
        engine = Engine(plan)
        self._run, self._async_run = _Run(engine), _AsyncRun(engine)
        self.report: Report = engine.report
        """Counts of the run, always up to date."""
        self._is_over = False
        prepare()
        self._lifetime = Lifetime(self, _end, self._run, self._async_run, what="rollout")

    @property
    def calls_in_flight(self) -> int:
        """The number of episodes that wait for their agent, such as for the reply of a model."""
        return self._run.engine.calls_in_flight

    def __iter__(self) -> Self:
        """Return the rollout itself, which goes on after the trajectories that were taken.

        Raises:
            ClosedError: All of its trajectories were taken.
        """
        self._check_not_over()
        return self

    def _check_not_over(self) -> None:
        if self._is_over:
            raise ClosedError(
                "This rollout has ended: it yields each trajectory once. Call collect() again, or "
                "keep the trajectories in a list."
            )

    def __next__(self) -> Trajectory:
        """Return the next trajectory.

        Raises:
            ClosedError: The run was closed.
            ConfigError: An event loop runs in this thread, or the run has begun in one.
            ForkError: This is a fork of the process that made it.
        """
        if self._is_over:
            raise StopIteration
        self._check_sync()
        try:
            trajectory = self._run.next()
        except BaseException:
            self.close()
            raise
        if trajectory is None:
            self._is_over = True
            self.close()
            raise StopIteration
        return trajectory

    def _check_sync(self) -> None:
        self._lifetime.check()
        if _running_loop() is not None:
            raise ConfigError("An event loop runs here: use `async for`, and `async with`.")
        if self._async_run.loop is not None:
            raise ConfigError(_ELSEWHERE)

    def __enter__(self) -> Self:
        self._check_sync()
        self._run.enter()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the run: cut off the episodes in flight and close everything; may be called twice.

        Episodes have 1.3 seconds to end, and environments that block 5 seconds to close; what takes
        longer is left to its thread, and a warning is logged. Another thread that waits for a
        trajectory gets a ``ClosedError``; if it is in a step that does not return within 10
        seconds, it closes the environments after that step. One that runs in an event loop ends
        soon after; ``aclose`` waits for it. In a fork this does nothing.

        Raises:
            KeyboardInterrupt: Ctrl-C was noted, and was not raised yet.
        """
        if self._lifetime.is_open:
            try:
                self._run.end()
            finally:
                self._lifetime.end()

    def __aiter__(self) -> Self:
        """Return the rollout itself, as ``iter`` does.

        Raises:
            ClosedError: All of its trajectories were taken.
        """
        self._check_not_over()
        return self

    async def __anext__(self) -> Trajectory:
        """Return the next trajectory.

        Raises:
            ClosedError: The run was closed, or its event loop has ended.
            ConfigError: The run has begun in another event loop, or outside of event loops.
            ForkError: This is a fork of the process that made it.
        """
        if self._is_over:
            raise StopAsyncIteration
        self._lifetime.check()
        if self._run.has_begun:
            raise ConfigError(_ELSEWHERE)
        try:
            trajectory = await self._async_run.next()
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
        """End a run that runs in an event loop, as ``close`` does; may be called twice."""
        if self._lifetime.is_open:
            try:
                await self._async_run.close()
            finally:
                self._lifetime.end()


def _end(run: "_Run", async_run: "_AsyncRun") -> None:
    """End a run that was dropped."""
    if run.needs_end:
        end_in_thread(run.end)
    _end_async(async_run)


_ELSEWHERE = "A rollout is consumed where it has begun: in one event loop, or outside of them."


class _Run:
    """A run in ordinary code. One thread at a time uses it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._lock = Lock()
        self._loop: RunLoop | None = None
        self._is_closing = False
        self._is_stopped = False
        self._is_over = False

    def enter(self) -> None:
        """Note Ctrl-C until the run is over."""
        with self._lock:
            self._begin().note()

    def next(self) -> Trajectory | None:
        """Return the next trajectory; None at the end."""
        with self._lock:
            loop = self._begin()
            with loop.noting():
                trajectory = None if self._is_closing else self._next(loop)
        if self._is_closing:
            self.end()
            raise ClosedError("This rollout is closed.")
        return trajectory

    def _begin(self) -> RunLoop:
        if self._loop is None:
            self._loop = RunLoop(self.engine.interrupt)
        return self._loop

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
    def has_begun(self) -> bool:
        """Whether it has an event loop of its own."""
        return self._loop is not None

    @property
    def needs_end(self) -> bool:
        """Whether there is something to end."""
        return self._loop is not None and not self._is_over

    def end(self) -> None:
        """End the run, or let the thread that is in it do so."""
        self._is_closing, loop = True, self._loop
        if loop is None or self._is_over:
            return
        self.engine.interrupt()
        loop.wake()  # another thread waits, or this is a step
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
            loop.end()

    def _close(self, loop: RunLoop) -> None:
        with loop.noting():
            if self._is_over:
                return
            self._is_over = True
            try:
                loop.close(lambda: self.engine.stop(in_a_hurry=loop.in_a_hurry))
            finally:
                end_in_thread(self.engine.close_rest).join(HURRY)


class _AsyncRun:
    """A run in an event loop."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.loop: asyncio.AbstractEventLoop | None = None
        self.is_closing = False
        self._is_ending = False
        """Whether the last trajectories are taken, and then an error is raised if there is one."""
        self._guard: AsyncGenerator[None, None] | None = None
        self._stop: asyncio.Task[None] | None = None

    async def next(self) -> Trajectory | None:
        """Return the next trajectory; None at the end."""
        engine = self.engine
        if self.is_closing and not self._is_ending:
            raise ClosedError("This rollout is closed.")
        if self.loop is None:
            self.loop, self._guard = asyncio.get_running_loop(), self._end_with_loop()
            await anext(self._guard)
        elif self.loop is not asyncio.get_running_loop():
            raise ConfigError(_ELSEWHERE)
        if self._stop is None and await engine.ready() and not self.is_closing:
            return engine.take()
        if self.is_closing and not self._is_ending:
            raise ClosedError("This rollout is closed.")
        self._is_ending = True
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
            if asyncio.current_task() is not self._stop:
                await self.stop()
            await self.engine.stop()  # the end of the loop has cancelled that task

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
        end_in_thread(run.engine.close_rest)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
