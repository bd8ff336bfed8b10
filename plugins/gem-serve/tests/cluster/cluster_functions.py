"""Functions and an environment for the actors of the tests, which find this file by its name."""

import os
import time
from pathlib import Path

import ray

from gem_core import Action, BaseEnv, Info, Observation, Step

__all__ = ["Acts", "node", "wait_for"]


def node() -> str:
    """Return Ray's id of the node where this is called."""
    return str(ray.get_runtime_context().get_node_id())


def wait_for(path: str) -> str:
    """Wait until a file is there, and return the node."""
    while not Path(path).exists():
        time.sleep(0.01)
    return node()


class Acts(BaseEnv):
    """Does what an action says; an episode has three turns."""

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return f"start {self.rng.random()}", {}

    def step(self, action: Action) -> Step:
        self.turn += 1
        if action == "hang":
            time.sleep(3600)
        if action == "die":
            os._exit(3)
        return Step(f"{self.turn} {self.rng.random()}", 1.0, self.turn == 3, False, {})
