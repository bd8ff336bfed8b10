"""Size on disk of an episode whose observations have the whole history."""

import itertools
import tempfile
from pathlib import Path

from gem_core.agent import BaseAgent
from gem_core.env import BaseEnv, Step
from gem_core.observation import Action, Info, Observation
from gem_core.wrappers import HistoryWrapper
from gem_rollout import Trajectory, TrajectoryFile, play_episode

__all__ = ["SIZES", "TITLE", "UNIT", "measure", "played"]

SIZES = (312, 1_250, 5_000)
UNIT = "MiB"
TITLE = "size on disk of an episode of n turns of 65 characters with `concat_with_action`"
_MIB = 2**20


class _Numbers(BaseEnv):
    """Says 65 characters in each turn, and ends after a number of turns."""

    def __init__(self, turns: int) -> None:
        self.turns = turns

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return self._said(), {}

    def step(self, action: Action) -> Step:
        self.turn += 1
        return Step(self._said(), 0.0, self.turn == self.turns, False, {})

    def _said(self) -> str:
        return f"After {self.turn:05} turns the number is still not the one you named."


class _Guesser(BaseAgent):
    """Names one number after the other."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def act(self, observation: Observation, info: Info) -> Action:
        return f"I name number {next(self._numbers):06}."


def played(turns: int) -> Trajectory:
    """Return an episode of this many turns, whose observations have the history."""
    env = HistoryWrapper(_Numbers(turns), include_action=True)
    found: Trajectory = play_episode(env, _Guesser(), seed=0)
    return found


def measure(size: int) -> float:
    """Return the size of the file of an episode of ``size`` turns in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trajectories.jsonl"
        with TrajectoryFile(path) as file:
            file.append(played(size))
        return path.stat().st_size / _MIB
