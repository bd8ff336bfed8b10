"""What the gateway holds of an episode whose program sends its whole chat each time."""

import asyncio
import copy
import gc
import tracemalloc
from collections.abc import AsyncIterator

from gem_serve.gateway.answers import Piece
from gem_serve.gateway.episode import EpisodeOptions, ProgramEpisode
from gem_serve.gateway.events import Ask, Finish, Message, Text

__all__ = ["SIZES", "TITLE", "UNIT", "measure"]

SIZES = (50, 200, 800)
UNIT = "MiB"
TITLE = "memory of an episode of the gateway after n calls"

_NEW = 30


def measure(size: int) -> float:
    """Return the MiB of Python objects that an episode of ``size`` calls holds."""
    return asyncio.run(_measure(size))


async def _measure(size: int) -> float:
    episode = ProgramEpisode.create(EpisodeOptions(), None)
    messages: list[Message] = []
    ids: list[int] = []
    tracemalloc.start()
    for number in range(size):
        messages.append({"role": "user", "content": f"Turn {number}: there is a door."})
        ids += range(_NEW)
        ask, prompt = Ask(messages=copy.deepcopy(messages)), [*ids]
        call, _ = episode.open_call(ask, "chat", str(number), is_retry=False)
        reply = Piece([Text(f"I open it {number}."), Finish("stop", len(ids), 1)], [number], [-1.0])
        await call.run(_pieces(reply._replace(prompt_ids=prompt)))
        episode.finish(call)
        call.conclude()
        messages.append(call.record.reply)
        ids += call.record.ids
    del ask, prompt, call
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / 2**20


async def _pieces(*pieces: Piece) -> AsyncIterator[Piece]:
    for piece in pieces:
        yield piece
