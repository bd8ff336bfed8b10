"""Collect episodes: ``collect`` for ordinary code, ``collect_async`` inside an event loop."""

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable
from contextlib import ExitStack
from types import FrameType
from typing import Any, Self

from gem_core.agent import Agent
from gem_core.errors import ConfigError
from gem_core.plugins import default_registry
from gem_core.specs import AgentSpec
from gem_rollout.components import Environments, Sampler, components_by_name
from gem_rollout.engine import Engine, Plan
from gem_rollout.policy import Budget, FaultPolicy
from gem_rollout.report import Report
from gem_rollout.runner import KEEPS_VALUES
from gem_rollout.trajectory import Trajectory

__all__ = ["AgentMaker", "AsyncRollout", "Rollout", "collect", "collect_async"]

AgentMaker = str | AgentSpec | Callable[[], Agent]
"""The agent that ``collect`` takes: an id, a spec or a factory."""

_HURRY = 0.5
"""Seconds that episodes in flight have to end after a second Ctrl-C."""


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
        An iterator of trajectories, with a ``report``, and a ``close`` that ends the run early.

    Raises:
        ConfigError: An argument of the wrong type or out of range, or an event loop runs in this
            thread (use ``collect_async`` there).
        UnknownIdError: No environment or agent has the id.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise ConfigError("An event loop runs here: use `async for` on collect_async(...).")
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
        make_agent = default_registry().find(AgentSpec, make_agent)
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

    Args:
        plan: The arguments of the run.
    """

    def __init__(self, plan: Plan) -> None:
        self._engine = Engine(plan)
        self.report: Report = self._engine.report
        """Counts of the run, always up to date."""
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
        """End the run: cut off the episodes in flight and close everything."""
        await self._stream.aclose()


class Rollout:
    """A run as an iterator of trajectories, in the order in which they end.

    Args:
        plan: The arguments of the run.
    """

    def __init__(self, plan: Plan) -> None:
        self._engine = Engine(plan)
        self.report: Report = self._engine.report
        """Counts of the run, always up to date."""
        self._stream = self._play()

    def _play(self) -> Generator[Trajectory, None, None]:
        engine = self._engine
        loop = _Loop(engine.interrupt)
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
        """End the run: cut off the episodes in flight and close everything."""
        self._stream.close()


class _Loop:
    """An event loop that the first Ctrl-C does not break.

    A ``KeyboardInterrupt`` inside the loop's own code can lose a callback, and then the loop waits
    for ever. So the first Ctrl-C is only noted, also while the caller works between two
    trajectories, and the task that the loop runs is cancelled. A step that runs in the loop's
    thread is interrupted by a ``CancelledError``. The second Ctrl-C is raised.

    Args:
        interrupt: Called by the first Ctrl-C; returns whether the thread is in a step, and not in
            the loop's own code.
    """

    def __init__(self, interrupt: Callable[[], bool]) -> None:
        self._interrupt_run = interrupt
        self.interrupted = False
        self._in_a_hurry = False
        self._loop = asyncio.new_event_loop()
        self._waiting: asyncio.Task[bool] | None = None
        self._at_close = ExitStack()
        in_main = threading.current_thread() is threading.main_thread()
        self._listens = in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._listens:
            signal.signal(signal.SIGINT, self._interrupt)
            self._wake_at_signals()

    def _wake_at_signals(self) -> None:
        """Wake the loop also at a signal that arrives just before it falls asleep."""
        if sys.platform == "win32":  # whose loops do so themselves
            return
        received, sent = socket.socketpair()
        for one in (received, sent):
            one.setblocking(False)
            self._at_close.enter_context(one)
        before = signal.set_wakeup_fd(sent.fileno(), warn_on_full_buffer=False)
        self._at_close.callback(signal.set_wakeup_fd, before)
        self._loop.add_reader(received, received.recv, 4096)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            self._in_a_hurry = True
            signal.default_int_handler(number, frame)
        self.interrupted = True
        if self._waiting is not None:
            self._waiting.cancel()
            self._loop.call_soon_threadsafe(lambda: None)  # it may be asleep
        is_in_step = self._interrupt_run()
        if is_in_step and (frame is None or frame.f_code not in KEEPS_VALUES):
            raise asyncio.CancelledError

    def wait(self, ready: Coroutine[Any, Any, bool]) -> bool:
        """Return the result of a coroutine; False if Ctrl-C interrupted it."""
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
        """Run a coroutine to its end, which only a second Ctrl-C interrupts."""
        self._loop.run_until_complete(work)

    def close(self, stop: Callable[..., Coroutine[Any, Any, None]]) -> None:
        """Stop the run and close the loop; raise the first Ctrl-C if there was one."""
        loop = self._loop
        if self.interrupted:
            loop.set_exception_handler(lambda *_: None)  # errors of cancelled tasks
        try:
            if self._in_a_hurry:
                loop.run_until_complete(stop(_HURRY))
            else:
                loop.run_until_complete(stop())
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()
            self._at_close.close()
            if self._listens:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                if self.interrupted and not self._in_a_hurry:
                    signal.raise_signal(signal.SIGINT)
