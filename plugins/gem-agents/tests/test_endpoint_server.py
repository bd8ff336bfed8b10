"""The scripted endpoint for tests and measurements."""

import concurrent.futures
import email.utils
import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from gem_agents.testing.endpoint_replies import logprob_of, render
from gem_agents.testing.endpoint_server import EndpointServer, serve_in_process
from gem_core.errors import ConfigError

HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture
def server():
    with EndpointServer() as server:
        yield server


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content(self):
        return json.loads(self.body)


def ask(url, body=None, path="/chat/completions", timeout=30.0):
    data = json.dumps({"model": "m", "messages": HELLO, **(body or {})}).encode()
    request = urllib.request.Request(url + path, data)  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310 - loopback
            return Answer(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.headers, error.read())


def said(url, **body):
    return ask(url, body).content["choices"][0]["message"]["content"]


class TestReplies:
    @pytest.mark.slow
    def test_the_sdk_reads_a_chat(self, openai, server):
        server.set_reply("hi")
        with openai.OpenAI(base_url=server.url, api_key="any", max_retries=0) as client:
            assert [model.id for model in client.models.list()] == ["scripted"]
            answer = client.chat.completions.create(model="m", messages=HELLO, logprobs=True)
        choice = answer.choices[0]
        assert (choice.message.content, choice.finish_reason) == ("hi", "stop")
        assert answer.usage.prompt_tokens == len(render(HELLO))
        assert [token.logprob for token in choice.logprobs.content][:2] == [
            logprob_of(ord("h")),
            logprob_of(ord("i")),
        ]

    @pytest.mark.slow
    def test_the_sdk_reads_a_completion(self, openai, server):
        with openai.OpenAI(base_url=server.url, api_key="any", max_retries=0) as client:
            answer = client.completions.create(model="m", prompt="2 + 2 =", logprobs=0)
        assert answer.choices[0].text == "ok"
        assert answer.choices[0].logprobs.token_logprobs == [*map(logprob_of, b"ok")]

    @pytest.mark.slow
    def test_the_sdk_reads_tool_calls(self, openai, server):
        function = {"name": "add", "arguments": '{"a": 1}'}
        calls = [{"id": "1", "type": "function", "function": function}]
        server.set_reply({"tool_calls": calls})
        with openai.OpenAI(base_url=server.url, api_key="any", max_retries=0) as client:
            choice = client.chat.completions.create(model="m", messages=HELLO).choices[0]
        assert choice.finish_reason == "tool_calls"
        assert [call.model_dump() for call in choice.message.tool_calls] == calls

    def test_replies_come_in_turn_or_from_a_function(self, server):
        server.set_reply(["a", "b"])
        assert [said(server.url) for _ in range(3)] == ["a", "b", "a"]
        server.set_reply(lambda body: body["messages"][-1]["content"].upper())
        assert said(server.url) == "HELLO"

    def test_the_tokens_of_a_longer_chat_begin_with_those_of_the_shorter(self, server):
        first = ask(server.url, {"return_token_ids": True}).content
        longer = [*HELLO, first["choices"][0]["message"], {"role": "user", "content": "more"}]
        second = ask(server.url, {"return_token_ids": True, "messages": longer}).content
        seen = first["prompt_token_ids"] + first["choices"][0]["token_ids"]
        assert second["prompt_token_ids"][: len(seen)] == seen

    def test_unknown_paths_are_not_found(self, server):
        assert ask(server.url, path="/embeddings").status == 404


