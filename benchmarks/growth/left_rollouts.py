"""Rollouts that are left after their first trajectory."""

import asyncio
import time

from gem_core import BaseAgent, BaseEnv, Info, Observation, Step
from gem_rollout import collect

__all__ = ["GROWTH", "SIZES", "TITLE", "UNIT", "measure"]

SIZES = (50, 200, 800)
UNIT = "ms of CPU"
TITLE = "leaving n rollouts at their first trajectory, until all environments are closed"
GROWTH = 1


class _Open(BaseEnv):
    count = 0

    def __init__(self) -> None:
        _Open.count += 1

    def start(self) -> tuple[str, Info]:
        return "", {}

    def step(self, action: object) -> Step:
        return Step("", 1.0, True, False, {})

    def close(self) -> None:
        _Open.count -= 1


class _Waits(BaseAgent):
    async def act(self, observation: Observation, info: Info) -> str:
        await asyncio.sleep(0)
        return ""


def measure(size: int) -> float:
    """Return the milliseconds of CPU of ``for ... in collect(...): break``, ``size`` times."""
    started = time.process_time()
    for _ in range(size):
        for _ in collect(_Open, _Waits, episodes=99):
            break
    while _Open.count:
        time.sleep(0.001)
    return (time.process_time() - started) * 1000
