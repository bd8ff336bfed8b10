"""A turn of an environment that shows the history as text, after some number of turns."""

import time

from gem_core.env import BaseEnv, Step
from gem_core.observation import Action, Info
from gem_core.wrappers import HistoryWrapper

__all__ = ["GROWTH", "SIZES", "TITLE", "UNIT", "measure"]

SIZES = (400, 1600, 6400)
UNIT = "µs"
TITLE = "a turn with `concat_with_action` after n turns"
GROWTH = 0.5  # a copy of the text

_REPEATS, _TURNS = 5, 20


class _Rooms(BaseEnv):
    """Shows the same line after each action, and never ends."""

    def start(self) -> tuple[str, Info]:
        return "You are in a house with many rooms.", {}

    def step(self, action: Action) -> Step:
        return Step("There is a door to the north. Nothing happens.", 0.0, False, False, {})


def measure(size: int) -> float:
    """Return the microseconds of a turn after ``size`` turns; the least mean of a few."""
    env = HistoryWrapper(_Rooms(), include_action=True)
    env.reset(seed=0)
    for _ in range(size):
        env.step("open the door")
    means = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        for _ in range(_TURNS):
            env.step("open the door")
        means.append((time.perf_counter() - start) / _TURNS)
    return min(means) * 1e6
