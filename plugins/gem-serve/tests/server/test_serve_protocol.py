"""The protocol of the server: what it answers to messages, good and bad."""

import asyncio
import base64
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType

from gem_core.errors import ConfigError
from gem_serve.server import Limits
from gem_serve.server.limits import Bucket
from gem_serve.server.signing import Signer

Running = Any
Serve = Callable[..., Running]
ID = "session-of-the-tests"


class Client:
    """Sends single messages over HTTP."""

    def __init__(self, running: Running, **headers: str) -> None:
        self.url = running.url
        self.headers = headers

    def __call__(self, op: str, **fields: Any) -> Any:
        return self.raw(f"/gem/{op}", json.dumps(fields))[1]

    def raw(self, path: str, body: Any, method: str = "POST") -> tuple[int, Any]:
        async def send() -> tuple[int, Any]:
            async with (
                aiohttp.ClientSession(headers=self.headers) as client,
                client.request(method, self.url + path, data=body) as response,
            ):
                text = await response.text()
                is_json = response.content_type == "application/json"
                return response.status, json.loads(text) if is_json else text

        return asyncio.run(send())

    def begin(self, session: str = ID, seed: int = 1, env: str = "coin") -> Any:
        assert "error" not in self("open", session=session, env=env)
        return self("reset", session=session, number=1, seed=seed)


def error_of(reply: Any) -> str:
    return str(reply["error"]["type"])


@pytest.mark.slow
def test_a_repeated_message_gets_the_same_answer_and_is_done_once(serve: Serve) -> None:
    running = serve()
    client = Client(running)
    client.begin()
    step = client("step", session=ID, number=2, action="heads")
    for _ in range(3):
        assert client("step", session=ID, number=2, action="heads") == step
    assert running.server.metrics.steps == 1
    assert client("step", session=ID, number=3, action="heads")["observation"] == "3 left"


def test_a_message_that_is_repeated_during_its_call_waits_for_the_same_answer(
    serve: Serve, gate: Event
) -> None:
    running = serve("stuck")
    gate.clear()
    Client(running).begin(env="stuck")

    async def twice() -> list[Any]:
        body = json.dumps({"session": ID, "number": 2, "action": "heads"})
        async with aiohttp.ClientSession() as client:
            posts = [client.post(f"{running.url}/gem/step", data=body) for _ in range(2)]
            answers = asyncio.gather(*posts)
            await asyncio.to_thread(running.until, lambda one: one.server.metrics.messages == 4)
            gate.set()
            return [await response.json() for response in await answers]

    first, second = asyncio.run(twice())
    assert first == second
    assert running.server.metrics.steps == 1


@pytest.mark.slow
def test_a_call_whose_number_is_not_the_next_is_refused_as_stale(serve: Serve) -> None:
    client = Client(serve())
    client.begin()
    for played in range(2, 12):
        client("reset", session=ID, number=played, seed=1)
    for number in (1, 3, 99):
        body = json.dumps({"session": ID, "number": number, "action": "heads"})
        status, reply = client.raw("/gem/step", body)
        assert (status, error_of(reply)) == (409, "StaleError"), number
        assert "the number 12" in reply["error"]["message"]
    assert client("step", session=ID, number=12, action="heads")["observation"] == "4 left"


BAD = {
    "not JSON": ("step", "{", 400, "MessageError"),
    "not an object": ("step", "[1]", 400, "MessageError"),
    "deeply nested": ("step", "[" * 100_000, 400, "MessageError"),
    "not text": ("step", b"\xff\xfe", 400, "MessageError"),
    "an unknown call": ("stop", "{}", 400, "MessageError"),
    "no session": ("step", "{}", 400, "MessageError"),
    "a short id": ("open", '{"session":"1","env":"coin"}', 400, "MessageError"),
    "an odd number": ("step", f'{{"session":"{ID}","number":true}}', 400, "MessageError"),
    "no action": ("step", f'{{"session":"{ID}"}}', 400, "MessageError"),
    "an odd value": ("step", f'{{"session":"{ID}","action":{{"$":"x"}}}}', 400, "MessageError"),
    "odd options": ("reset", f'{{"session":"{ID}","options":[1]}}', 400, "MessageError"),
    "an odd seed": ("reset", f'{{"session":"{ID}","seed":-1}}', 422, "ConfigError"),
    "a lost session": ("step", f'{{"session":"{ID}-other","action":1}}', 404, "SessionLostError"),
    "an unknown environment": ("open", f'{{"session":"{ID}2","env":"con"}}', 404, "UnknownIdError"),
    "no snapshot": ("restore", f'{{"session":"{ID}","snapshot":"!"}}', 400, "MessageError"),
    "batches in a batch": ("batch", '{"calls":[{"op":"batch","calls":[]}]}', 400, "MessageError"),
    "no list": ("batch", '{"calls":3}', 400, "MessageError"),
    "a long batch": ("batch", json.dumps({"calls": [{}] * 1025}), 413, "OversizeError"),
    "too large": ("step", "x" * 300_000, 413, "OversizeError"),
}


