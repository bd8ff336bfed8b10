"""Faulty endpoints: retries, errors, and resources that are released."""

import asyncio
import gc
import json
import pickle
import signal
import socket
import subprocess
import sys
import time
import warnings

import pytest
from commands import Command
from hypothesis import given, settings
from hypothesis import strategies as st
from needs import needs
from selection import thorough

import gem_core
from gem_agents import errors
from gem_agents.chat import to_resend
from gem_agents.client import Client, retry_after
from gem_agents.openai import OpenAIAgent
from gem_agents.replies import read_chat, read_completion, text_of
from gem_agents.testing.endpoint_server import EndpointServer
from gem_core.agent import Generation
from gem_core.errors import GemError
from gem_rollout import collect

GAME = "game:GuessTheNumber-v0-easy"
HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture
def server():
    with EndpointServer("<answer>\\boxed{5}</answer>") as server:
        yield server


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr("gem_agents.client._FIRST_PAUSE", 0.001)


def agent_of(url, **options):
    return OpenAIAgent(model="m", base_url=url, **{"api_key": "sk-hidden-77", **options})


def ask(server, **options):
    """Play one turn, and return the generation."""

    async def run():
        agent = agent_of(getattr(server, "url", server), **options)
        agent.reset(gem_core.make(GAME))
        try:
            return (await agent.act("a", {})).generation
        finally:
            agent.close()

    return asyncio.run(run())


class TestRepetition:
    @pytest.mark.parametrize(
        "fault",
        [
            "408",
            "409",
            "429",
            "429:0.01",
            "500",
            "502",
            "503:0.01",
            "529",
            "cut",
            "cut-body",
            "malformed",
            "html",
            "no-choices",
            "error",
        ],
    )
    def test_a_passing_fault_costs_an_attempt_and_no_more(self, server, fault):
        server.set_faults([fault, fault])
        generation = ask(server)
        assert (generation.attempts, server.requests) == (3, 3)
        assert generation.queue_seconds > 0
        assert server.in_flight == 0

    @pytest.mark.slow
    @pytest.mark.parametrize("fault", ["hang", "slow:30", "slow-body:30"])
    def test_a_request_without_an_answer_in_time_is_sent_again(self, server, fault):
        server.set_faults([fault])
        assert ask(server, timeout=0.3).attempts >= 2

    @pytest.mark.slow
    def test_retry_after_is_waited_for(self, server):
        server.set_faults(["429:0.3"])
        assert ask(server).queue_seconds > 0.25

    def test_a_client_gives_up_after_the_last_attempt(self, server):
        server.set_faults(["500"] * 9)
        with pytest.raises(errors.ServerError, match="attempts: 3"):
            ask(server, max_attempts=3)
        assert server.requests == 3

    def test_a_client_gives_up_when_its_time_is_over(self, server):
        server.set_faults(["429:60"] * 9)
        started = time.monotonic()
        with pytest.raises(errors.RateLimitError, match="attempts: 1"):
            ask(server, max_retry_seconds=5)
        assert time.monotonic() - started < 30

    @pytest.mark.slow
    def test_a_requested_pause_holds_for_all_agents_and_has_an_end(self, server):
        """The next agent waits as long as the first would have, not for the requested hour."""
        server.set_faults(["429:3600"])

        async def run():
            agents = [agent_of(server.url, max_retry_seconds=2) for _ in range(2)]
            for agent in agents:
                agent.reset(gem_core.make(GAME))
            with pytest.raises(errors.RateLimitError):
                await agents[0].act("a", {})
            reply = await agents[1].act("a", {})
            for agent in agents:
                agent.close()
            return reply.generation.queue_seconds

        assert 0.5 < asyncio.run(run()) < 60

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 422])
    def test_requests_that_repetition_cannot_help_are_sent_once(self, server, status):
        server.set_faults([str(status)] * 9)
        with pytest.raises(errors.EndpointError) as caught:
            ask(server)
        assert (caught.value.status, server.requests) == (status, 1)

    def test_an_answer_that_is_called_plain_text_is_read(self, server):
        server.set_faults(["text"])
        assert ask(server).attempts == 1