class TestFaults:
    @pytest.mark.parametrize("status", ["400", "401", "404", "429", "500", "503"])
    def test_each_listed_status_comes_once(self, server, status):
        server.set_faults([status, None])
        assert [ask(server.url).status for _ in range(2)] == [int(status), 200]

    def test_a_fault_may_have_retry_after_as_seconds_or_a_date(self, server):
        server.set_faults(["429:7", "503:date"])
        first, second = ask(server.url), ask(server.url)
        assert first.headers["retry-after"] == "7"
        date = email.utils.parsedate_to_datetime(second.headers["retry-after"])
        assert abs(date.timestamp() - time.time()) < 60

    def test_a_fault_may_break_the_connection(self, server):
        server.set_faults(["cut", "cut-body"])
        with pytest.raises(ConnectionError):
            ask(server.url)
        with pytest.raises(http.client.IncompleteRead):
            ask(server.url)
        assert said(server.url) == "ok"

    @pytest.mark.slow
    @pytest.mark.parametrize("fault", ["hang", "slow:5", "slow-body:5"])
    def test_a_slow_answer_does_not_come_in_time(self, server, fault):
        server.set_faults([fault])
        with pytest.raises(TimeoutError):
            ask(server.url, timeout=0.2)

    def test_a_slow_answer_arrives_in_the_end(self, server):
        server.set_faults(["slow:0.01", "slow-body:0.01"])
        assert [said(server.url) for _ in range(2)] == ["ok", "ok"]

    def test_malformed_answers_are_not_json(self, server):
        server.set_faults(["malformed", "html"])
        for _ in range(2):
            with pytest.raises(json.JSONDecodeError):
                _ = ask(server.url).content

    def test_an_answer_may_lack_a_part(self, server):
        server.set_faults(
            ["no-choices", "no-usage", "null-content", "length", "content-filter", "error", "text"]
        )
        answers = [ask(server.url).content for _ in range(7)]
        assert answers[0]["choices"] == []
        assert "usage" not in answers[1]
        assert answers[2]["choices"][0]["message"]["content"] is None
        assert answers[3]["choices"][0]["finish_reason"] == "length"
        assert answers[4]["choices"][0]["finish_reason"] == "content_filter"
        assert "choices" not in answers[5]
        assert answers[6]["choices"][0]["message"]["content"] == "ok"

    def test_shares_of_faults_follow_the_seed(self):
        met = []
        for _ in range(2):
            with EndpointServer(faults={"500": 0.3, "429": 0.2}, seed=5) as server:
                met.append([ask(server.url).status for _ in range(60)])
                assert server.met == {"500": met[-1].count(500), "429": met[-1].count(429)}
        assert met[0] == met[1]
        assert {200, 429, 500} == set(met[0])

    def test_an_unknown_fault_is_an_error(self):
        with pytest.raises(ConfigError, match="no fault 'explode'"):
            EndpointServer(faults=["explode"])


class TestCounters:
    @pytest.mark.slow
    def test_concurrent_calls_are_counted(self, server):
        server.latency = 0.3
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: said(server.url), range(8)))
        assert (server.requests, server.in_flight) == (8, 0)
        assert server.most_in_flight > 1
        assert server.stats()["requests"] == 8

    def test_the_server_keeps_the_bodies_of_requests(self, server):
        said(server.url, temperature=0.5)
        assert server.asked[0]["temperature"] == 0.5
        assert "Content-Type" in server.headers

    @pytest.mark.slow
    def test_a_share_of_calls_takes_longer(self):
        with EndpointServer(tail=(1.0, 5.0)) as server, pytest.raises(TimeoutError):
            ask(server.url, timeout=0.2)

    def test_a_closed_server_refuses_and_may_be_closed_again(self, server):
        server.close()
        with pytest.raises(urllib.error.URLError):
            ask(server.url)


@pytest.mark.slow
def test_the_server_can_run_in_its_own_process():
    arguments = ["--reply", "a", "--reply", "b", "--fault", "429:1=0", "--tail", "0.1:0.01"]
    with serve_in_process(*arguments, "--latency", "0.001") as url:
        assert [said(url) for _ in range(3)] == ["a", "b", "a"]
        with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as answer:  # noqa: S310
            assert json.load(answer)["requests"] == 3
    with pytest.raises(urllib.error.URLError):
        ask(url)
