"""The limit: asyncio tasks with aiohttp on uvloop; nothing is scored or stored."""

import asyncio
from collections.abc import Iterator

import aiohttp
import orjson
import uvloop

from rollouts.workload import Message, Workload, message

__all__ = ["play"]

_HEADERS = {"Content-Type": "application/json"}


def play(workload: Workload) -> None:
    """Play the episodes."""
    uvloop.run(_play(workload))


async def _play(workload: Workload) -> None:
    numbers = iter(range(workload.episodes))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        workers = (_worker(workload, session, numbers) for _ in range(workload.concurrency))
        await asyncio.gather(*workers)


async def _worker(
    workload: Workload, session: aiohttp.ClientSession, numbers: Iterator[int]
) -> None:
    url = f"{workload.url}/chat/completions"
    for number in numbers:
        messages: list[Message] = []
        turns = workload.turns_of(number)
        for turn in range(1, turns + 1):
            messages.append({"role": "user", "content": message(number, turn, turns)})
            data = orjson.dumps({"model": "scripted", "messages": messages})
            async with session.post(url, data=data, headers=_HEADERS) as response:
                answer = orjson.loads(await response.read())
            messages.append(answer["choices"][0]["message"])
