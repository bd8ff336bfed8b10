"""Collects episodes: ``collect`` for ordinary code, ``collect_async`` where an event loop runs."""

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable
from types import FrameType
from typing import Any, Self

from gem_core.agent import Agent
from gem_core.errors import ConfigError
from gem_rollout.engine import Engine, Plan
from gem_rollout.policy import Budget, FaultPolicy
from gem_rollout.report import Report
from gem_rollout.sources import Sampler, Sources, sources_by_name
from gem_rollout.trajectory import Trajectory

__all__ = ["AsyncRollout", "Rollout", "collect", "collect_async"]

_HURRY = 0.5
"""Seconds that what is in flight has to end after a second Ctrl-C."""


def collect(
    make_env: Sources,
    make_agent: Callable[[], Agent],
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
    """Play episodes and yield each trajectory when it ends.

    Ctrl-C ends the run: what has ended is still yielded, then ``KeyboardInterrupt`` is raised. A
    second one ends it at once.

    Args:
        make_env: Makes an environment, when one more is needed at once; or sources of several: a
            list of ``Component``, or a mapping from names to them.
        make_agent: Makes an agent, likewise.
        episodes: How many, or their numbers. Episode ``i`` begins alike in every run of the same
            ``seed``, so a run can be continued with the numbers that are missing. With several
            sources they may be pairs of a source's name and a number within it; otherwise sources
            are drawn.
        episodes_per_group: How many episodes begin in the same state: episode ``i`` is sample
            ``i % k`` of group ``i // k``, and the group's number decides seed and source.
        fork_groups: Reset the environment once for a group and fork it for the others, instead of
            resetting it with the same seed each time.
        seed: Seed of the run.
        concurrency: Most episodes at once.
        agent_name: Name for the trajectories.
        policy: What becomes of failures and stragglers; the default records them.
        budget: What may be used; the default is no limit.
        sampler: Adapts the weights of the sources.

    Returns:
        An iterator with a ``report``, and a ``close`` that ends the run early.

    Raises:
        ConfigError: A value that cannot work, or an event loop runs in this thread (then use
            ``collect_async``).
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise ConfigError("An event loop is running here: use `async for` on collect_async(...).")
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
    make_env: Sources,
    make_agent: Callable[[], Agent],
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
    """``collect`` for asynchronous callers."""
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


def _plan(
    make_env: Sources,
    make_agent: Callable[[], Agent],
    *,
    episodes: int | Iterable[int] | Iterable[tuple[str, int]],
    policy: FaultPolicy | None,
    budget: Budget | None,
    **options: Any,
) -> Plan:
    return Plan(
        sources=sources_by_name(make_env),
        make_agent=make_agent,
        numbers=iter(range(episodes) if isinstance(episodes, int) else episodes),
        policy=policy or FaultPolicy(),
        budget=budget or Budget(),
        **options,
    )


class AsyncRollout:
    """A run, as an asynchronous iterator of the trajectories as they end.

    Args:
        plan: What is to be played.
    """

    def __init__(self, plan: Plan) -> None:
        self._engine = Engine(plan)
        self.report: Report = self._engine.report
        """Counts of the run, up to date whenever they are read."""
        self._stream = self._play()

    async def _play(self) -> AsyncGenerator[Trajectory, None]:
        engine = self._engine
        try:
            while await engine.ready():
                yield engine.take()
            await engine.stop()
            while engine.finished:
                yield engine.take()
            if engine.error is not None:
                raise engine.error
        finally:
            await engine.stop()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Trajectory:
        return await anext(self._stream)

    async def aclose(self) -> None:
        """End the run: what is in flight is cut, and everything is closed."""
        await self._stream.aclose()


class Rollout:
    """A run, as an iterator of the trajectories as they end.

    Args:
        plan: What is to be played.
    """

    def __init__(self, plan: Plan) -> None:
        self._engine = Engine(plan)
        self.report: Report = self._engine.report
        """Counts of the run, up to date whenever they are read."""
        self._stream = self._play()

    def _play(self) -> Generator[Trajectory, None, None]:
        engine, loop = self._engine, _Loop()
        try:
            while not loop.interrupted and (engine.finished or loop.wait(engine.ready())):
                yield engine.take()
            while engine.finished:
                yield engine.take()
            loop.finish(engine.stop())
            while engine.finished:
                yield engine.take()
            if engine.error is not None:
                raise engine.error
        finally:
            loop.close(engine.stop)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Trajectory:
        return next(self._stream)

    def close(self) -> None:
        """End the run: what is in flight is cut, and everything is closed."""
        self._stream.close()


class _Loop:
    """An event loop that a first Ctrl-C does not break.

    A ``KeyboardInterrupt`` in the middle of the loop's own work can lose what is to run next, and
    then the loop waits for ever. So the first one is only noted, also while the caller is at work
    between two trajectories, and what the loop waits for is cancelled; the second one is raised.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self._in_a_hurry = False
        self._loop = asyncio.new_event_loop()
        self._waiting: asyncio.Task[bool] | None = None
        in_main = threading.current_thread() is threading.main_thread()
        self._listens = in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._listens:
            signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            self._in_a_hurry = True
            signal.default_int_handler(number, frame)
        self.interrupted = True
        if self._waiting is not None:
            self._waiting.cancel()
            self._loop.call_soon_threadsafe(lambda: None)  # it may be asleep

    def wait(self, ready: Coroutine[Any, Any, bool]) -> bool:
        """Return what a coroutine returns; False if Ctrl-C came meanwhile."""
        self._waiting = self._loop.create_task(ready)
        try:
            return self._loop.run_until_complete(self._waiting)
        except asyncio.CancelledError:
            if self.interrupted:
                return False
            raise
        finally:
            self._waiting = None

    def finish(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine to its end; only a second Ctrl-C breaks it."""
        self._loop.run_until_complete(work)

    def close(self, stop: Callable[[float | None], Coroutine[Any, Any, None]]) -> None:
        """Stop the run and close the loop; raise the Ctrl-C that was only noted."""
        loop = self._loop
        try:
            if self._in_a_hurry:
                loop.set_exception_handler(lambda *_: None)  # of what is cut off
                loop.run_until_complete(stop(_HURRY))
            else:
                loop.run_until_complete(stop(None))
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()
            if self._listens:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                if self.interrupted and not self._in_a_hurry:
                    signal.raise_signal(signal.SIGINT)
