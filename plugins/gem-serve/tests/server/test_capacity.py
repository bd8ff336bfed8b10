"""More episodes than slots, servers that end, and sessions that nobody uses any more."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import aiohttp
import pytest

from gem_core import make
from gem_core.agent import BaseAgent
from gem_core.errors import ConfigError
from gem_rollout import collect
from gem_serve.errors import CapacityError, SessionLostError

Running = Any
Serve = Callable[..., Running]


def remote(running: Running, name: str = "coin", **options: Any) -> Any:
    return make(f"remote:{running.address}/{name}", **options)


class Pensive(BaseAgent):
    """Waits for a moment, and then says what it sees."""

    async def act(self, observation: Any, info: Any) -> str:
        await asyncio.sleep(0.001)
        return ("heads", "tails")[sum(map(ord, str(observation))) % 2]


def rewards(env_id: Any, **options: Any) -> dict[int, Any]:
    """Return the error, the observations and the rewards of each episode, by number."""
    return {
        one.index: (one.error, [(turn.observation, turn.reward) for turn in one.turns])
        for one in collect(env_id, Pensive, seed=4, **options)
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coin", "stuck"])  # in the event loop, and in threads
def test_more_episodes_than_slots_are_all_played_as_they_are_here(serve: Serve, name: str) -> None:
    running = serve(name, max_envs=3)
    make_here = running.server.sessions.factories[name]
    there = rewards(f"remote:{running.address}/{name}", episodes=40, concurrency=10)
    assert there == rewards(make_here, episodes=40)
    assert running.server.sessions.capacity.taken <= 3
    assert running.server.metrics.refused == 0


def test_an_environment_that_gave_up_its_slot_continues_its_stream_of_seeds(serve: Serve) -> None:
    running = serve(max_envs=1)
    first, second = remote(running), remote(running)
    with running.server.sessions.factories["coin"]() as here:
        seen = [here.reset(seed=3, coins=1), here.step("heads"), here.reset(), here.step("tails")]
    assert [first.reset(seed=3, coins=1), first.step("heads")] == seen[:2]
    second.reset(seed=9)
    assert running.server.metrics.parked == 1
    second.close()
    assert [first.reset(), first.step("tails")] == seen[2:]


def test_an_environment_that_cannot_be_saved_keeps_its_slot(serve: Serve) -> None:
    running = serve("unsaved", max_envs=1)
    first, second = remote(running, "unsaved"), remote(running, "unsaved")
    first.reset(seed=1, coins=1)
    first.step("heads")
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(second.reset, seed=2)
        running.until(lambda one: one.server.sessions.capacity.waiting == 1)
        first.reset(seed=1)
        assert not waiting.done()
        first.close()
        assert waiting.result()
    assert running.server.metrics.parked == 0


def test_a_client_waits_for_a_slot_no_longer_than_it_wants_to(serve: Serve) -> None:
    running = serve(max_envs=1)
    playing = remote(running)
    playing.reset(seed=1)
    for seconds in (0, 0.05):
        with pytest.raises(CapacityError, match="full") as refused:
            remote(running, capacity_wait=seconds).reset(seed=1)
        assert refused.value.retry_after > 0
    assert playing.step("heads").observation == "4 left"
    with pytest.raises(ConfigError, match="capacity_wait"):
        remote(running, capacity_wait=-1)


def test_an_environment_that_is_closed_while_it_waits_takes_no_slot(serve: Serve) -> None:
    running = serve(max_envs=1)
    playing, waiting = remote(running), remote(running)
    playing.reset(seed=1)
    waiting.seed(1)  # begins its session
    running.until(lambda one: one.server.sessions.capacity.waiting == 1)
    waiting.close()
    running.until(lambda one: one.server.sessions.capacity.waiting == 0)
    playing.close()
    running.until(lambda one: one.server.sessions.capacity.taken == 0)
    assert len(running.server.sessions) == 0


def test_a_fork_that_is_closed_immediately_leaves_no_session(serve: Serve) -> None:
    running = serve("stuck")  # its environments are forked in a thread
    env = remote(running, "stuck")
    env.reset(seed=1)
    for _ in range(5):
        env.fork().close()
    env.sample_random_action()  # the server has read the messages before it
    running.until(lambda one: len(one.server.sessions) == 1)
    running.until(lambda one: one.server.sessions.capacity.taken == 1)


def test_a_fork_that_is_closed_immediately_does_not_wait_for_a_slot(serve: Serve) -> None:
    running = serve(max_envs=1)
    env = remote(running, timeout=20, capacity_wait=300)
    env.reset(seed=1)
    for _ in range(3):
        env.fork().close()
    assert env.step("heads").observation == "4 left"


@pytest.mark.slow
def test_a_rolling_restart_loses_no_episode(serve: Serve) -> None:
    running = serve()
    env, other = remote(running), remote(running)
    with running.server.sessions.factories["coin"]() as here:
        expected = [here.reset(seed=seed, coins=1) for seed in (1, 2)]
    assert env.reset(seed=1, coins=1) == expected[0]
    other.reset(seed=1, coins=1)
    env.step("heads")  # its episode has ended, and the other one goes on
    with ThreadPoolExecutor() as pool:
        drained = pool.submit(running.do, running.server.drain(60))
        running.until(lambda one: one.server.sessions.draining)
        begun = pool.submit(env.reset, seed=2, coins=1)
        assert other.step("heads").terminated
        assert drained.result() == 0
        running.stop()
        successor = serve(port=running.port)
        assert begun.result() == expected[1]
    assert env.step("heads").terminated
    with pytest.raises(SessionLostError):  # its stream of seeds has ended with the server
        other.reset()
    assert successor.server.metrics.episodes == 1


def test_a_server_that_drains_closes_connections_without_an_episode(serve: Serve) -> None:
    running = serve()

    async def talk() -> tuple[Any, Any]:
        async with (
            aiohttp.ClientSession() as client,
            client.ws_connect(f"{running.url}/gem/ws") as idle,
            client.ws_connect(f"{running.url}/gem/ws") as playing,
        ):
            for op in ("open", "reset"):
                message = {"id": 1, "op": op, "session": "session-of-a-test", "env": "coin"}
                await playing.send_json({**message, "options": {"coins": 1}})
                await playing.receive_json()
            drained = asyncio.to_thread(running.do, running.server.drain(60))
            waiting = asyncio.ensure_future(drained)
            closed = await idle.receive()
            step = {"id": 2, "op": "step", "session": "session-of-a-test", "action": "heads"}
            await playing.send_json(step)
            reply = await playing.receive_json()
            assert await waiting == 0
            return closed, reply

    closed, reply = asyncio.run(talk())
    assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 1012)
    assert reply["terminated"]


def test_not_now_has_the_header_that_clients_of_http_know(serve: Serve) -> None:
    running = serve(max_envs=1)
    playing = remote(running)
    playing.reset(seed=1)

    async def refused() -> tuple[int, Any, Any]:
        body = json.dumps({"session": "session-of-a-test", "env": "coin"})
        async with (
            aiohttp.ClientSession() as client,
            client.post(f"{running.url}/gem/open", data=body) as response,
        ):
            reply = await response.json()
            return response.status, response.headers["Retry-After"], reply["error"]["retry_after"]

    assert asyncio.run(refused()) == (503, "1", 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["held", "awaited"])
def test_a_server_that_stops_in_the_middle_of_a_step_closes_the_environment(
    serve: Serve, gate: Event, closed: list[str], name: str
) -> None:
    running = serve(name)
    gate.clear()
    env = remote(running, name, reconnect=0.1)
    env.reset(seed=1)
    closed.clear()

    async def play() -> None:
        step = asyncio.ensure_future(env.step("heads"))
        busy = lambda one: any(each.is_busy for each in list(one.server.sessions))  # noqa: E731
        await asyncio.to_thread(running.until, busy)
        await asyncio.to_thread(running.stop)
        with pytest.raises(ConnectionError):
            await step

    asyncio.run(play())
    assert closed == [name]


@pytest.mark.slow
def test_a_client_that_does_not_read_fills_no_memory(serve: Serve) -> None:
    running = serve(max_bytes=100_000)
    count, size = 400, 90_000

    async def talk() -> None:
        async with (
            aiohttp.ClientSession() as client,
            client.ws_connect(f"{running.url}/gem/ws", autoclose=False) as socket,
        ):
            for op in ("open", "reset"):
                message = {"op": op, "session": "session-of-a-test", "env": "coin"}
                await socket.send_json({**message, "options": {"coins": count + 1}})
                await socket.receive_json()
            step = {"op": "step", "session": "session-of-a-test", "action": "x" * size}
            text = json.dumps(step)

            async def send() -> None:
                for _ in range(count):
                    await socket.send_str(text)

            sending = asyncio.ensure_future(send())
            done, _ = await asyncio.wait([sending], timeout=1.5)
            assert not done or sending.exception() is not None
            sending.cancel()

    asyncio.run(talk())
    assert running.server.metrics.steps < count


@pytest.mark.parametrize("seeded_by", ["reset", "seed"])
def test_a_lost_session_costs_nothing_if_its_episode_is_replayed(
    serve: Serve, seeded_by: str
) -> None:
    running = serve()
    env = remote(running, replay=True)
    if seeded_by == "seed":
        env.seed(1)
    begun = env.reset(seed=1 if seeded_by == "reset" else None, coins=9)
    with running.server.sessions.factories["coin"]() as here:
        here.seed(1)
        assert here.reset(seed=1 if seeded_by == "reset" else None, coins=9) == begun
        for _ in range(3):
            for _ in range(2):
                assert env.step("heads") == here.step("heads")
            running.stop()
            running = serve(port=running.port)
        assert env.step("tails") == here.step("tails")
    assert running.server.metrics.steps == 7


def test_a_lost_session_is_replayed_in_an_event_loop_too(serve: Serve) -> None:
    running = serve()

    async def play() -> tuple[Any, Any]:
        env = remote(running, replay=True)
        await env.reset(seed=1)
        first = await env.step("heads")
        await asyncio.to_thread(running.stop)
        await asyncio.to_thread(serve, port=running.port)
        second = await env.step("tails")
        env.close()
        return first, second

    first, second = asyncio.run(play())
    with running.server.sessions.factories["coin"]() as here:
        here.reset(seed=1)
        assert (first, second) == (here.step("heads"), here.step("tails"))


def test_an_episode_that_differs_or_has_no_seed_is_lost_with_its_session(serve: Serve) -> None:
    running = serve()
    unseeded, changed = remote(running, replay=True), remote(running, replay=True)
    restored = remote(running, replay=True)
    unseeded.reset()
    for env in (changed, restored):
        env.reset(seed=1, coins=5)
        env.step("heads")
    restored.restore(restored.snapshot())
    running.stop()
    serve(port=running.port)
    changed._record.start["options"]["coins"] = 7  # as if the environment had changed
    with pytest.raises(SessionLostError, match="reset gives another answer"):
        changed.step("heads")
    for env in (unseeded, restored):
        with pytest.raises(SessionLostError, match="has no session"):
            env.step("heads")
