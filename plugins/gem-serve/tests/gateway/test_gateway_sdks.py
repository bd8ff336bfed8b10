"""Programs on the SDKs of others, unchanged, play episodes through the gateway.

``make test-gateway-sdks`` installs all of them in an environment of its own and plays 204 episodes.
"""

import json
import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from gem_rollout import training_rows
from gem_serve.gateway.testing.checks import differences

EPISODES = int(os.environ.get("GEM_TEST_SDK_EPISODES", "0"))
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
NUMBERS = {mode: range(EPISODES) or [at] for mode, at in (("engine", 2), ("continue", 3))}
"""The numbers of the episodes in each mode; programs stream in those with odd numbers."""


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def task_of(number: int) -> str:
    return "What is " + " + ".join(str(one) for one in range(number % 4 + 1)) + "?"


def openai_chat(episode: Any, number: int) -> str:
    import openai

    function = {"name": "add", "description": "Add.", "parameters": SCHEMA}
    messages: list[Any] = [{"role": "user", "content": task_of(number)}]
    with openai.OpenAI(base_url=episode.openai_url, api_key=episode.key) as client:
        while True:
            asked = {
                "model": "policy",
                "messages": messages,
                "tools": [{"type": "function", "function": function}],
            }
            if number % 2:
                with client.chat.completions.stream(**asked) as stream:
                    message = stream.get_final_completion().choices[0].message
            else:
                message = client.chat.completions.create(**asked).choices[0].message
            messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
            for call in message.tool_calls or ():
                given = json.loads(call.function.arguments)
                result = {"role": "tool", "tool_call_id": call.id, "content": str(add(**given))}
                messages.append(result)
            if not message.tool_calls:
                return message.content


def openai_responses(episode: Any, number: int) -> str:
    import openai

    tool = {"type": "function", "name": "add", "description": "Add.", "parameters": SCHEMA}
    items: list[Any] = [{"role": "user", "content": task_of(number)}]
    with openai.OpenAI(base_url=episode.openai_url, api_key=episode.key) as client:
        while True:
            asked: dict[str, Any] = {"model": "policy", "input": items, "tools": [tool]}
            if number % 2:
                with client.responses.stream(**asked) as stream:
                    response = stream.get_final_response()
            else:
                response = client.responses.create(**asked)
            items += [one.model_dump(exclude_none=True) for one in response.output]
            calls = [one for one in response.output if one.type == "function_call"]
            for call in calls:
                output = str(add(**json.loads(call.arguments)))
                items.append(
                    {"type": "function_call_output", "call_id": call.call_id, "output": output}
                )
            if not calls:
                return response.output_text


def anthropic_messages(episode: Any, number: int) -> str:
    import anthropic

    tool = {"name": "add", "description": "Add.", "input_schema": SCHEMA}
    messages: list[Any] = [{"role": "user", "content": task_of(number)}]
    with anthropic.Anthropic(base_url=episode.url, api_key=episode.key) as client:
        while True:
            asked: dict[str, Any] = {
                "model": "policy",
                "max_tokens": 1000,
                "messages": messages,
                "tools": [tool],
            }
            if number % 2:
                with client.messages.stream(**asked) as stream:
                    message = stream.get_final_message()
            else:
                message = client.messages.create(**asked)
            content = [one.model_dump(exclude_none=True) for one in message.content]
            messages.append({"role": "assistant", "content": content})
            calls = [one for one in message.content if one.type == "tool_use"]
            results = [
                {"type": "tool_result", "tool_use_id": one.id, "content": str(add(**one.input))}
                for one in calls
            ]
            if not calls:
                return "".join(one.text for one in message.content if one.type == "text")
            messages.append({"role": "user", "content": results})


def openai_agents(episode: Any, number: int) -> str:
    import agents
    import openai

    agents.set_tracing_disabled(disabled=True)
    client = openai.AsyncOpenAI(base_url=episode.openai_url, api_key=episode.key)
    kind = agents.OpenAIResponsesModel if number % 2 else agents.OpenAIChatCompletionsModel
    model = kind(model="policy", openai_client=client)
    agent = agents.Agent(
        name="adder", instructions="Add.", model=model, tools=[agents.function_tool(add)]
    )
    return agents.Runner.run_sync(agent, task_of(number)).final_output


def langgraph_agent(episode: Any, number: int) -> str:
    from langchain_openai import ChatOpenAI
    from langgraph.prebuilt import create_react_agent

    model = ChatOpenAI(
        base_url=episode.openai_url, api_key=episode.key, model="policy", streaming=number % 2 == 1
    )
    agent = create_react_agent(model, [add])
    found = agent.invoke({"messages": [("user", task_of(number))]})
    return found["messages"][-1].content


def pydantic_agent(episode: Any, number: int) -> str:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=episode.openai_url, api_key=episode.key)
    agent = Agent(OpenAIChatModel("policy", provider=provider), tools=[add])
    return agent.run_sync(task_of(number)).output


PACKAGES: dict[Callable[[Any, int], str], str] = {
    openai_chat: "openai",
    openai_responses: "openai",
    anthropic_messages: "anthropic",
    openai_agents: "agents",
    langgraph_agent: "langgraph",
    pydantic_agent: "pydantic_ai",
}
PROGRAMS = [
    pytest.param(
        program,
        id=program.__name__,
        marks=pytest.mark.skipif(not find_spec(package), reason=f"{package} is not installed"),
    )
    for program, package in PACKAGES.items()
]


@pytest.mark.slow
@pytest.mark.parametrize("mode", NUMBERS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_an_unchanged_program_samples_is_recorded_token_by_token(
    program: Callable[[Any, int], str],
    mode: str,
    start_engine: Callable[..., Any],
    start_gateway: Callable[..., Any],
) -> None:
    engine = start_engine(chunk=3)
    gateway = start_gateway(engine.url)
    trajectories = []
    for number in NUMBERS[mode]:
        episode = gateway.admin.create(mode=mode, seed=number, index=number)
        answer = program(episode, number)
        assert "is known." in answer
        assert gateway.admin.status(episode.episode)["calls"]["refused"] == 0
        trajectories.append(gateway.admin.close(episode.episode, reward=1.0))
    assert differences(trajectories, engine.log) == []
    rows = [training_rows(one, one_sequence="split") for one in trajectories]
    sampled = sum(len(one.ids) for one in engine.log)
    assert sum(sum(row.mask) for one in rows for row in one) == sampled
    assert all(one.turns[-1].reward == 1.0 for one in trajectories)
    if mode == "continue":
        assert [len(one) for one in rows] == [1] * len(rows)
