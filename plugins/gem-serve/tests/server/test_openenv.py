"""OpenEnv's own client plays our environments, and OpenEnv's routes answer as its server does."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gem_core import make
from gem_core.observation import visible_text
from gem_serve.remote.openenv import RemoteEnvironment, TextAction, TextObservation
from gem_serve.server.mcp import mcp_reply

Running = Any
Serve = Callable[..., Running]
pytestmark = pytest.mark.filterwarnings("default")  # OpenEnv and its packages warn

GAME = "conformance:Game"
Played = list[tuple[str, float | None, bool]]


def digit(text: str) -> str:
    """Return the scripted action: a digit that the text decides."""
    return f"digit {sum(map(ord, text)) % 10}"


def expected(env_id: str, seed: int) -> Played:
    """Play here what a client plays there."""
    with make(env_id) as env:
        observation, info = env.reset(seed=seed)
        played: Played = [(visible_text(observation, info), None, False)]
        while not played[-1][2]:
            step = env.step(digit(played[-1][0]))
            ended = step.terminated or step.truncated
            played.append((visible_text(step.observation, step.info), step.reward, ended))
    return played


@pytest.fixture
def client_class() -> Any:
    openenv = pytest.importorskip(
        "openenv", reason="openenv is not installed: 'tests/ci/adapters.sh openenv' installs it"
    )
    return openenv.GenericEnvClient


async def play(client_class: Any, url: str, seed: int) -> Played:
    async with client_class(base_url=url) as env:
        result = await env.reset(seed=seed)
        played: Played = [(result.observation["text"], result.reward, result.done)]
        while not played[-1][2]:
            result = await env.step({"text": digit(played[-1][0])})
            played.append((result.observation["text"], result.reward, result.done))
        assert (await env.state())["step_count"] == len(played) - 1
        return played


@pytest.mark.slow
def test_the_validator_of_openenv_passes_the_server(serve: Serve, client_class: Any) -> None:
    openenv = str(Path(sys.executable).with_name("openenv"))
    for running in (serve("coin", GAME), serve(GAME)):
        done = subprocess.run(
            [openenv, "validate", "--url", running.url, "--timeout", "30", "--json"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        report = json.loads(done.stdout[done.stdout.index("{") :])
        assert [one["id"] for one in report["criteria"] if not one["passed"]] == []
        assert report["mode"] == "simulation"


@pytest.mark.slow
def test_an_application_of_openenv_serves_a_remote_environment(
    serve: Serve, client_class: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    uvicorn = pytest.importorskip("uvicorn")
    from openenv.core.env_server.http_server import create_app

    running = serve(GAME)
    monkeypatch.setenv("GEM_REMOTE_ENV", f"remote:{running.address}/{GAME}")
    app = create_app(RemoteEnvironment, TextAction, TextObservation, max_concurrent_envs=8)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"

        async def play_all() -> list[Played]:
            return await asyncio.gather(*(play(client_class, url, n) for n in range(8)))

        assert asyncio.run(play_all()) == [expected(GAME, seed) for seed in range(8)]
        running.until(lambda one: len(one.server.sessions) == 0)
        server.should_exit = True
        thread.join(30)


@pytest.mark.slow
def test_the_client_of_openenv_plays_64_simultaneous_episodes_equal_to_local_ones(
    serve: Serve, client_class: Any
) -> None:
    running = serve(GAME)

    async def play_all() -> list[Played]:
        return await asyncio.gather(*(play(client_class, running.url, n) for n in range(64)))

    assert asyncio.run(play_all()) == [expected(GAME, seed) for seed in range(64)]
    running.until(lambda one: len(one.server.sessions) == 0)


def test_the_client_of_openenv_plays_without_an_event_loop(serve: Serve, client_class: Any) -> None:
    running = serve("coin", GAME)
    with client_class(base_url=f"{running.url}/env/{GAME}").sync() as env:
        first = env.reset(seed=3)
        assert first.observation["text"] == expected(GAME, 3)[0][0]
        with pytest.raises(RuntimeError, match="text"):
            env.step({"txt": "1"})
        assert env.step({"text": "1"}).observation["text"].startswith("Turn 1")


def test_the_client_of_openenv_is_told_that_the_server_is_full(
    serve: Serve, client_class: Any
) -> None:
    running = serve(GAME, max_envs=1)
    with (
        client_class(base_url=running.url).sync() as first,
        client_class(base_url=running.url).sync() as second,
    ):
        first.reset(seed=1)
        with pytest.raises(RuntimeError, match="CAPACITY_REACHED"):
            second.reset(seed=1)
        assert first.step({"text": "1"}).observation["text"].startswith("Turn 1")


def talk(url: str, texts: list[str]) -> list[Any]:
    async def exchange() -> list[Any]:
        replies = []
        async with aiohttp.ClientSession() as client, client.ws_connect(f"{url}/ws") as socket:
            for text in texts:
                await socket.send_str(text)
                replies.append(await socket.receive_json())
        return replies

    return asyncio.run(exchange())


def request(method: str, url: str, body: Any = None) -> tuple[int, Any]:
    async def send() -> tuple[int, Any]:
        async with (
            aiohttp.ClientSession() as client,
            client.request(method, url, json=body) as response,
        ):
            return response.status, await response.json()

    return asyncio.run(send())


def message(kind: str, data: Any = None) -> str:
    return json.dumps({"type": kind, **({} if data is None else {"data": data})})


def test_the_socket_of_openenv_answers_each_bad_message_and_goes_on(serve: Serve) -> None:
    texts = ["{", message("stop"), message("step", {"text": "1"}), message("reset", {"seed": "x"})]
    texts += [message("reset", {"seed": 1, "episode_id": "mine"}), message("step", {"no": 1})]
    texts += [message("step", {"text": 7}), message("state")]
    *bad, reset, refused, step, state = talk(serve(GAME).url, texts)
    codes = ["INVALID_JSON", "UNKNOWN_TYPE", "EXECUTION_ERROR", "EXECUTION_ERROR"]
    assert [reply["data"]["code"] for reply in bad] == codes
    assert {reply["type"] for reply in [*bad, refused]} == {"error"}
    assert reset["data"]["reward"] is None
    assert refused["data"]["code"] == "VALIDATION_ERROR"
    assert step["data"]["observation"]["text"].startswith("Turn 1: 8 points for 7")
    assert state["data"] == {"episode_id": "mine", "step_count": 1, "env": GAME}


def test_terminated_truncated_and_info_are_in_the_metadata(serve: Serve) -> None:
    url = serve("conformance:Turns").url
    texts = [message("reset", {"seed": 1}), *[message("step", {"text": "1"})] * 8]
    *_, last = talk(url, texts)
    assert last["data"]["done"] is True
    assert last["data"]["metadata"] == {"info": {}, "terminated": False, "truncated": True}


def test_images_are_sent_as_data_urls(serve: Serve) -> None:
    (reply,) = talk(serve("conformance:Picture").url, [message("reset", {"seed": 1})])
    assert reply["data"]["observation"]["images"][0].startswith("data:image/png;base64,")


def test_an_episode_is_played_over_plain_http(serve: Serve) -> None:
    url = serve("coin", GAME).url + f"/env/{GAME}"
    status, first = request("POST", f"{url}/reset", {"seed": 5})
    assert status == 200
    episode = first["metadata"]["episode_id"]
    assert first["observation"]["text"] == expected(GAME, 5)[0][0]
    action = {"text": digit(first["observation"]["text"])}
    _, step = request("POST", f"{url}/step", {"action": action, "episode_id": episode})
    assert (step["observation"]["text"], step["reward"], step["done"]) == expected(GAME, 5)[1]
    _, state = request("GET", f"{url}/state?episode_id={episode}")
    assert state["step_count"] == 1
    assert request("POST", f"{url}/step", {"action": action})[0] == 404


def test_resets_over_plain_http_do_not_fill_the_server(serve: Serve) -> None:
    running = serve(GAME, max_envs=2)
    url = running.url
    _, played = request("POST", f"{url}/reset", {"seed": 1})
    episode = played["metadata"]["episode_id"]
    request("POST", f"{url}/step", {"action": {"text": "1"}, "episode_id": episode})
    for seed in range(5):  # each ends the one before, which no client has played
        assert request("POST", f"{url}/reset", {"seed": seed})[0] == 200
    status, _ = request("POST", f"{url}/step", {"action": {"text": "1"}, "episode_id": episode})
    assert status == 200
    assert len(running.server.sessions) == 2
    assert request("POST", f"{url}/reset", {"seed": "x"})[0] == 422
    assert len(running.server.sessions) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("{", -32700),
        ("{}", -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": "resources/list"}', -32601),
        ('{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', -32603),
    ],
)
def test_the_endpoint_of_mcp_says_that_there_are_no_tools(body: str, code: int) -> None:
    reply = mcp_reply(body.encode())
    assert (reply["jsonrpc"], reply["error"]["code"]) == ("2.0", code)


def test_the_description_of_the_routes_has_those_of_openenv(serve: Serve) -> None:
    url = serve("coin", GAME).url
    described = request("GET", url + "/openapi.json")[1]["paths"]
    assert {"/reset", "/step", "/state", "/schema", "/metadata", "/mcp"} <= described.keys()
    for prefix in ("", f"/env/{GAME}"):
        assert request("POST", f"{url}{prefix}/mcp", {})[1]["error"]["code"] == -32600


def test_the_routes_of_openenv_describe_the_environment(serve: Serve) -> None:
    running = serve("coin", GAME)
    _, schema = request("GET", running.url + "/schema")
    assert schema["action"]["required"] == ["text"]
    assert request("GET", running.url + "/metadata")[1]["name"] == "coin"
    assert request("GET", f"{running.url}/env/{GAME}/metadata")[1]["name"] == GAME
    assert request("GET", running.url + "/list_environments") == (200, ["coin", GAME])
    status, reply = request("GET", running.url + "/env/coins/schema")
    assert status == 404
    assert "Did you mean 'coin'" in reply["error"]["message"]


def test_an_observation_that_a_client_may_show_has_no_expected_answer(serve: Serve) -> None:
    """It stays in the server's metadata beside the observation."""
    running = serve("qa:Sample")
    with make("qa:Sample") as env:
        env.reset(seed=3)
        (gold, *_) = env.unwrapped.golds  # type: ignore[attr-defined]
    begin = message("reset", {"seed": 3})
    first, last = talk(running.url, [begin, message("step", {"text": "I do not know."})])
    assert "grading" not in json.dumps(first)
    assert gold not in json.dumps(first)
    assert "grading" not in json.dumps(last["data"]["observation"])
    assert gold in last["data"]["metadata"]["info"]["grading"]["expected"]


def test_an_observation_of_a_remote_environment_has_no_expected_answer(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEM_REMOTE_ENV", f"remote:{serve('qa:Sample').address}/qa:Sample")
    env = RemoteEnvironment()
    env.reset(seed=3)
    shown = env.step(TextAction(text="I do not know."))
    env.close()
    assert shown.done
    assert "correct" in shown.metadata["info"]
    assert "grading" not in json.dumps(shown.metadata)
