"""Environments on a server behave as they do here."""

import asyncio
import functools
import pickle
import random
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_adapters.testing.adapter_envs import Adder
from gem_core import make, make_vec
from gem_core.agent import BaseAgent, RandomAgent
from gem_core.env import Env
from gem_core.errors import (
    ConfigError,
    DeadlineError,
    EpisodeEndedError,
    InvalidIdError,
    SnapshotError,
    UnknownIdError,
    UnknownKwargError,
)
from gem_core.maybe_async import is_awaitable
from gem_core.plugins import default_registry
from gem_core.specs import ENVS
from gem_core.testing import check_env
from gem_rollout import collect
from gem_serve.errors import (
    AccessError,
    CapacityError,
    ConnectionLostError,
    OversizeError,
    RemoteError,
    SessionLostError,
)
from gem_serve.wire import dumps, from_wire, loads, to_wire

Running = Any
Serve = Callable[..., Running]


def remote(running: Running, name: str = "coin", **options: Any) -> Any:
    return make(f"remote:{running.address}/{name}", **options)


def local(running: Running, name: str = "coin") -> Env:
    env: Env = running.server.sessions.factories[name]()
    return env


def episode(env: Env, seed: int | None, actions: random.Random) -> list[Any]:
    """Play an episode of coins; return all that was seen."""
    seen: list[Any] = [env.reset(seed=seed)]
    while len(seen) == 1 or not (seen[-1].terminated or seen[-1].truncated):
        seen.append(env.step(actions.choice(["heads", "tails"])))
    return seen


class Digits(BaseAgent):
    """Names the digits of what it sees."""

    def act(self, observation: Any, info: Any) -> str:
        return f"digit {sum(map(ord, str(observation))) % 10}"


def test_episodes_on_a_server_equal_those_of_a_local_environment(serve: Serve) -> None:
    running = serve()
    there, here = remote(running), local(running)
    for seed in (0, 7, None, None):
        assert episode(there, seed, random.Random(1)) == episode(here, seed, random.Random(1))


@pytest.mark.parametrize("name", ["Game", "Turns", "Asynchronous", "Picture"])
def test_trajectories_from_a_server_equal_those_of_a_local_environment(
    serve: Serve, name: str
) -> None:
    running = serve(f"conformance:{name}")
    there = collect(f"remote:{running.address}/conformance:{name}", Digits, episodes=4, seed=4)
    here = collect(f"conformance:{name}", Digits, episodes=4, seed=4)
    pairs = zip(*(sorted(each, key=lambda one: one.index) for each in (there, here)), strict=True)
    for played, expected in pairs:
        assert played.error is None
        assert [
            (turn.observation, turn.action, turn.reward, turn.terminated, turn.truncated)
            for turn in played.turns
        ] == [
            (turn.observation, turn.action, turn.reward, turn.terminated, turn.truncated)
            for turn in expected.turns
        ]


@pytest.mark.slow
def test_a_remote_environment_passes_the_conformance_suite(serve: Serve) -> None:
    running = serve()
    report = check_env(f"remote:{running.address}/coin", episodes=2)
    assert report.findings == []


def test_a_fork_a_snapshot_and_a_pickle_continue_alike(serve: Serve) -> None:
    env = remote(serve())
    env.reset(seed=3)
    env.step("heads")
    saved = env.snapshot()
    others = [env.fork(), env.spawn(same_state=True), pickle.loads(pickle.dumps(env))]  # noqa: S301
    expected = [env.step("tails"), env.step("heads"), env.reset()]
    for other in others:
        assert [other.step("tails"), other.step("heads"), other.reset()] == expected
    env.restore(saved)
    assert [env.step("tails"), env.step("heads"), env.reset()] == expected


def test_spawned_environments_follow_their_seed(serve: Serve) -> None:
    running = serve()
    assert remote(running).spawn(seed=5).reset() == remote(running, seed=5).reset()
    assert remote(running, seed=5).reset() != remote(running, seed=6).reset()
    assert remote(running).spawn().reset() != remote(running).spawn().reset()


