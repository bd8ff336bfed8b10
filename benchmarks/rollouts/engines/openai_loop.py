"""Asyncio tasks with the openai SDK; nothing is scored or stored."""

import asyncio
from collections.abc import Iterator

import openai

from rollouts.workload import Message, Workload, message

__all__ = ["play"]


def play(workload: Workload) -> None:
    """Play the episodes."""
    asyncio.run(_play(workload))


async def _play(workload: Workload) -> None:
    numbers = iter(range(workload.episodes))
    async with openai.AsyncOpenAI(base_url=workload.url, api_key="any", timeout=600) as client:
        workers = (_worker(workload, client, numbers) for _ in range(workload.concurrency))
        await asyncio.gather(*workers)


async def _worker(workload: Workload, client: openai.AsyncOpenAI, numbers: Iterator[int]) -> None:
    for number in numbers:
        messages: list[Message] = []
        turns = workload.turns_of(number)
        for turn in range(1, turns + 1):
            messages.append({"role": "user", "content": message(number, turn, turns)})
            answer = await client.chat.completions.create(model="scripted", messages=messages)  # type: ignore[arg-type]
            said = answer.choices[0].message.content
            messages.append({"role": "assistant", "content": said})
