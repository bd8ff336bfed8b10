"""A Ray cluster of three nodes on this machine: equal episodes, and faults that stay small."""

import asyncio
import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import cluster_functions
import pytest
import ray
from ray.cluster_utils import Cluster
from selection import thorough

import gem_core
from gem_core.agent import RandomAgent, ScriptedAgent, SilentAgent
from gem_core.errors import (
    ClosedError,
    ConfigError,
    DeadlineError,
    WorkerCallError,
    WorkerDiedError,
)
from gem_core.factory import make_factory
from gem_rollout import FaultPolicy, collect
from gem_rollout.episodes.processes import in_processes
from gem_serve.cluster import RayPool, actor_set

pytestmark = [pytest.mark.timeout(240), pytest.mark.slow]
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}


def add_node(cluster: Cluster, **options: Any) -> Any:
    """Start a node; on a busy machine the 30 s that Ray allows may be too few."""
    for _ in range(2):
        try:
            return cluster.add_node(**NODE, **options)
        except Exception as error:  # Ray raises no other class
            if "timed out during startup" not in str(error):
                raise
    return cluster.add_node(**NODE, **options)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Three nodes; the last one has the custom resource ``sandbox``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")
        made = Cluster()
        try:
            add_node(made)
            add_node(made)
            add_node(made, resources={"sandbox": 2})
            ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
            yield made
        finally:
            ray.shutdown()
            made.shutdown()


@pytest.fixture(scope="module")
def shared(cluster: Cluster) -> Iterator[RayPool]:
    with RayPool(actors=3, cpus=0.25) as made:
        yield made


def played(make_env: Any, make_agent: Any = RandomAgent, **options: Any) -> dict[int, Any]:
    """Return the episodes of a run without their times."""
    found = {}
    for one in collect(make_env, make_agent, seed=3, **options):
        fields = dataclasses.asdict(one)
        del fields["setup_seconds"], fields["started_at"]
        for turn in fields["turns"]:
            for name in [name for name in turn if name.endswith("_seconds")]:
                del turn[name]
        found[one.index] = fields
    return found


class RandomHere(RandomAgent):
    """Acts in this process."""

    movable = False


@pytest.mark.parametrize("agent", [RandomHere, RandomAgent])
def test_hundreds_of_episodes_in_a_cluster_are_those_of_one_process(
    shared: RayPool, agent: Any
) -> None:
    """Every field is equal except the times, in steps and in whole episodes."""
    make_env = make_factory("game:GuessTheNumber-v0-easy")
    episodes = 600 if thorough() else 150
    there = played(in_processes(make_env, pool=shared), agent, episodes=episodes)
    assert there == played(make_env, agent, episodes=episodes)


def test_a_node_that_is_lost_takes_no_episode_with_it(cluster: Cluster, tmp_path: Path) -> None:
    """Calls that were there are repeated, and no others; later calls find the other nodes."""
    node = add_node(cluster, resources={"lost": 1})
    gate = tmp_path / "gate"
    with RayPool(actors=2, cpus=0.1, resources={"lost": 0.1}) as pool:

        async def calls() -> list[str]:
            waits = [
                asyncio.create_task(
                    pool.call_async("cluster_functions:wait_for", str(gate), deadline=200)
                )
                for _ in range(4)
            ]
            while pool.busy < 2:  # noqa: ASYNC110 - another process decides
                await asyncio.sleep(0.05)
            cluster.remove_node(node)
            add_node(cluster, resources={"lost": 1})
            gate.touch()
            return await asyncio.gather(*waits)

        found = asyncio.run(calls())
        assert node.node_id not in found
        assert len(found) == 4
        assert pool.repeated == 2


def test_a_hung_step_is_killed_at_its_deadline_and_the_others_go_on(shared: RayPool) -> None:
    """Its actor is replaced, and the next episodes use the new one."""
    before = shared.replaced
    make_env = in_processes(cluster_functions.Acts, pool=shared)
    hung = played(
        make_env,
        lambda: ScriptedAgent(["", "hang"]),
        episodes=1,
        policy=FaultPolicy(turn_deadline=2.0),
    )
    assert hung[0]["error"]["type"] == "DeadlineError"
    assert len(hung[0]["turns"]) == 1
    assert shared.replaced == before + 1
    ended = played(make_env, SilentAgent, episodes=20)
    assert all(one["error"] is None for one in ended.values())
    with pytest.raises(DeadlineError, match="time:sleep took longer than 1 seconds"):
        shared.call("time:sleep", 3600, deadline=1)