def test_random_actions_come_from_their_own_stream(serve: Serve) -> None:
    env = remote(serve())
    env.reset(seed=1)
    env.seed_actions(8)
    first = [env.sample_random_action() for _ in range(20)]
    env.seed_actions(8)
    assert [env.sample_random_action() for _ in range(20)] == first


def test_tools_and_wrappers_work_around_a_remote_environment(serve: Serve) -> None:
    running = serve("conformance:Sums")
    env = remote(running, "conformance:Sums", tools=[Adder], wrappers=["concat"])
    observation, _ = env.reset(seed=2)
    left, right = observation.split("<add>")[1].split("</add>")[0].split()
    step = env.step(f"<add>{left} {right}</add>")
    assert f"Result: {int(left) + int(right)}." in step.observation
    fork = env.fork()
    assert env.step(f"{int(left) + int(right)}") == fork.step(f"{int(left) + int(right)}")


def test_tasks_are_looked_up_by_the_server(serve: Serve) -> None:
    running = serve("tasks")
    env = remote(running, "tasks")
    assert env.reset(seed=1, **env.reset_options(4, 2))[0] == "task 204"
    assert remote(serve()).reset_options(4, 2) == {}


def test_options_of_reset_reach_the_environment(serve: Serve) -> None:
    env = remote(serve())
    assert env.reset(seed=1, coins=9)[0].startswith("9 coins")
    with pytest.raises(UnknownKwargError, match="coins"):
        env.reset(seed=1, coinz=9)


@pytest.mark.slow
def test_calls_return_awaitables_in_an_event_loop_and_values_elsewhere(serve: Serve) -> None:
    env = remote(serve())

    async def play() -> Any:
        first = env.reset(seed=1)
        assert is_awaitable(first)
        await first
        return await env.step("heads")

    awaited = asyncio.run(play())
    env.reset(seed=1)
    assert env.step("heads") == awaited


def test_two_episodes_can_wait_for_the_server_at_the_same_time(serve: Serve) -> None:
    running = serve("together")
    played = list(
        collect(
            f"remote:{running.address}/together",
            RandomAgent,
            episodes=2,
            concurrency=2,
            seed=1,
        )
    )
    assert [trajectory.error for trajectory in played] == [None, None]


@pytest.mark.slow
def test_a_vector_of_remote_environments_plays_like_a_local_one(serve: Serve) -> None:
    running = serve("conformance:Game")
    there = make_vec(f"remote:{running.address}/conformance:Game", num_envs=4)
    here = make_vec("conformance:Game", num_envs=4)
    assert there.reset(seed=2)[0] == here.reset(seed=2)[0]
    for action in "1234":
        assert there.step([action] * 4)[:4] == here.step([action] * 4)[:4]
    there.close()
    here.close()


@pytest.mark.slow
def test_no_episode_is_lost_or_played_twice_when_connections_drop(serve: Serve) -> None:
    running = serve()
    there, here = remote(running, reconnect=60), local(running)
    chance = random.Random(5)
    dropped = steps = 0
    for seed in range(60 if thorough() else 12):
        seen: list[Any] = [there.reset(seed=seed)]
        expected: list[Any] = [here.reset(seed=seed)]
        while len(seen) == 1 or not seen[-1].terminated:
            if chance.random() < 0.2:
                there._link.drop()
                dropped += 1
            seen.append(there.step("heads"))
            expected.append(here.step("heads"))
        steps += len(seen) - 1
        assert seen == expected
    assert dropped > 5
    assert running.server.metrics.steps == steps
    assert running.server.metrics.opened == 1


