"""Many programs at the same time."""

import asyncio
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest
from selection import thorough

from gem_serve.gateway.testing.checks import differences

CONNECTIONS = 512 if thorough() else 136
"""More than clients of HTTP allow by default, and than the kernel keeps waiting by default."""


@pytest.mark.slow
def test_hundreds_of_streams_are_open_at_the_same_time_and_each_gets_its_own_reply(
    start_engine: Callable[..., Any], start_gateway: Callable[..., Any]
) -> None:
    engine = start_engine(
        script=lambda prompt: prompt.partition("number ")[2].partition("<|")[0] + " some words",
        chunk=8,
    )
    gateway = start_gateway(engine.url)
    engine.held.clear()
    episodes = [gateway.admin.create(index=number) for number in range(8)]

    async def ask(session: aiohttp.ClientSession, number: int, begun: list[int]) -> str:
        messages = [{"role": "user", "content": f"This is number {number}"}]
        body = {"model": "m", "messages": messages, "stream": True}
        url = f"{episodes[number % 8].openai_url}/chat/completions"
        async with session.post(url, json=body) as response:
            first = await response.content.readany()
            begun.append(number)
            if len(begun) == CONNECTIONS:  # every stream is open
                engine.held.set()
            return (first + await response.content.read()).decode()

    async def play() -> list[str]:
        begun: list[int] = []
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            return await asyncio.gather(
                *(ask(session, number, begun) for number in range(CONNECTIONS))
            )

    texts = asyncio.run(play())
    assert all(text.endswith("data: [DONE]\n\n") for text in texts)
    trajectories = [gateway.admin.close(one.episode) for one in episodes]
    assert differences(trajectories, engine.log) == []
    assert len(engine.log) == CONNECTIONS
