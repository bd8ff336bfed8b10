"""Whoever runs the programs: episodes, weights, logs that survive, and the command."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gem_core.errors import ConfigError
from gem_rollout.records.store import read_trajectories
from gem_serve.gateway.answers import LARGEST
from gem_serve.gateway.client import TOKEN, GatewayClient, GatewayError
from gem_serve.gateway.engine import EngineClient
from gem_serve.gateway.events import CallError
from gem_serve.gateway.gateway import Gateway
from gem_serve.gateway.programs import PROGRAMS, variables_of
from gem_serve.gateway.serving import GatewayThread
from gem_serve.gateway.testing.checks import differences
from gem_serve.gateway.testing.http import post

Start = Callable[..., Any]
BODY = {"model": "m", "messages": [{"role": "user", "content": "What is 0?"}]}


def words(_: str) -> str:
    return "some words to say"


def call(url: str, body: Any = BODY) -> Any:
    answer = post(f"{url}/chat/completions", body)
    assert answer.status == 200, answer.text
    return answer.json


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.01)


@pytest.mark.slow
def test_an_unknown_option_is_told_with_a_near_name(play: Start) -> None:
    _, gateway, _ = play()
    with pytest.raises(ConfigError, match=r"no option 'sampel'\. Did you mean 'sample'"):
        gateway.admin.create(sampel=1)
    with pytest.raises(ConfigError, match="mode is engine or continue"):
        gateway.admin.create(mode="x")
    with pytest.raises(ConfigError, match="There is no parser"):
        gateway.admin.create(parser="x")


def test_a_reward_is_paid_to_the_last_turn(play: Start) -> None:
    _, gateway, episode = play(env_id="my:Env-v0", index=3, group=1, sample=1, seed=9)
    call(episode.openai_url)
    with pytest.raises(ConfigError, match="finite number; got None"):
        gateway.admin.reward(episode.episode, None)
    gateway.admin.reward(episode.episode, 0.5, {"correct": True})
    trajectory = gateway.admin.close(episode.episode)
    assert (trajectory.env_id, trajectory.index, trajectory.group) == ("my:Env-v0", 3, 1)
    assert trajectory.episode_return == 0.5
    assert trajectory.success is True
    assert trajectory.turns[-1].terminated
    gateway.admin.forget(episode.episode)
    with pytest.raises(GatewayError, match="Unknown episode"):
        gateway.admin.status(episode.episode)


def test_the_admin_api_needs_its_token(start_engine: Start, start_gateway: Start) -> None:
    gateway = start_gateway(start_engine().url, admin_token="secret")  # noqa: S106
    assert gateway.admin.health()["status"] == "ok"
    with pytest.raises(GatewayError, match="401"):
        GatewayClient(gateway.admin_url).health()


def test_a_gateway_without_a_token_makes_one(
    start_engine: Start, start_gateway: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TOKEN, raising=False)
    gateway = start_gateway(start_engine().url)
    for token in (None, "", "secret"):
        with pytest.raises(GatewayError, match="401"):
            GatewayClient(gateway.admin_url, token).health()
    assert gateway.admin.health()["status"] == "ok"


def test_neither_api_answers_a_web_page(start_engine: Start, start_gateway: Start) -> None:
    gateway = start_gateway(start_engine().url)
    for url in (f"{gateway.admin_url}/episodes", f"{gateway.url}/v1/chat/completions"):
        for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            answer = post(url, BODY, **headers)
            assert (answer.status, "evil.example" in answer.text) == (403, True)


@pytest.mark.slow
def test_calls_at_the_same_time_do_not_exceed_the_budget_of_tokens(play: Start) -> None:
    engine, gateway, episode = play(tokens=40, script=words)
    url = f"{episode.openai_url}/chat/completions"
    with ThreadPoolExecutor(20) as pool:
        bodies = [{**BODY, "messages": [{"role": "user", "content": f"{n}"}]} for n in range(20)]
        statuses = Counter(one.status for one in pool.map(lambda body: post(url, body), bodies))
    sampled = gateway.admin.status(episode.episode)["sampled_tokens"]
    assert sum(len(one.ids) for one in engine.log) == sampled == 40
    assert set(statuses) == {200, 429}


def test_a_request_that_is_too_large_is_refused_unread(play: Start) -> None:
    _, _, episode = play()
    answer = post(f"{episode.openai_url}/chat/completions", b" " * (LARGEST + 1))
    assert (answer.status, "64 MiB" in answer.text) == (413, True)


@pytest.mark.slow
def test_an_answer_that_is_too_large_is_not_read_to_its_end(
    play: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gem_serve.gateway.answers.LARGEST", 2000)
    _, _, episode = play(script=lambda _: "word " * 500)
    answer = post(f"{episode.openai_url}/chat/completions", BODY)
    assert (answer.status, "has more than" in answer.text) == (502, True)


@pytest.mark.slow
def test_closed_episodes_leave_memory_and_are_read_from_their_logs(
    start_engine: Start, start_gateway: Start, tmp_path: Path
) -> None:
    gateway = start_gateway(start_engine().url, tmp_path)
    first = gateway.admin.create(seed=1)
    call(first.openai_url)
    closed = gateway.admin.close(first.episode, reward=1.0)
    for seed in range(100):
        gateway.admin.close(gateway.admin.create(seed=seed).episode)
    assert len(gateway.gateway.episodes) < 70
    again = gateway.admin.trajectory(first.episode)
    assert [turn.action for turn in again.turns] == [turn.action for turn in closed.turns]
    assert post(f"{first.openai_url}/chat/completions", BODY).status == 409
    with pytest.raises(GatewayError, match="Unknown episode"):
        gateway.admin.status("0" * 24)


@pytest.mark.slow
def test_metrics_count_calls_and_tokens(start_engine: Start, start_gateway: Start) -> None:
    engine = start_engine()
    gateway = start_gateway(engine.url, own=True)
    call(gateway.admin.create().openai_url)
    token = {"Authorization": f"Bearer {gateway.admin_token}"}
    request = urllib.request.Request(f"{gateway.admin_url}/metrics", headers=token)  # noqa: S310
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        families = text_string_to_metric_families(answer.read().decode())
    found = {sample.name: sample.value for one in families for sample in one.samples}
    assert found["gem_gateway_calls_done"] == 1
    assert found["gem_gateway_sampled_tokens"] == len(engine.log[0].ids)


def test_a_gateway_without_an_engine_is_not_healthy(start_gateway: Start) -> None:
    gateway = start_gateway("http://127.0.0.1:9")
    with pytest.raises(GatewayError, match=r"503.*does not answer"):
        gateway.admin.health()
    episode = gateway.admin.create()
    assert post(f"{episode.openai_url}/chat/completions", BODY).status == 502


def test_the_variables_of_each_program_point_at_its_episode(
    start_engine: Start, start_gateway: Start, subtests: pytest.Subtests
) -> None:
    episode = start_gateway(start_engine().url).admin.create(models=["big"])
    for program in PROGRAMS:
        with subtests.test(program):
            variables = episode.variables[program]
            assert variables == variables_of(program, episode.url, episode.key, "big")
            assert any(episode.url in value for value in variables.values())


def test_an_unknown_program_is_told_with_a_near_name() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'codex'"):
        variables_of("codec", "", "", "")


def test_the_episode_may_be_named_by_the_key_alone(play: Start) -> None:
    _, gateway, episode = play()
    url = f"{gateway.url}/v1/chat/completions"
    assert post(url, BODY).status == 404
    assert post(url, BODY, Authorization=f"Bearer {episode.key}").status == 200
    messages = {**BODY, "max_tokens": 100}
    assert post(f"{gateway.url}/v1/messages", messages, x_api_key=episode.key).status == 200
    assert gateway.admin.status(episode.episode)["calls"]["done"] == 2


def test_calls_wait_while_weights_are_exchanged(start_engine: Start, start_gateway: Start) -> None:
    engine = start_engine()
    gateway = start_gateway(engine.url, own=True)
    episode = gateway.admin.create()
    call(episode.openai_url)
    assert gateway.admin.pause() is True
    thread = threading.Thread(target=call, args=(episode.openai_url,))
    thread.start()
    until(lambda: gateway.admin.status(episode.episode)["calls"]["live"] == 1)
    assert len(engine.log) == 1
    assert gateway.admin.resume() == 1
    thread.join()
    turns = gateway.admin.close(episode.episode).turns
    found = {turn.info["call"]: turn.generation for turn in turns}
    for version in (0, 1):
        assert found[version].versions == [version] * len(found[version].token_ids)


def test_versions_go_on_after_a_restart(
    start_engine: Start, start_gateway: Start, tmp_path: Path
) -> None:
    """Also if no episode is open."""
    url = start_engine().url
    with GatewayThread(url, tmp_path) as gateway:
        gateway.admin.resume(4)
        episode = gateway.admin.create()
        call(episode.openai_url)
        gateway.admin.close(episode.episode)
    again = start_gateway(url, tmp_path)
    until(lambda: again.gateway.is_ready)
    assert again.admin.resume() == 5


def test_a_pause_waits_for_the_calls_that_run(start_engine: Start, start_gateway: Start) -> None:
    engine = start_engine(script=words)
    gateway = start_gateway(engine.url, own=True)
    episode = gateway.admin.create()
    engine.held.clear()
    thread = threading.Thread(
        target=post, args=(f"{episode.openai_url}/chat/completions", {**BODY, "stream": True})
    )
    thread.start()
    until(lambda: bool(engine.log) and engine.log[0].sent > 0)
    assert gateway.admin.pause(seconds=0.01) is False
    assert gateway.admin.resume() == 1  # without waiting for the call
    engine.held.set()
    thread.join()
    assert gateway.admin.pause() is True
    assert gateway.admin.resume(7) == 7
    call(episode.openai_url)
    turns = gateway.admin.close(episode.episode).turns
    found = {turn.info["call"]: turn.generation.versions for turn in turns}
    assert found[0] is None
    assert {*found[1]} == {7}


@pytest.mark.slow
def test_episodes_go_on_after_the_gateway_was_killed(start_engine: Start, tmp_path: Path) -> None:
    engine = start_engine()
    command = [sys.executable, "-m", "gem_core", "gateway", "--engine", engine.url]
    command += ["--out", str(tmp_path), "--port", "0", "--admin-port", "0"]
    body = {"model": "m", "messages": [{"role": "user", "content": "What is 0 + 1?"}]}
    with _Command(command) as first:
        admin = first.admin
        episodes = [admin.create(mode=mode, seed=1).episode for mode in ("engine", "continue")]
        said = [call(first.openai_url(one), body)["choices"][0]["message"] for one in episodes]
        first.process.kill()
    for episode in episodes:
        with (tmp_path / "log" / f"{episode}.jsonl").open("ab") as file:
            file.write(b'{"type": "call", "cut')  # what a crash may leave
    with _Command(command) as second:
        trajectories = []
        for episode, reply in zip(episodes, said, strict=True):
            result = {
                "role": "tool",
                "tool_call_id": reply["tool_calls"][0]["id"],
                "content": "1",
            }
            more = {"model": "m", "messages": [*body["messages"], reply, result]}
            call(second.openai_url(episode), more)
            trajectories.append(second.admin.close(episode, reward=1.0))
        second.process.send_signal(signal.SIGTERM)
        assert second.process.wait() == 0
    assert differences(trajectories, engine.log) == []
    for one in trajectories:
        assert [turn.info["label"] for turn in one.turns] == ["main", "main"]
    assert len(trajectories[1].tokens()) == 1
    kept = read_trajectories(tmp_path / "trajectories.jsonl")
    assert [one.to_dict() for one in kept] == [one.to_dict() for one in trajectories]


@pytest.mark.slow
def test_the_command_waits_at_sigterm_until_its_episodes_are_closed(start_engine: Start) -> None:
    command = [sys.executable, "-m", "gem_core", "gateway", "--engine", start_engine().url]
    body = {"model": "m", "messages": [{"role": "user", "content": "What is 0 + 1?"}]}
    with _Command([*command, "--port", "0", "--admin-port", "0"]) as running:
        admin = running.admin
        episode = admin.create(seed=1).episode
        running.process.send_signal(signal.SIGTERM)
        until(lambda: not _is_healthy(admin))
        with pytest.raises(GatewayError, match=r"503.*about to end"):
            admin.create(seed=2)
        assert call(running.openai_url(episode), body)["choices"]
        assert len(admin.close(episode, reward=1.0).turns) == 1
        assert running.process.wait() == 0


def _is_healthy(admin: GatewayClient) -> bool:
    try:
        return bool(admin.health())
    except GatewayError:
        return False


def test_calls_are_refused_until_the_log_is_read(tmp_path: Path) -> None:
    async def ask() -> None:
        Gateway(EngineClient("http://127.0.0.1:9"), tmp_path).find("any")

    with pytest.raises(CallError, match="reads its log") as raised:
        asyncio.run(ask())
    assert raised.value.status == 503


@pytest.mark.slow
def test_the_log_of_an_episode_is_for_its_owner_and_grows_with_what_is_new(
    start_engine: Start, start_gateway: Start, tmp_path: Path
) -> None:
    gateway = start_gateway(start_engine().url, tmp_path)
    episode = gateway.admin.create(mode="continue")
    messages = [{"role": "user", "content": "A long task. " * 50 + "What is 0 + 1 + 2 + 3?"}]
    for _ in range(4):
        said = call(episode.openai_url, {"model": "m", "messages": messages})["choices"][0][
            "message"
        ]
        messages.append(said)
        for one in said.get("tool_calls", ()):
            result = {"role": "tool", "tool_call_id": one["id"], "content": "1"}
            messages.append(result)
    path = tmp_path / "log" / f"{episode.episode}.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    new = [len(line["new_ids"]) for line in lines if line["type"] == "call"]
    assert len(new) == 4
    assert max(new[1:]) < new[0]
    assert path.stat().st_mode & 0o077 == 0


class _Command:
    """The command, as a process; it is killed at the end."""

    def __init__(self, words: list[str]) -> None:
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline() for _ in range(3)]
        found = re.findall(r"http://\S+", " ".join(lines))
        self.token = lines[2].removeprefix("Its token: ").partition(" ")[0]
        self.url, self.admin_url = found[0].partition("/e/")[0], found[1].removesuffix("/episodes")

    @property
    def admin(self) -> GatewayClient:
        return GatewayClient(self.admin_url, self.token)

    def openai_url(self, episode: str) -> str:
        return f"{self.url}/e/{episode}/v1"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