@pytest.mark.slow
def test_a_connection_that_drops_in_a_step_gets_the_answer_of_that_step(
    serve: Serve, gate: Event
) -> None:
    running = serve("stuck")
    gate.clear()
    env = remote(running, "stuck", reconnect=60)
    env.reset(seed=1)

    async def play() -> Any:
        step = asyncio.ensure_future(env.step("heads"))
        await asyncio.to_thread(running.until, lambda one: _busy(one) == 1)
        env._link.drop()
        await asyncio.to_thread(running.until, lambda one: one.server.metrics.messages >= 5)
        gate.set()
        return await step

    assert asyncio.run(play()).info["guess"] == ("heads", None)
    assert running.server.metrics.steps == 1
    assert env.step("tails").observation == "3 left"


def _busy(running: Running) -> int:
    return sum(session.is_busy for session in list(running.server.sessions))


def test_a_session_that_the_server_lost_is_named_and_reset_begins_another(serve: Serve) -> None:
    running = serve()
    env = remote(running, reconnect=60)
    env.reset(seed=1)
    running.stop()
    serve(port=running.port)
    with pytest.raises(SessionLostError, match="has no session"):
        env.step("heads")
    with pytest.raises(EpisodeEndedError, match="reset"):
        env.step("heads")
    assert env.reset(seed=1) == env.reset(seed=1)


@pytest.mark.slow
def test_a_late_answer_is_an_error_and_the_next_episode_is_whole(serve: Serve, gate: Event) -> None:
    running = serve("stuck")
    gate.clear()
    env = remote(running, "stuck", timeout=60)
    env.reset(seed=1)
    env._timeout = 0.2
    with pytest.raises(DeadlineError, match="did not answer within"):
        env.step("heads")
    gate.set()
    env._timeout = 60
    env.reset(seed=1)
    assert env.step("heads").observation == "4 left"


def test_errors_of_the_server_arrive_with_their_class_and_message(serve: Serve) -> None:
    running = serve("broken", "coin", max_envs=1)
    env = remote(running, "broken", capacity_wait=0)
    with pytest.raises(EpisodeEndedError, match="no episode"):
        env.step("heads")
    env.reset(seed=1)
    with pytest.raises(RemoteError, match="LookupError: no heads"):
        env.step("heads")
    with pytest.raises(CapacityError, match=r"1 sessions \(--max-envs\)"):
        remote(running, capacity_wait=0).reset(seed=1)
    with pytest.raises(CapacityError, match="full"):
        env.fork().step("heads")
    env.reset(seed=2)  # and its own session goes on


def test_names_addresses_and_parameters_are_checked_when_an_environment_is_made(
    serve: Serve,
) -> None:
    running = serve("coin", "tasks")
    with pytest.raises(UnknownIdError, match="Did you mean 'coin'"):
        remote(running, "coins")
    with pytest.raises(UnknownKwargError, match="timeout"):
        remote(running, timeot=3)
    with pytest.raises(ConfigError, match="positive"):
        remote(running, timeout=0)
    running.stop()
    with pytest.raises(ConnectionLostError, match="cannot be reached"):
        make(f"remote:{running.address}/coin", reconnect=0.1)


