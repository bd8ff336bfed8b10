"""Collects episodes: each runs by itself, several at once where something waits.

An episode is one body of code (``play_episode``). While environment and agent are synchronous, it
runs inline; where one of them is asynchronous, other episodes go on while it waits; where a step
blocks, what the episode does between two awaits has a thread.
"""

import asyncio
import contextlib
import functools
import signal
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

from gem_core.agent import Agent, Reply
from gem_core.env import Env, Step
from gem_core.errors import ConfigError
from gem_core.faults import error_record
from gem_core.maybe_async import drive, is_awaitable
from gem_core.rollout.trajectory import Trajectory, Turn
from gem_core.seeding import child_seed

__all__ = ["collect", "collect_async", "play_episode"]


def collect(
    make_env: Callable[[], Env],
    make_agent: Callable[[], Agent],
    *,
    episodes: int | Iterable[int],
    seed: int = 0,
    concurrency: int = 16,
    agent_name: str = "agent",
) -> Iterator[Trajectory]:
    """Play episodes and yield each trajectory when it ends.

    An error in an episode ends that episode and is recorded in its trajectory. Ctrl-C ends the run
    when what runs just then awaits something; a second one ends it at once.

    Args:
        make_env: Makes an environment; called up to ``concurrency`` times.
        make_agent: Makes an agent, likewise.
        episodes: How many, or their numbers. Episode ``i`` has the same seed in every run of the
            same ``seed``, so a run can be continued with the numbers that are missing.
        seed: Seed of the run.
        concurrency: Most episodes at once.
        agent_name: Name for the trajectories.

    Raises:
        ConfigError: ``concurrency`` is not positive, or an event loop runs in this thread (then
            use ``collect_async``).
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise ConfigError("An event loop is running here: use `async for` on collect_async(...).")
    stream = collect_async(
        make_env,
        make_agent,
        episodes=episodes,
        seed=seed,
        concurrency=concurrency,
        agent_name=agent_name,
    )
    loop = asyncio.new_event_loop()
    try:
        while True:
            waiting = loop.create_task(_next(stream))
            trajectory = _run_until_complete(loop, waiting)
            if trajectory is None:
                return
            yield trajectory
    finally:
        waiting.cancel()  # it is under way only after Ctrl-C
        with contextlib.suppress(asyncio.CancelledError, Exception):
            loop.run_until_complete(waiting)
        loop.run_until_complete(stream.aclose())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def _run_until_complete(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> Any:
    """Run a task to its end; Ctrl-C cancels it, a second one interrupts whatever runs.

    A ``KeyboardInterrupt`` in the middle of the loop's own work can lose what is to run next, and
    then the loop waits for ever; so the first one is no exception until the task has ended.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return loop.run_until_complete(task)
    asked = False

    def cancel(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked or task.done():
            signal.default_int_handler(number, frame)
        asked = True
        task.cancel()
        loop.call_soon_threadsafe(lambda: None)  # it may be asleep

    signal.signal(signal.SIGINT, cancel)
    try:
        return loop.run_until_complete(task)
    except asyncio.CancelledError:
        if asked:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


async def _next(stream: AsyncGenerator[Trajectory, None]) -> Trajectory | None:
    return await anext(stream, None)


async def collect_async(
    make_env: Callable[[], Env],
    make_agent: Callable[[], Agent],
    *,
    episodes: int | Iterable[int],
    seed: int = 0,
    concurrency: int = 16,
    agent_name: str = "agent",
) -> AsyncGenerator[Trajectory, None]:
    """``collect`` for asynchronous callers."""
    if concurrency < 1:
        raise ConfigError(f"concurrency must be at least 1; got {concurrency}.")
    numbers = iter(range(episodes) if isinstance(episodes, int) else episodes)
    done: asyncio.Queue[Trajectory | Exception | None] = asyncio.Queue(maxsize=1)

    threads = ThreadPoolExecutor(concurrency, thread_name_prefix="gem-rollout")

    def start_worker() -> asyncio.Task[None]:
        work = _work(make_env, make_agent, numbers, seed, agent_name, done, threads)
        return asyncio.create_task(work)

    workers = [start_worker()]
    ended = 0
    try:
        while ended < len(workers):
            # Another worker is of use only while those that there are wait for something.
            await asyncio.sleep(0)
            if done.empty() and not ended and len(workers) < concurrency:
                workers.append(start_worker())
                continue
            item = await done.get()
            if isinstance(item, Trajectory):
                yield item
            elif item is None:
                ended += 1
            else:
                raise item
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        threads.shutdown()


async def _work(
    make_env: Callable[[], Env],
    make_agent: Callable[[], Agent],
    numbers: Iterator[int],
    seed: int,
    agent_name: str,
    done: "asyncio.Queue[Trajectory | Exception | None]",
    threads: ThreadPoolExecutor,
) -> None:
    """Play episodes until there are no more numbers; then, or after an error in making, end."""
    with contextlib.ExitStack() as stack:
        env: Env | None = None
        try:
            for number in numbers:
                started = time.perf_counter()
                if env is None:
                    env = make_env()
                    stack.callback(env.close)
                    agent = make_agent()
                    stack.callback(agent.close)
                setup_seconds = time.perf_counter() - started
                steps = _play(env, agent, child_seed(seed, number), number, agent_name)
                trajectory = await _run(steps, threads if env.blocking else None)
                trajectory.setup_seconds += setup_seconds
                await done.put(trajectory)
            await done.put(None)
        except Exception as error:  # noqa: BLE001 - raised again by the consumer
            await done.put(error)


async def _run(
    steps: Generator[Any, Any, Trajectory], threads: ThreadPoolExecutor | None
) -> Trajectory:
    """Run an episode here, or in threads; what it awaits is awaited here."""
    resume: Callable[[], Any] = functools.partial(next, steps)
    while True:
        if threads is None:
            value = _advance(steps, resume)
        else:
            value = await _advance_in_thread(threads, steps, resume)
        if isinstance(value, Trajectory):
            return value
        try:
            result = await value
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            resume = functools.partial(steps.throw, error)
        else:
            resume = functools.partial(steps.send, result)


def _advance(
    steps: Generator[Any, Any, Trajectory],
    resume: Callable[[], Any],
    stopped: threading.Event | None = None,
) -> Any:
    """Run an episode up to its next awaitable, which is returned, or to its trajectory."""
    try:
        value = resume()
        while not is_awaitable(value) and not (stopped and stopped.is_set()):
            value = steps.send(value)
    except StopIteration as end:
        return end.value
    return value


async def _advance_in_thread(
    threads: ThreadPoolExecutor, steps: Generator[Any, Any, Trajectory], resume: Callable[[], Any]
) -> Any:
    stopped = threading.Event()
    loop = asyncio.get_running_loop()
    running = loop.run_in_executor(threads, _advance, steps, resume, stopped)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        # The environment is going to be closed: not while a thread is in it.
        stopped.set()
        await asyncio.wait([running])
        if asyncio.iscoroutine(unused := running.result()):
            unused.close()
        raise


def play_episode(
    env: Env, agent: Agent, seed: int, index: int = 0, agent_name: str = "agent"
) -> Any:
    """Play one episode; returns its trajectory, or an awaitable of it.

    Args:
        env: The environment; it is reset with ``seed``, and with its own options for ``index``.
        agent: The agent.
        seed: Seed of the episode.
        index: Number of the episode.
        agent_name: Name for the trajectory.
    """
    return drive(_play(env, agent, seed, index, agent_name))


def _play(
    env: Env, agent: Agent, seed: int, index: int, agent_name: str
) -> Generator[Any, Any, Trajectory]:
    env_id = env.spec.id if env.spec is not None else type(env).__name__
    trajectory = Trajectory(env_id=env_id, agent=agent_name, index=index, seed=seed)
    boundary, clock = "env", time.perf_counter
    try:
        started = clock()
        observation, info = yield env.reset(seed=seed, **env.unwrapped.reset_options(index))
        trajectory.reset_info, trajectory.final_observation = info, observation
        boundary = "agent"
        agent.reset(env)
        trajectory.setup_seconds = clock() - started
        ended = False
        while not ended:
            boundary, before = "agent", clock()
            said = yield agent.act(observation, info)
            action, generation = said if isinstance(said, Reply) else (said, None)
            boundary, between = "env", clock()
            step: Step = yield env.step(action)
            after = clock()
            seen, (observation, reward, terminated, truncated, info) = observation, step
            trajectory.turns.append(
                Turn(
                    agent_name,
                    seen,
                    action,
                    reward,
                    terminated,
                    truncated,
                    info,
                    between - before,
                    after - between,
                    generation,
                )
            )
            trajectory.final_observation = observation
            ended = terminated or truncated
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - data, not a crash
        trajectory.error = error_record(error, boundary)
    trajectory.success = _success(env, trajectory)
    return trajectory


def _success(env: Env, trajectory: Trajectory) -> bool | None:
    if env.spec is None or env.spec.return_range is None:
        return None
    if trajectory.error is not None:
        return False
    return trajectory.episode_return >= env.spec.return_range[1] - 1e-9