@pytest.fixture
def small(serve: Serve) -> Running:
    return serve(max_bytes=200_000)


@pytest.mark.slow
def test_a_bad_message_gets_a_typed_error_and_no_session_notices(
    small: Running, subtests: pytest.Subtests
) -> None:
    client = Client(small)
    client.begin()
    client.begin("another-session-of-all", seed=5)
    for why, (op, body, status, error) in BAD.items():
        with subtests.test(why):
            found, reply = client.raw(f"/gem/{op}", body)
            assert (found, error_of(reply)) == (status, error)
            assert reply["error"]["message"]
    reply = client("step", session="another-session-of-all", number=2, action="heads")
    assert reply["observation"] == "4 left"
    assert "Did you mean 'coin'" in client("open", session=ID + "3", env="con")["error"]["message"]


def test_a_connection_survives_bad_messages(small: Running) -> None:
    async def talk() -> list[Any]:
        replies = []
        async with (
            aiohttp.ClientSession() as client,
            client.ws_connect(f"{small.url}/gem/ws") as socket,
        ):
            for text in ("{", "[]", '{"id":7,"op":"stop"}', '{"id":8,' + " " * 300_000 + "}"):
                await socket.send_str(text)
                replies.append(await socket.receive_json())
            await socket.send_json({"id": 9, "op": "open", "session": ID, "env": "coin"})
            replies.append(await socket.receive_json())
            await socket.send_str("x" * 500_000)
            last = await socket.receive()
            assert last.type is WSMsgType.CLOSE
            assert last.data == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
        return replies

    *refused, opened = asyncio.run(talk())
    assert [error_of(reply) for reply in refused] == ["MessageError"] * 3 + ["OversizeError"]
    assert [reply["id"] for reply in refused] == [None, None, 7, 8]
    assert opened["id"] == 9
    assert opened["provisioning_seconds"] >= 0


def test_a_forged_snapshot_is_refused_and_never_loaded(serve: Serve, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "exploded"),)

    client = Client(serve(secret=b"s" * 32))
    client.begin()
    bomb = pickle.dumps(Bomb())
    for signed in (bomb, b"x" * 32 + bomb, Signer(b"t" * 32).sign("coin", bomb)):
        reply = client("restore", session=ID, snapshot=base64.b64encode(signed).decode())
        assert error_of(reply) == "SnapshotError"
    assert not (tmp_path / "exploded").exists()
    assert client("step", session=ID, action="heads")["observation"] == "4 left"


def test_a_batch_answers_in_order_each_with_its_own_error(serve: Serve) -> None:
    client = Client(serve())
    client.begin()
    client.begin(ID + "2")
    steps = [{"op": "step", "session": each, "action": "heads"} for each in (ID, ID + "2", ID)]
    replies = client("batch", calls=[*steps, {"op": "nothing"}])["replies"]
    assert [reply.get("observation") for reply in replies] == ["4 left", "4 left", "3 left", None]
    assert error_of(replies[3]) == "MessageError"


def test_a_full_server_refuses_until_a_session_ends(serve: Serve) -> None:
    client = Client(serve(max_envs=2))
    client.begin(ID + "1")
    client.begin(ID + "2")
    body = json.dumps({"session": ID + "3", "env": "coin"})
    status, reply = client.raw("/gem/open", body)
    assert (status, error_of(reply)) == (503, "CapacityError")
    assert error_of(client("fork", session=ID + "1", into=ID + "3")) == "CapacityError"
    client("close", session=ID + "2")
    assert "error" not in client("fork", session=ID + "1", into=ID + "3")
    assert client("step", session=ID + "3", number=1, action="heads")["observation"] == "4 left"


