"""Connections and models of agents: closes, forks, exits."""

import asyncio
import subprocess
import sys

import pytest
from forks import in_fork

import gem_core
from gem_agents.openai import OpenAIAgent
from gem_agents.testing.endpoint_server import EndpointServer
from gem_core.errors import ClosedError, ForkError

GAME = "game:GuessTheNumber-v0-easy"
SECONDS = 30


@pytest.fixture
def server():
    with EndpointServer() as server:
        yield server


def agent_of(url):
    agent = OpenAIAgent(model="scripted", base_url=url)
    agent.reset(gem_core.make(GAME))
    return agent


def test_closing_an_agent_ends_its_call_and_leaves_those_of_others_alone(server):
    server.set_faults(["hang"])

    async def run():
        agent, other = agent_of(server.url), agent_of(server.url)
        call = asyncio.create_task(agent.act("a", {}))
        while not server.requests:  # noqa: ASYNC110 - it is counted in another thread
            await asyncio.sleep(0.01)
        await asyncio.to_thread(agent.close)
        agent.close()
        found = [*await asyncio.gather(call, agent.act("a", {}), return_exceptions=True)]
        found.append((await other.act("a", {})).action)
        other.close()
        return found

    ended, refused, action = asyncio.run(asyncio.wait_for(run(), SECONDS))
    assert type(ended) is type(refused) is ClosedError
    assert action == "ok"


PROGRAM = """
import asyncio, gc, os, sys
import gem_core
from gem_agents.openai import OpenAIAgent

agent = OpenAIAgent(model="scripted", base_url=url)
agent.reset(gem_core.make(game))
loop = asyncio.new_event_loop()

def act(): return loop.run_until_complete(agent.act("a", {})).action
def use(): print("use", asyncio.run(agent.act("a", {})).action, flush=True); agent.close()
def close(): agent.close()
def drop():
    global agent
    del agent
    gc.collect()

act()
for work in (use, close, drop, lambda: None):
    child = os.fork()
    if not child:
        work()
        sys.exit()
    print(os.waitpid(child, 0)[1], act(), flush=True)
agent.close()
loop.run_until_complete(asyncio.sleep(0))
loop.close()
"""


@pytest.mark.slow
def test_a_fork_has_its_own_connections_and_leaves_those_of_its_parent_alone(server):
    ran = subprocess.run(
        [sys.executable, "-c", f"url, game = {server.url!r}, {GAME!r}\n{PROGRAM}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout.splitlines() == ["use ok", "0 ok", "0 ok", "0 ok", "0 ok"]
    assert server.connections == 2, "one of the parent, one of the fork that asks"


def test_a_fork_does_not_end_the_server_of_its_parent(server):
    assert in_fork(server.close) == "None"

    async def ask():
        agent = agent_of(server.url)
        action = (await agent.act("a", {})).action
        agent.close()
        return action

    assert asyncio.run(ask()) == "ok"
    server.close()
    server.close()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from gem_rollout.models.tiny_model import save_tiny_model

    return save_tiny_model(tmp_path_factory.mktemp("model") / "tiny")


@pytest.mark.slow
def test_a_local_model_belongs_to_its_process_and_a_fork_loads_its_own(tiny):
    from gem_agents.local_model import load_model
    from gem_rollout.tokens.sampler import Request

    options = {"device": "cpu", "dtype": "auto", "batch_size": 4}
    model = load_model(tiny, **options)

    async def ask(model):
        request = Request(ids=[5, 6, 7], max_new_tokens=2, temperature=0.0, seed=0)
        return (await model.submit(request)).ids

    def use():
        with pytest.raises(ForkError):
            asyncio.run(ask(model))
        return load_model(tiny, **options) is model

    assert load_model(tiny, **options) is model
    assert in_fork(use) == "False"
    assert len(asyncio.run(ask(model))) > 0


@pytest.mark.slow
def test_an_interrupted_step_ends_all_who_wait_and_the_model_goes_on(tiny, monkeypatch):
    from gem_agents.local_model import load_model
    from gem_rollout.tokens.sampler import Request

    model = load_model(tiny, device="cpu", dtype="auto", batch_size=8)

    async def ask():
        request = Request(ids=[5, 6, 7], max_new_tokens=2, temperature=0.0, seed=0)
        return (await model.submit(request)).ids

    def step(*_):
        raise KeyboardInterrupt

    loop = asyncio.new_event_loop()
    expected = loop.run_until_complete(ask())
    task = loop.create_task(ask())
    with monkeypatch.context() as patched:
        patched.setattr("gem_agents.decoder.Decoder.step", step)
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(task)
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(asyncio.wait_for(task, SECONDS))
    assert loop.run_until_complete(asyncio.wait_for(ask(), SECONDS)) == expected
    loop.close()