def test_a_call_that_kills_its_actors_is_given_up(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is repeated only a few times, and the error says so."""
    monkeypatch.setattr("gem_serve.cluster.pool.MOST_LOST", 2)
    with RayPool(actors=1, cpus=0.1) as pool:
        with pytest.raises(WorkerDiedError, match="2 actors died in os:_exit"):
            pool.call("os:_exit", 3, deadline=100)
        assert isinstance(pool.call("os:getpid", deadline=100), int)


def test_an_error_in_an_actor_has_its_traceback(shared: RayPool) -> None:
    """The error is the same as that of worker processes."""
    with pytest.raises(WorkerCallError, match="raised LookupError: unknown encoding") as raised:
        shared.call("codecs:lookup", "nothing", deadline=100)
    assert "In the worker:" in raised.value.__notes__[0]


def test_actors_run_where_their_resources_are_and_with_their_environment(cluster: Cluster) -> None:
    """Custom resources choose the node, and ``runtime_env`` reaches the actor."""
    (place,) = (
        node["NodeID"] for node in ray.nodes() if node["Alive"] and "sandbox" in node["Resources"]
    )
    environment = {"env_vars": {"GEM_TEST_OF_RAY": "there"}}
    with RayPool(cpus=0.1, resources={"sandbox": 1}, runtime_env=environment) as pool:
        assert pool.size == 2
        assert pool.call("cluster_functions:node", deadline=100) == place
        assert pool.call("os:getenv", "GEM_TEST_OF_RAY", deadline=100) == "there"
        blob = b"1" * 200_000
        assert pool.shared(blob) == pool.shared(b"1" * 200_000)
        assert pool.call("builtins:len", pool.shared(blob), deadline=100) == 200_000


def test_workers_with_other_versions_are_refused(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error has the driver's version and the worker's."""
    here = {**actor_set.installed_versions(), "gem-core": "9.9.9"}
    monkeypatch.setattr(actor_set, "installed_versions", lambda: here)
    with (
        RayPool(actors=1, cpus=0.1) as pool,
        pytest.raises(ConfigError, match=r"gem-core is 9\.9\.9 in the driver and 0\.\d+\.\w+ on"),
    ):
        pool.call("os:getpid", deadline=100)


def test_a_plugin_that_workers_lack_is_named(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry point that cannot be imported there is explained by what the driver has."""
    here = {**actor_set.installed_versions(), "gem-mine": "1.2"}
    monkeypatch.setattr(actor_set, "installed_versions", lambda: here)
    with (
        RayPool(actors=1, cpus=0.1) as pool,
        pytest.raises(WorkerCallError, match=r"lacks what the driver has: gem-mine 1\.2"),
    ):
        pool.call("gem_mine:play", deadline=100)


def test_a_vector_in_a_cluster_is_that_of_one_process(cluster: Cluster) -> None:
    """Observations, rewards and ends are equal, and an actor that dies loses its episodes only."""
    executors: tuple[Any, ...] = ("serial", {"id": "ray", "actors": 2, "cpus": 0.1})
    seen = []
    for executor in executors:
        with gem_core.make_vec(
            "game:GuessTheNumber-v0-easy", num_envs=4, executor=executor, seed=5
        ) as vector:
            steps: list[Any] = [vector.reset()]
            steps += [vector.step(vector.sample_random_actions()) for _ in range(10)]
            seen.append(steps)
    assert seen[0] == seen[1]


def test_an_actor_of_a_vector_that_dies_is_replaced(cluster: Cluster) -> None:
    """Its environments report the loss of their episodes, and the next reset works."""
    spec = gem_core.EnvSpec(id="test:Acts", entry_point="cluster_functions:Acts")
    with gem_core.make_vec(
        spec, num_envs=2, executor={"id": "ray", "actors": 2, "cpus": 0.1}, on_error="truncate"
    ) as vector:
        vector.reset()
        batch = vector.step(["die", "go"])
        assert list(batch.truncated) == [True, False]
        assert batch.infos[0]["final_info"]["error"]["type"] == "WorkerDiedError"
        batch = vector.step(["go", "go"])
        assert list(batch.truncated) == [False, False]


def test_a_command_plays_in_a_cluster_and_prints_its_results_alone(
    cluster: Cluster, tmp_path: Path
) -> None:
    """``executor=ray`` with ``ray.NAME=`` parameters; nothing of Ray's is in the output."""
    words = ["run", "game:GuessTheNumber-v0-easy", "episodes=10", "--format", "json"]
    rows = []
    for number, more in enumerate(
        (
            [],
            [
                "executor=ray",
                f"executor.address={cluster.address}",
                "executor.cpus=0.1",
                "executor.actors=1",
            ],
        )
    ):
        done = subprocess.run(
            [sys.executable, "-m", "gem_core", *words, *more, f"out={tmp_path / str(number)}"],
            capture_output=True,
            text=True,
            timeout=200,
            check=True,
        )
        (row,) = json.loads(done.stdout)["rows"]
        del row["episodes_per_second"]
        rows.append(row)
        assert "ray" not in done.stderr.replace(str(tmp_path), "").lower()
    assert rows[0] == rows[1]


def test_without_an_address_a_program_starts_a_cluster_of_its_own(cluster: Cluster) -> None:
    """Also where another cluster runs on the machine, which may end at any time."""
    code = (
        "import ray\n"
        "from gem_serve.cluster import RayPool\n"
        "with RayPool(actors=1, cpus=0.1):\n"
        "    print(ray.get_runtime_context().gcs_address)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=200, check=True
    )
    assert done.stdout.strip() not in {"", cluster.address}
    assert len(ray.nodes()) >= 3  # the other cluster is as before


def test_a_pool_that_is_closed_refuses_calls(cluster: Cluster) -> None:
    """The error says that it is closed, also for calls that wait."""
    pool = RayPool(actors=1, cpus=0.1)
    pool.close()
    pool.close()
    with pytest.raises(ClosedError, match="closed"):
        pool.call("os:getpid", deadline=1)
    with pytest.raises(ClosedError, match="closed"):
        pool.shared(b"1")


FORKS = """
import gc, os, sys
from gem_core import make_vec
from gem_core.errors import GemError
from gem_serve.cluster import RayPool

address = sys.argv[1]
pool = RayPool(address=address, actors=1, cpus=0.1)
vector = make_vec(
    "game:GuessTheNumber-v0-easy", num_envs=1, seed=1,
    executor={"id": "ray", "address": address, "actors": 1, "cpus": 0.1},
)
actor = pool.call("os:getpid", deadline=100)
vector.reset()

def close():
    pool.close(), vector.close()

def drop():
    global pool, vector
    del pool, vector
    gc.collect()

for name, use in {
    "call": lambda: pool.call("os:getpid", deadline=20),
    "shared": lambda: pool.shared(b"1"),
    "step": lambda: vector.step(["1"]),
    "another pool": lambda: RayPool(address=address, actors=1, cpus=0.1),
    "close": close,
    "drop": drop,
    "exit": lambda: None,
}.items():
    if (child := os.fork()) == 0:
        try:
            said = use()
        except GemError as error:
            said = type(error).__name__
        print(f"{name}: {said}", flush=True)
        sys.exit(7)  # an ordinary end, through Ray's handlers and destructors
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 7, (name, status)
    assert pool.call("os:getpid", deadline=30) == actor, name
    vector.step(["1"])
close()
"""


def test_what_a_fork_uses_closes_drops_or_forgets_goes_on_in_the_parent(cluster: Cluster) -> None:
    """Also where the child ends in the ordinary way, which Ray does not survive."""
    done = subprocess.run(
        [sys.executable, "-c", FORKS, cluster.address],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert dict(line.split(": ") for line in done.stdout.splitlines()) == {
        "call": "ForkError",
        "shared": "ForkError",
        "step": "ForkError",
        "another pool": "ForkError",
        "close": "None",
        "drop": "None",
        "exit": "None",
    }


STARTS_LATE = """
import socket, sys, threading
from gem_core.errors import ConfigError
from gem_serve.cluster import RayPool, connection
from gem_serve.harness.relay import Relay

host, port = sys.argv[1].split(":")
listener = socket.socket()
listener.bind(("", 0))  # and refuses, as it does not listen yet
relay = Relay(listener, (host, int(port)))

def listen():
    listener.listen()
    relay.__enter__()

address = f"127.0.0.1:{listener.getsockname()[1]}"
connection._PATIENCE = 0.5
try:
    RayPool(address=address)
except ConfigError as error:
    assert "refused" in str(error)  # Ray itself would wait for minutes
else:
    raise AssertionError("nobody listens")
connection._PATIENCE = 60.0
blip = threading.Timer(2.0, listen)
blip.start()
with RayPool(address=address, actors=1, cpus=0.1) as pool:
    assert not blip.is_alive()
    print(pool.call("builtins:len", "four", deadline=100))
"""


def test_a_pool_starts_although_the_cluster_cannot_be_reached_for_a_moment(
    cluster: Cluster,
) -> None:
    """The network refuses connections at first; where it goes on to, the error comes soon."""
    done = subprocess.run(
        [sys.executable, "-c", STARTS_LATE, cluster.address],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "4"


def test_closing_a_pool_ends_its_calls(cluster: Cluster) -> None:
    """Those that run, those that wait for an actor, and those that a task awaits."""
    pool = RayPool(actors=1, cpus=0.1)
    pool.call("os:getpid", deadline=100)
    sleep = partial(pool.call, "time:sleep", 3600, deadline=7200)
    with ThreadPoolExecutor() as threads:
        calls = [threads.submit(sleep) for _ in range(2)]
        calls.append(
            threads.submit(asyncio.run, pool.call_async("time:sleep", 3600, deadline=7200))
        )
        while pool.busy < 1:
            time.sleep(0.01)
        pool.close()
        for call in calls:
            with pytest.raises(ClosedError, match="closed"):
                call.result(60)


def test_an_actor_that_cannot_start_fails_the_calls_that_wait_and_no_later_ones(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that had no room for an hour may have room again."""
    monkeypatch.setattr(actor_set, "START_SECONDS", 1.0)
    monkeypatch.setattr(actor_set, "PATIENCE", 1.0)
    with RayPool(actors=1, cpus=0.1, resources={"later": 1}) as pool:
        with pytest.raises(WorkerDiedError, match="none has started in 1 seconds"):
            pool.call("os:getpid", deadline=100)
        monkeypatch.setattr(actor_set, "START_SECONDS", 100.0)
        node = add_node(cluster, resources={"later": 1})
        assert pool.call("builtins:len", "four", deadline=100) == 4
    cluster.remove_node(node)