@pytest.mark.slow
def test_an_idle_session_ends_and_one_with_a_connection_lives(serve: Serve) -> None:
    running = serve(idle_timeout=0.3)
    client = Client(running)
    client.begin()

    async def keep() -> None:
        async with (
            aiohttp.ClientSession() as http,
            http.ws_connect(f"{running.url}/gem/ws") as socket,
        ):
            await socket.send_json({"id": 1, "op": "open", "session": ID + "2", "env": "coin"})
            await socket.receive_json()
            await asyncio.to_thread(running.until, lambda one: one.server.metrics.expired == 1)

    asyncio.run(keep())
    assert error_of(client("step", session=ID, action="heads")) == "SessionLostError"
    running.until(lambda one: len(one.server.sessions) == 0)  # its connection has ended


def test_a_session_does_not_expire_during_a_call_or_right_after_it(
    serve: Serve, gate: Event
) -> None:
    running = serve("stuck", "coin")
    sessions = running.server.sessions
    gate.clear()
    client = Client(running)
    client.begin(env="stuck")
    client.begin(ID + "2")
    with ThreadPoolExecutor() as pool:
        step = pool.submit(client, "step", session=ID, number=2, action="heads")
        running.until(lambda one: any(session.is_busy for session in list(one.server.sessions)))
        for session in list(sessions):
            session.used -= 1000
        running.do(sessions.expire())
        assert (running.server.metrics.expired, len(sessions)) == (1, 1)
        gate.set()
        assert step.result()["observation"] == "4 left"
    running.do(sessions.expire())
    assert client("step", session=ID, number=3, action="heads")["observation"] == "3 left"


def test_an_environment_whose_end_takes_long_keeps_no_other_from_its_own(
    serve: Serve, gate: Event
) -> None:
    running = serve("lingering", "coin")
    sessions = running.server.sessions
    client = Client(running)
    client.begin(env="lingering")
    client.begin(ID + "2")
    for session in list(sessions):
        session.used -= 1000
    gate.clear()
    with ThreadPoolExecutor() as pool:
        expiring = pool.submit(running.do, sessions.expire())
        running.until(lambda one: one.server.sessions.capacity.taken == 1)
        assert len(sessions) == 0
        gate.set()
        expiring.result()
    assert sessions.capacity.taken == 0


CLIENT = """
import asyncio, sys
import aiohttp
async def play():
    async with aiohttp.ClientSession() as client, client.ws_connect(sys.argv[1]) as socket:
        for op in ({"op": "open", "env": "coin"}, {"op": "reset", "seed": 1}):
            await socket.send_json({"id": 1, "session": "session-of-a-client", **op})
            await socket.receive_json()
        print("playing", flush=True)
        await asyncio.sleep(600)
asyncio.run(play())
"""


