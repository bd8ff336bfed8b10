"""The first request of the agent ``openai`` before a run, to a scripted endpoint."""

import asyncio

import pytest

from gem_agents.errors import (
    AccessError,
    BadRequestError,
    MalformedReplyError,
    UnknownModelError,
    UnreachableError,
)
from gem_agents.openai import OpenAIAgent
from gem_agents.testing.endpoint_server import EndpointServer
from gem_core.agent import Preflight


@pytest.fixture
def server():
    with EndpointServer("Good.") as server:
        yield server


def check(server, *, then_act=False, **options):
    """Check an agent with one prompt, and return the result."""

    async def run():
        agent = OpenAIAgent(**{"model": "scripted", "base_url": server.url, **options})
        try:
            found = await agent.preflight("Say OK.", {})
            if then_act:
                await agent.act("Begin.", {})
            return found
        finally:
            agent.close()

    return asyncio.run(run())


def test_it_asks_for_one_token_and_leaves_the_agent_as_it_was(server):
    found = check(server, then_act=True, max_tokens=300, temperature=0.5, system="Be brief.")
    first, second = server.asked
    assert (first["max_tokens"], second["max_tokens"]) == (1, 300)
    assert [one["content"] for one in first["messages"]] == ["Be brief.", "Say OK."]
    assert [one["content"] for one in second["messages"]] == ["Be brief.", "Begin."]
    assert first["temperature"] == 0.5
    assert (found.reply_tokens, found.problem) == (300, "")


def test_the_completions_api_and_the_newer_limit_have_one_token_too(server):
    check(server, api="completions")
    check(server, extra_body={"max_completion_tokens": 50})
    completion, chat = server.asked
    assert (completion["prompt"], completion["max_tokens"]) == ("Say OK.\n", 1)
    assert (chat["max_completion_tokens"], "max_tokens" in chat) == (1, False)


def test_an_endpoint_that_refuses_one_token_is_asked_as_in_an_episode(server):
    server.set_faults(["400"])
    assert check(server, max_tokens=300).problem == ""
    assert [one["max_tokens"] for one in server.asked] == [1, 300]
    server.set_faults(["400", "400"])
    with pytest.raises(BadRequestError):
        check(server)


def test_the_context_is_that_of_the_list_of_models(server):
    assert check(server).context is None
    server.context = 40
    assert check(server) == Preflight(prompt_tokens=check(server).prompt_tokens, context=40)
    assert check(server).fits
    assert not check(server, max_tokens=20).fits
    assert check(server, model="another").context is None
    server.context = 0  # it does not know
    assert check(server).context is None


@pytest.mark.parametrize(
    ("fault", "model", "error", "advice"),
    [
        ("401", "scripted", AccessError, "Set the key in MY_KEY"),
        ("402", "scripted", AccessError, "the account has no credit left"),
        ("403", "scripted", AccessError, "Set the key in MY_KEY"),
        ("404", "other", UnknownModelError, "It serves scripted: change model."),
        ("html", "scripted", MalformedReplyError, "Check base_url, which includes the path"),
    ],
)
def test_an_error_says_what_to_change(server, fault, model, error, advice):
    server.set_faults({fault: 1.0})
    with pytest.raises(error, match=advice):
        check(server, model=model, api_key_env="MY_KEY")
    assert server.requests <= 3


def test_a_dead_port_is_refused_at_the_first_attempt(server):
    server.close()
    with pytest.raises(UnreachableError, match=r"check base_url.*attempts: 1,"):
        check(server)


@pytest.mark.parametrize("fault", ["429:60", "503:60", "500", "slow:30"])
def test_a_busy_endpoint_is_a_problem_and_no_error(server, fault):
    server.set_faults({fault: 1.0})
    assert server.url in check(server, timeout=0.2).problem
    assert server.requests <= 3