def test_a_token_is_needed_where_the_server_has_one(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = serve(token="right")  # noqa: S106
    for token in (None, "wrong"):
        with pytest.raises(AccessError, match="GEM_SERVE_TOKEN"):
            remote(running, token=token)
    remote(running, token="right").reset(seed=1)  # noqa: S106
    monkeypatch.setenv("GEM_SERVE_TOKEN", "right")
    remote(running).reset(seed=1)


@pytest.mark.slow
def test_a_pickled_environment_holds_no_token(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, run_python: Callable[..., str]
) -> None:
    secret = "sesame-of-this-test"  # noqa: S105 - nobody's
    env = remote(serve(token=secret), token=secret, wrappers=["concat"])
    env.reset(seed=1)
    pickled = pickle.dumps(env)
    assert secret.encode() not in pickled
    expected = env.step("heads")
    assert pickle.loads(pickled).step("heads") == expected  # noqa: S301 - known in this process
    code = f"import pickle; print(pickle.loads({pickled!r}).step('heads').observation)"
    monkeypatch.setenv("GEM_SERVE_TOKEN", secret)
    assert run_python(code).strip() == expected.observation.strip()
    monkeypatch.delenv("GEM_SERVE_TOKEN")
    code = f"""
import pickle
from gem_serve.errors import AccessError
try:
    pickle.loads({pickled!r})
except AccessError as error:
    print(error)
"""
    assert "GEM_SERVE_TOKEN" in run_python(code)


def test_a_message_that_is_too_large_is_refused_here_and_the_episode_goes_on(serve: Serve) -> None:
    env = remote(serve(max_bytes=2000))
    env.reset(seed=1)
    with pytest.raises(OversizeError, match="2,000 bytes"):
        env.step("x" * 3000)
    assert env.step("heads").observation == "4 left"


@pytest.mark.slow
def test_a_client_that_sends_too_often_waits(serve: Serve) -> None:
    running = serve(rate=5.0)
    there, here = remote(running), local(running)
    assert episode(there, 1, random.Random(1)) == episode(here, 1, random.Random(1))
    assert running.server.metrics.errors["RateError"] > 0


def test_only_snapshots_of_a_server_with_the_same_secret_are_restored(serve: Serve) -> None:
    first, second, other = (serve(secret=key) for key in (b"1" * 32, b"1" * 32, b"2" * 32))
    env = remote(first)
    env.reset(seed=3)
    saved = env.snapshot()
    twin, stranger = remote(second), remote(other)
    twin.restore(saved)
    assert twin.step("heads") == env.step("heads")
    for bad in (saved, b"gem-remote\0" + b"x" * 80, b"", pickle.dumps({})):
        stranger.reset(seed=1)
        with pytest.raises(SnapshotError):
            stranger.restore(bad)
        assert stranger.step("heads").observation == "4 left"


def test_a_snapshot_of_another_environment_is_refused(serve: Serve) -> None:
    running = serve("coin", "tasks")
    env, other = remote(running), remote(running, "tasks")
    env.reset(seed=1)
    other.reset(seed=1)
    with pytest.raises(SnapshotError, match="of coin, not of tasks"):
        other.restore(env.snapshot())


def test_remote_ids_need_no_network_and_are_not_listed() -> None:
    registry = default_registry()
    assert not registry.list(ENVS, "remote:*")
    for written in (
        "remote:host:80/game:Wordle-v0",
        "remote:host:80/game/Wordle-v0",
        "remote/host/80/game/Wordle-v0",
        "remote/host:80/game:Wordle-v0",
    ):
        found = registry.find(ENVS, written)
        assert found.id == "remote:host:80/game:Wordle-v0"
        assert registry.find(ENVS, found.config_path).id == found.id
        assert found.kwargs == {"address": "host:80", "name": "game:Wordle-v0"}
    assert registry.find(ENVS, "remote:[::1]:80/x").kwargs["address"] == "[::1]:80"


def test_a_malformed_address_is_refused() -> None:
    for bad in ("remote:host", "remote:host:80", "remote:host:99999/x", "remote:"):
        with pytest.raises((InvalidIdError, UnknownIdError)):
            default_registry().find(ENVS, bad)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.just("$"), inner)
        | st.frozensets(st.integers() | st.text())
    ),
    max_leaves=20,
)


@pytest.mark.slow
@settings(max_examples=200 if thorough() else 30)
@given(values)
def test_any_value_arrives_as_it_was_sent(value: Any) -> None:
    found = from_wire(loads(dumps({"value": to_wire(value)}))["value"])
    assert found == value
    assert type(found) is type(value)


class Opaque:
    def __repr__(self) -> str:
        return "an object"


def test_a_value_that_json_cannot_hold_arrives_as_its_repr() -> None:
    assert from_wire(to_wire({"of": Opaque()})) == {"of": "an object"}


def test_partial_factories_are_pickled_with_their_address(serve: Serve) -> None:
    running = serve()
    make_env = functools.partial(make, f"remote:{running.address}/coin")
    again = pickle.loads(pickle.dumps(make_env))  # noqa: S301
    assert again().reset(seed=1) == remote(running).reset(seed=1)