@pytest.mark.slow
def test_the_session_of_a_killed_client_ends_within_the_idle_timeout(serve: Serve) -> None:
    running = serve(idle_timeout=0.2)
    command = [sys.executable, "-c", CLIENT, f"{running.url}/gem/ws"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "playing\n"
        assert len(running.server.sessions) == 1
        process.send_signal(signal.SIGKILL)
    running.until(lambda one: len(one.server.sessions) == 0)
    assert running.server.metrics.expired == 1


def test_without_the_token_nothing_but_the_health_is_shown(serve: Serve) -> None:
    running = serve(token="right")  # noqa: S106
    stranger, friend = Client(running), Client(running, Authorization="Bearer right")
    for path, method in (("/gem/hello", "POST"), ("/metrics", "GET"), ("/schema", "GET")):
        assert stranger.raw(path, None, method)[0] == 401
        assert friend.raw(path, None, method)[0] == 200
    assert stranger.raw("/health", None, "GET") == (200, {"status": "healthy"})


def test_a_server_without_a_token_does_not_answer_web_pages(serve: Serve) -> None:
    running = serve()
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        status, reply = Client(running, **headers).raw("/gem/hello", "{}")
        assert (status, error_of(reply)) == (401, "AccessError")
    assert Client(running, Origin=running.url).raw("/gem/hello", "{}")[0] == 200


def test_a_client_over_its_rate_is_told_when_to_come_back(serve: Serve) -> None:
    client = Client(serve(rate=0.01))
    client("hello")
    status, reply = client.raw("/gem/hello", "{}")
    assert (status, error_of(reply)) == (429, "RateError")
    assert 0 < reply["error"]["retry_after"] <= 100


def test_a_bucket_fills_at_its_rate() -> None:
    bucket = Bucket(2.0, 0.0)
    assert [bucket.take(0.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert bucket.take(0.5) == 0.0
    assert bucket.take(0.5) > 0


def test_limits_must_be_positive() -> None:
    for name in ("max_envs", "idle_timeout", "max_bytes", "rate", "step_timeout"):
        with pytest.raises(ConfigError, match=name):
            Limits(**{name: 0})


@pytest.mark.slow
def test_a_step_that_hangs_is_given_up_and_its_session_ends(serve: Serve, gate: Event) -> None:
    running = serve("stuck", "coin", step_timeout=2.0)
    gate.clear()
    client = Client(running)
    client.begin(env="stuck")
    client.begin(ID + "2")
    assert error_of(client("step", session=ID, number=2, action="heads")) == "DeadlineError"
    assert error_of(client("step", session=ID, number=3, action="heads")) == "SessionLostError"
    assert client("step", session=ID + "2", action="heads")["observation"] == "4 left"


def test_a_draining_server_finishes_its_episodes_and_begins_none(serve: Serve) -> None:
    running = serve()
    client = Client(running)
    client("open", session=ID, env="coin")
    client("reset", session=ID, seed=1, options={"coins": 1})
    assert running.do(running.server.drain(0)) == 1
    assert client.raw("/gem/ready", None, "GET")[0] == 503
    assert error_of(client("open", session=ID + "2", env="coin")) == "CapacityError"
    assert client("step", session=ID, action="heads")["terminated"]
    assert error_of(client("reset", session=ID, seed=2)) == "CapacityError"
    assert running.do(running.server.drain(60)) == 0


def test_metrics_count_what_happened(serve: Serve) -> None:
    client = Client(serve())
    client.begin()
    client("step", session=ID, action="heads")
    client("stop")
    status, text = client.raw("/metrics", None, "GET")
    assert status == 200
    lines = text.splitlines()
    for line in (
        "gem_sessions 1.0",
        "gem_episodes_total 1.0",
        "gem_steps_total 1.0",
        'gem_env_episodes_total{env="coin"} 1.0',
        'gem_env_steps_total{env="coin"} 1.0',
        'gem_step_seconds_bucket{le="+Inf"} 1.0',
        "gem_step_seconds_count 1.0",
        'gem_errors_total{type="MessageError"} 1.0',
    ):
        assert line in lines


def test_openapi_describes_each_call_with_the_fields_that_it_needs(serve: Serve) -> None:
    """A call that is described is there; one without a needed field is refused."""
    client = Client(serve())
    status, found = client.raw("/openapi.json", None, "GET")
    assert (status, found["openapi"]) == (200, "3.1.0")
    calls = {path: one for path, one in found["paths"].items() if path.startswith("/gem/")}
    posts = {path: one["post"] for path, one in calls.items() if "post" in one}
    client.begin()
    for path, operation in posts.items():
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        for missing in schema["required"]:
            fields = {one: ID for one in schema["required"] if one != missing}
            status, reply = client.raw(path, json.dumps(fields))
            assert (status, error_of(reply)) == (400, "MessageError"), (path, missing)
    assert client("stop")["error"]["message"].startswith("Unknown call 'stop'")
    assert set(posts) == {f"/gem/{op}" for op in _known_calls(client)}


def _known_calls(client: Client) -> set[str]:
    names = "hello open close attach batch reset step sample seed seed_actions snapshot restore"
    found = {*names.split(), "fork"}
    for op in found:
        assert "Unknown call" not in str(client(op))
    return found


def test_a_page_lists_the_environments(serve: Serve) -> None:
    running = serve("coin", "tasks")
    status, page = Client(running).raw("/", None, "GET")
    assert status == 200
    assert "<code>coin</code>" in page
    assert "0 of 256 slots" in page


def test_two_blocking_environments_step_at_the_same_time(serve: Serve) -> None:
    client = Client(serve("together"))
    client.begin(env="together")
    client.begin(ID + "2", env="together")
    steps = [{"op": "step", "session": each, "action": "heads"} for each in (ID, ID + "2")]
    replies = client("batch", calls=steps)["replies"]
    assert [reply["observation"] for reply in replies] == ["4 left", "4 left"]


def test_an_environment_for_several_agents_is_refused(serve: Serve) -> None:
    with pytest.raises(ConfigError, match="several agents"):
        serve("conformance:TwoAgents")


def test_hello_describes_the_environments(serve: Serve) -> None:
    found = Client(serve("coin", "tasks"))("hello")
    assert found["protocol"] == 1
    assert list(found["environments"]) == ["coin", "tasks"]
    assert found["environments"]["coin"]["id"] == "test:coin"
