"""What the gateway adds to a call of a program that sends its whole chat each time."""

import asyncio
import copy
import time
from collections.abc import AsyncIterator

from gem_serve.gateway.answers import Piece
from gem_serve.gateway.episode import EpisodeOptions, ProgramEpisode
from gem_serve.gateway.events import Ask, Finish, Message, Text

__all__ = ["SIZES", "TITLE", "UNIT", "measure"]

SIZES = (100, 400, 1600)
UNIT = "ms"
TITLE = "a call in an episode of the gateway after n calls"

_REPEATS, _CALLS, _NEW = 3, 16, 30


def measure(size: int) -> float:
    """Return the milliseconds of a call after ``size`` calls; the least mean of a few."""
    return asyncio.run(_measure(size))


async def _measure(size: int) -> float:
    episode = ProgramEpisode.create(EpisodeOptions(), None)
    messages: list[Message] = []
    ids: list[int] = []
    seconds = []
    for number in range(size + _REPEATS * _CALLS):
        messages.append({"role": "user", "content": f"Turn {number}: there is a door."})
        ids += range(_NEW)
        ask, prompt = Ask(messages=copy.deepcopy(messages)), [*ids]
        start = time.perf_counter()
        call, _ = episode.open_call(ask, "chat", str(number), is_retry=False)
        reply = Piece([Text(f"I open it {number}."), Finish("stop", len(ids), 1)], [number], [-1.0])
        await call.run(_pieces(reply._replace(prompt_ids=prompt)))
        episode.finish(call)
        call.conclude()
        seconds.append(time.perf_counter() - start)
        messages.append(call.record.reply)
        ids += call.record.ids
    ends = range(size, len(seconds), _CALLS)
    return min(sum(seconds[at : at + _CALLS]) / _CALLS for at in ends) * 1e3


async def _pieces(*pieces: Piece) -> AsyncIterator[Piece]:
    for piece in pieces:
        yield piece