ENDPOINT_ERRORS = [
    name
    for name in errors.__all__
    if name.endswith("Error") and issubclass(getattr(errors, name), errors.EndpointError)
]


class TestErrors:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("fault", "theirs", "ours"),
        [
            ("400", "BadRequestError", errors.BadRequestError),
            ("401", "AuthenticationError", errors.AccessError),
            ("403", "PermissionDeniedError", errors.AccessError),
            ("404", "NotFoundError", errors.UnknownModelError),
            ("409", "ConflictError", errors.ServerError),
            ("422", "UnprocessableEntityError", errors.BadRequestError),
            ("429", "RateLimitError", errors.RateLimitError),
            ("500", "InternalServerError", errors.ServerError),
            ("503", "InternalServerError", errors.ServerError),
            ("cut", "APIConnectionError", errors.UnreachableError),
            ("hang", "APITimeoutError", errors.EndpointTimeoutError),
            ("context", "BadRequestError", errors.ContextLengthError),
        ],
    )
    def test_each_error_of_the_sdk_has_one_of_ours(self, openai, server, fault, theirs, ours):
        server.set_faults([fault, fault])
        seconds = 0.2 if fault == "hang" else 60.0
        options = {"base_url": server.url, "api_key": "any", "max_retries": 0, "timeout": seconds}
        with (
            openai.OpenAI(**options) as client,
            pytest.raises(getattr(openai, theirs)) as expected,
        ):
            client.chat.completions.create(model="m", messages=HELLO)
        with pytest.raises(ours) as caught:
            ask(server, max_attempts=1, timeout=seconds)
        assert type(caught.value) is ours
        assert caught.value.status == getattr(expected.value, "status_code", None)
        assert server.url in str(caught.value)

    @pytest.mark.parametrize("fault", ["malformed", "html", "no-choices"])
    def test_an_answer_without_a_reply_is_malformed(self, server, fault):
        server.set_faults([fault])
        with pytest.raises(errors.MalformedReplyError) as caught:
            ask(server, max_attempts=1)
        assert caught.value.body

    def test_no_error_message_has_the_key(self, server):
        server.model = "sk-hidden-77"
        server.set_faults(["malformed"])
        with pytest.raises(errors.MalformedReplyError) as caught:
            ask(server, max_attempts=1)
        assert "hidden-77" not in str(caught.value) + caught.value.body
        assert "***" in caught.value.body

    @pytest.mark.parametrize("fault", ["malformed", "401", "cut", "hang"])
    def test_no_error_has_the_password_of_the_url(self, server, fault):
        server.set_faults([fault])
        url = server.url.replace("http://", "http://me:hidden-88@")
        with pytest.raises(errors.EndpointError) as caught:
            ask(url, api_key=None, api_key_env="NO_KEY", max_attempts=1, timeout=0.5)
        assert "hidden-88" not in str(caught.value) + caught.value.url
        assert server.url in caught.value.url

    def test_the_error_of_a_long_episode_explains_the_cause(self, server):
        server.set_faults(["context"])
        with pytest.raises(errors.ContextLengthError, match="longer than the model's context"):
            ask(server)

    def test_an_endpoint_that_does_not_exist_is_an_error(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
            with pytest.raises(errors.UnreachableError, match="attempts: 2"):
                ask(url, max_attempts=2)

    @pytest.mark.parametrize("name", ENDPOINT_ERRORS)
    def test_each_error_has_a_builtin_base_and_can_be_pickled(self, name):
        error = getattr(errors, name)("message", 418, "http://x", "body")
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - its own
        assert type(again) is type(error)
        assert (str(again), again.status, again.url, again.body) == (
            "message",
            418,
            "http://x",
            "body",
        )
        assert isinstance(error, GemError)
        builtins = [base for base in type(error).__mro__ if base.__module__ == "builtins"]
        assert builtins[0] not in {Exception, BaseException, object}

    def test_an_episode_records_the_error_of_its_endpoint(self, server):
        server.set_faults(["401"] * 9)
        [trajectory] = collect(
            lambda: gem_core.make(GAME), lambda: agent_of(server.url), episodes=1
        )
        assert trajectory.error["boundary"] == "agent"
        assert trajectory.error["type"] == "AccessError"
        assert "hidden-77" not in repr(trajectory)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@st.composite
def almost_answers(draw):
    """An answer of the endpoint with one part replaced or removed."""
    tokens = [{"logprob": -1.0}, {"logprob": -2}]
    chat = {
        "choices": [
            {
                "message": {"role": "assistant", "content": "hi", "tool_calls": [{"id": "1"}]},
                "finish_reason": "stop",
                "logprobs": {"content": tokens, "token_logprobs": [-1.0, -2]},
                "token_ids": [1, 2],
                "text": "hi",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
        "model": "m",
        "prompt_token_ids": [3],
    }
    place = chat
    while True:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else [0]))
        if not isinstance(place[key], dict | list) or not place[key] or draw(st.booleans()):
            break
        place = place[key]
    if draw(st.booleans()):
        del place[key]
    else:
        place[key] = draw(json_values)
    return chat


class TestOddAnswers:
    @pytest.mark.slow
    @given(body=almost_answers() | json_values)
    @settings(max_examples=300 if thorough() else 60)
    def test_any_json_is_read_as_an_answer_or_is_an_error(self, body):
        client = Client("http://x", "k", timeout=1, max_attempts=1, max_seconds=1, max_in_flight=1)
        data = json.dumps(body).encode()
        for read in (read_chat, read_completion):
            try:
                answer = client.read(data, "http://x", read)
            except errors.EndpointError:
                continue
            assert isinstance(text_of(to_resend(answer.message, reasoning=True)), str)
            for ids in (answer.prompt_ids, answer.token_ids):
                assert ids is None or all(type(one) is int for one in ids)
            assert answer.logprobs is None or all(type(one) is float for one in answer.logprobs)
            assert answer.prompt_tokens is None or type(answer.prompt_tokens) is int
            json.dumps(generation_of(answer).to_dict())

    @given(data=st.binary(max_size=40))
    @settings(max_examples=100 if thorough() else 25)
    def test_any_bytes_are_an_error(self, data):
        client = Client("http://x", None, timeout=1, max_attempts=1, max_seconds=1, max_in_flight=1)
        with pytest.raises(errors.MalformedReplyError):
            client.read(data, "http://x", read_chat)


def generation_of(answer):
    fields = {name: getattr(answer, name) for name in answer.__slots__ if name != "message"}
    return Generation(reply=dict(answer.message), **fields)


class TestRetryAfter:
    @pytest.mark.parametrize(
        ("headers", "seconds"),
        [
            ({}, None),
            ({"retry-after": "3"}, 3.0),
            ({"retry-after": "0.5"}, 0.5),
            ({"retry-after": "-3"}, None),
            ({"retry-after": "soon"}, None),
            ({"retry-after": "inf"}, None),
            ({"retry-after": "nan"}, None),
            ({"retry-after": ""}, None),
            ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
            ({"retry-after": "Wed, 21 Oct 2015 07:28:10 GMT"}, 10.0),
            ({"retry-after": "Wed, 21 Oct 2015 07:27:00 GMT"}, 0.0),
        ],
    )
    def test_the_header_retry_after_is_read(self, headers, seconds):
        assert retry_after(headers, now=1445412480.0) == seconds


class TestConnections:
    def play(self, server, episodes, **options):
        return list(
            collect(
                lambda: gem_core.make(GAME),
                lambda: agent_of(server.url),
                episodes=episodes,
                **options,
            )
        )

    @pytest.mark.slow
    def test_several_event_loops_leave_no_connection_behind(self, server):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(3):
                trajectories = self.play(server, 8, concurrency=4)
                assert [one.error for one in trajectories] == [None] * 8
            gc.collect()
        assert server.connections <= 3 * 4
        deadline = time.monotonic() + 60
        while server._open:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    @pytest.mark.slow
    def test_agents_share_connections(self, server):
        server.latency = 0.01

        async def run():
            agents = [agent_of(server.url) for _ in range(4)]
            for agent in agents:
                agent.reset(gem_core.make(GAME))
            for _ in range(5):
                for agent in agents:
                    await agent.act("a", {})
            for agent in agents:
                agent.close()
                agent.close()

        asyncio.run(run())
        assert server.connections == 1

    @pytest.mark.slow
    def test_an_agent_may_move_to_another_event_loop(self, server):
        agent = agent_of(server.url)
        for _ in range(2):
            agent.reset(gem_core.make(GAME))
            assert asyncio.run(agent.act("a", {})).action
        agent.close()
        gc.collect()

    @pytest.mark.slow
    def test_an_event_loop_that_is_driven_by_hand_is_left_clean(self, server):
        loop = asyncio.new_event_loop()
        agent = agent_of(server.url)
        agent.reset(gem_core.make(GAME))
        loop.run_until_complete(agent.act("a", {}))
        agent.close()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        gc.collect()

    @pytest.mark.slow
    def test_a_call_that_is_cancelled_gives_up_its_place(self, server):
        server.set_faults(["hang"])

        async def run():
            agent = agent_of(server.url, max_in_flight=1)
            agent.reset(gem_core.make(GAME))
            task = asyncio.create_task(agent.act("a", {}))
            while not server.requests:  # noqa: ASYNC110 - it is counted in another thread
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            agent.reset(gem_core.make(GAME))
            assert (await agent.act("a", {})).action
            agent.close()

        asyncio.run(run())

    def test_no_more_calls_are_in_flight_than_allowed(self, server):
        server.latency = 0.01

        async def run():
            agents = [agent_of(server.url, max_in_flight=3) for _ in range(12)]
            for agent in agents:
                agent.reset(gem_core.make(GAME))
            await asyncio.gather(*[agent.act("a", {}) for agent in agents])
            for agent in agents:
                agent.close()

        asyncio.run(run())
        assert server.most_in_flight == 3

    @pytest.mark.slow
    def test_large_requests_are_sent(self, server):
        async def run():
            agent = agent_of(server.url)
            agent.reset(gem_core.make(GAME))
            try:
                return await agent.act("a" * (3 << 20), {})
            finally:
                agent.close()

        assert asyncio.run(run()).generation.prompt_tokens > 3 << 20

    @pytest.mark.slow
    def test_faults_lose_no_episode(self, server):
        server.set_faults(
            {"500": 0.05, "cut": 0.05, "429:0.001": 0.05, "malformed": 0.05, "no-choices": 0.05}
        )
        trajectories = self.play(server, 60, concurrency=16)
        assert [one.error for one in trajectories] == [None] * 60
        assert sum(server.met.values()) > 5

    @pytest.mark.slow
    def test_ctrl_c_ends_a_run_without_warnings(self, server):
        server.latency = 0.02
        code = f"""
import gem_core
from gem_agents.openai import OpenAIAgent
from gem_rollout import collect
made = lambda: gem_core.make({GAME!r})
played = collect(made, lambda: OpenAIAgent(model="m", base_url={server.url!r}), episodes=10**6)
try:
    for number, _ in enumerate(played):
        if number == 5:
            print("playing", flush=True)
except KeyboardInterrupt:
    print("interrupted")
"""
        command = [sys.executable, "-W", "default", "-c", code]
        with Command(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "playing\n"
            process.send_signal(signal.SIGINT)
            printed, complaints = process.communicate(timeout=60)
        assert printed == "interrupted\n", complaints
        assert complaints == ""

    @pytest.mark.slow
    def test_an_agent_works_with_uvloop(self, server):
        uvloop = needs("uvloop")

        async def run():
            agent = agent_of(server.url)
            agent.reset(gem_core.make(GAME))
            replies = [await agent.act("a", {}) for _ in range(3)]
            agent.close()
            return replies

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            assert len(runner.run(run())) == 3
        gc.collect()
        assert server.connections == 1
