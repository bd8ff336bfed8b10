"""A turn of a token session, after some number of turns."""

import asyncio
import time

from gem_core.env import BaseEnv, Step
from gem_core.observation import Action, Info
from gem_rollout import TokenSession
from gem_rollout.models.tiny_model import make_tiny_tokenizer

__all__ = ["GROWTH", "SIZES", "TITLE", "UNIT", "measure"]

SIZES = (100, 400, 1600)
UNIT = "ms"
TITLE = "a turn of a token session after n turns"
GROWTH = 0.25  # a copy of the token ids

_REPEATS, _TURNS = 3, 16


class _Rooms(BaseEnv):
    """Shows the same line after each action, and never ends."""

    def start(self) -> tuple[str, Info]:
        return "You are in a house with many rooms.", {}

    def step(self, action: Action) -> Step:
        return Step("There is a door to the north. Nothing happens.", 0.0, False, False, {})


def measure(size: int) -> float:
    """Return the milliseconds of a turn after ``size`` turns; the least mean of a few."""
    return asyncio.run(_measure(size))


async def _measure(size: int) -> float:
    tokenizer = make_tiny_tokenizer()
    session = TokenSession(_Rooms(), tokenizer, seed=0, logprobs="optional")
    reply = [*tokenizer.encode("open the door"), tokenizer.eos_token_id]
    await session.begin()
    for _ in range(size):
        await session.feed(reply)
    means = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        for _ in range(_TURNS):
            await session.feed(reply)
        means.append((time.perf_counter() - start) / _TURNS)
    await session.aclose()
    return min(means) * 1e3
