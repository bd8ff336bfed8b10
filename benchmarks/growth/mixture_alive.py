"""Environments that a mixture holds."""

from gem_core import BaseEnv, Info, Step
from gem_core.agent import SilentAgent
from gem_rollout import Component, collect

__all__ = ["GROWTH", "SIZES", "TITLE", "UNIT", "measure"]

SIZES = (100, 400, 1600)
UNIT = "environments"
TITLE = "environments alive at the same time in a mixture of n components, concurrency 16"
GROWTH = 0


class _Counted(BaseEnv):
    alive = most = 0

    def __init__(self) -> None:
        _Counted.alive += 1
        _Counted.most = max(_Counted.most, _Counted.alive)

    def start(self) -> tuple[str, Info]:
        return "", {}

    def step(self, action: object) -> Step:
        return Step("", 1.0, True, False, {})

    def close(self) -> None:
        _Counted.alive -= 1


def measure(size: int) -> float:
    """Return the largest number of environments that were open at the same time."""
    components = {f"component {number}": Component(_Counted) for number in range(size)}
    numbers = [(name, 0) for name in components]
    for _ in collect(components, SilentAgent, episodes=numbers, concurrency=16):
        pass
    return _Counted.most
