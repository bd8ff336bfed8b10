"""What the suite measures; each function returns figures by name."""

import asyncio
import dataclasses
import math
import pickle
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

from ray.cluster_utils import Cluster

from gem_core.agent import Agent, RandomAgent, SilentAgent
from gem_core.env import Env
from gem_rollout import collect
from gem_rollout.episodes.processes import in_processes
from gem_serve.cluster import RayPool
from gem_workers import Pool
from ray_pool.envs import Drawing, Sized

__all__ = ["cluster_of", "equal", "kill", "played", "sleepers", "steps"]

Figures = dict[str, float]
Play = Literal["steps", "episodes"]
"""What a message to a worker asks for; it follows from the agent."""
_NODE = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}


class RandomHere(RandomAgent):
    """Acts in this process."""

    movable = False


class SilentHere(SilentAgent):
    """Acts in this process."""

    movable = False


_RANDOM: dict[Play, type[Agent]] = {"steps": RandomHere, "episodes": RandomAgent}
_SILENT: dict[Play, type[Agent]] = {"steps": SilentHere, "episodes": SilentAgent}


@contextmanager
def cluster_of(nodes: int) -> Iterator[Cluster]:
    """Start a simulated cluster, and end it."""
    cluster = Cluster(initialize_head=True, head_node_args=_NODE)
    try:
        for _ in range(nodes - 1):
            cluster.add_node(**_NODE)
        yield cluster
    finally:
        cluster.shutdown()


def warm(pool: Pool, actors: int) -> None:
    """Start all actors of a pool."""

    async def wait() -> None:
        calls = (pool.call_async("time:sleep", 0.5, deadline=math.inf) for _ in range(actors))
        await asyncio.gather(*calls)

    asyncio.run(wait())


def played(
    make_env: Callable[[], Env],
    *,
    episodes: int,
    concurrency: int,
    seed: int = 0,
    make_agent: Callable[[], Agent] = RandomAgent,
) -> tuple[list[dict[str, Any]], float]:
    """Play episodes; return them without times, and the seconds."""
    started = time.perf_counter()
    found = list(
        collect(make_env, make_agent, episodes=episodes, concurrency=concurrency, seed=seed)
    )
    seconds = time.perf_counter() - started
    plain = []
    for one in sorted(found, key=lambda one: one.index):
        fields = dataclasses.asdict(one)
        for part in (fields, *fields["turns"]):
            for name in [name for name in part if name.endswith(("_seconds", "started_at"))]:
                del part[name]
        plain.append(fields)
    return plain, seconds


def equal(pool: Pool, make_env: Callable[[], Env], *, episodes: int, play: Play) -> bool:
    """Return whether episodes in a pool are those of this process, field by field."""
    here, _ = played(make_env, episodes=episodes, concurrency=16)
    there, _ = played(
        in_processes(make_env, pool=pool),
        episodes=episodes,
        concurrency=16,
        make_agent=_RANDOM[play],
    )
    return here == there and len(here) == episodes


def steps(
    pool: Pool, *, kilobytes: float, seconds: float, play: Play, total: int, concurrency: int
) -> Figures:
    """Measure calls of ``step``; the time of the step itself is not subtracted.

    Returns:
        Milliseconds of a step (wall time by all environments together), milliseconds of this
        process's CPU time, and bytes of arguments and results.
    """
    make_env = partial(Sized, kilobytes=kilobytes, seconds=seconds)
    remote, agent = in_processes(make_env, pool=pool), _SILENT[play]
    episodes = max(concurrency, total // 10)
    played(remote, episodes=concurrency, concurrency=concurrency, make_agent=agent)
    cpu, started = time.process_time(), time.perf_counter()
    for one in collect(remote, agent, episodes=episodes, concurrency=concurrency):
        assert one.error is None, one.error  # noqa: S101 - figures of failed steps mean nothing
    count = episodes * 10
    return {
        "ms": 1000 * (time.perf_counter() - started) / count,
        "cpu_ms": 1000 * (time.process_time() - cpu) / count,
        "bytes": _payload(make_env, play),
    }


def _payload(make_env: Callable[[], Env], play: Play) -> float:
    """Return the bytes that a step sends and gets, without Ray's envelope."""
    (trajectory,) = collect(make_env, SilentAgent, episodes=1)
    if play == "episodes":
        return len(pickle.dumps(trajectory)) / len(trajectory.turns)
    env = make_env()
    env.reset(seed=0)
    sent = len(pickle.dumps((b"0" * 16, b"", "step", env.snapshot(), "")))
    return sent + len(pickle.dumps((tuple(env.step("")), env.snapshot())))


def sleepers(pool: Pool, *, envs: int, seconds: float, turns: int, play: Play) -> Figures:
    """Play one episode in each of many environments that sleep, all at the same time."""
    make_env = in_processes(partial(Sized, seconds=seconds, turns=turns), pool=pool)
    asked: Any = {"episodes": envs, "concurrency": envs, "make_agent": _SILENT[play]}
    played(make_env, **asked)
    episodes, wall = played(make_env, **asked, seed=1)
    assert all(one["error"] is None for one in episodes)  # noqa: S101 - as above
    return {"seconds": wall, "share": turns * seconds / wall}


def kill(cluster: Cluster, pool: RayPool, *, episodes: int, moment: float) -> Figures:
    """Play episodes while a node is killed; then add a node again.

    Args:
        cluster: The cluster.
        pool: A new pool in it.
        episodes: Number of episodes.
        moment: Seconds from the beginning to the kill.
    """
    make_env = partial(Drawing, seconds=0.005)
    here, _ = played(Drawing, episodes=episodes, concurrency=16)
    victim = random.choice(cluster.list_all_nodes()[1:])
    in_flight = [0]

    def strike() -> None:
        in_flight[0] = pool.busy
        cluster.remove_node(victim)

    timer = threading.Timer(moment, strike)
    timer.start()
    there, seconds = played(
        in_processes(make_env, pool=pool),
        episodes=episodes,
        concurrency=16,
        seed=0,
        make_agent=RandomHere,
    )
    timer.join()
    cluster.add_node(**_NODE)
    return {
        "lost": sum(one["error"] is not None for one in there) + episodes - len(there),
        "unequal": sum(one != other for one, other in zip(here, there, strict=True)),
        "in_flight": in_flight[0],
        "replaced": pool.replaced,
        "repeated": pool.repeated,
        "moment": moment,
        "seconds": seconds,
    }
