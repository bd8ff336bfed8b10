"""The environments of the suite: a snapshot of a chosen size, and a step of a chosen time."""

import random
import time
from typing import Any

from gem_core import Action, BaseEnv, Info, Observation, Step

__all__ = ["Drawing", "Sized"]


class Drawing(BaseEnv):
    """An environment whose step waits, and draws what it says.

    Args:
        kilobytes: Size of the snapshot, in 1,000 bytes; the random generator has 4.
        seconds: How long a step waits.
        turns: Turns of an episode.
    """

    def __init__(self, *, kilobytes: float = 0.4, seconds: float = 0.0, turns: int = 10) -> None:
        super().__init__()
        self.seconds = seconds
        self.turns = turns
        self.turn = 0
        self.state = b""
        least = len(self.snapshot())
        self.state = random.Random(0).randbytes(max(0, int(1000 * kilobytes) - least))

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return f"start {self.rng.random()}", {}

    def sample_random_action(self) -> Action:
        return f"{self.action_rng.random()}"

    def step(self, action: Action) -> Step:
        if self.seconds:
            time.sleep(self.seconds)
        self.turn += 1
        observation = f"{action} {self.rng.random()}"
        return Step(observation, self.rng.random(), self.turn >= self.turns, False, {})


class Sized(Drawing):
    """The same with a snapshot of exactly the size: its random generator is left out."""

    def get_state(self) -> dict[str, Any]:
        return {name: value for name, value in super().get_state().items() if name != "rng"}
