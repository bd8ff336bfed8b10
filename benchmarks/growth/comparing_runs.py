"""Time to compare two runs, from their files to the tests."""

import random
import tempfile
import time
from pathlib import Path

from gem_core.agent import Generation
from gem_eval.compare import Options, candidates_of, compare
from gem_rollout import Trajectory, TrajectoryFile, Turn

__all__ = ["SIZES", "TITLE", "UNIT", "measure"]

SIZES = (3_125, 12_500, 50_000)
UNIT = "s"
TITLE = "time of `gem-core compare` of two runs of n episodes of 3 turns"


def measure(size: int) -> float:
    """Return the CPU time to compare two runs of ``size`` episodes, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(_written(Path(folder), agent, size)) for agent in ("a", "b")]
        start = time.process_time()
        compare(candidates_of(paths), Options())
        return time.process_time() - start


def _written(folder: Path, agent: str, size: int) -> Path:
    path = folder / f"{agent}.jsonl"
    with TrajectoryFile(path) as file:
        for group in range(size):
            file.append(_episode(agent, group))
    return path


def _episode(agent: str, group: int) -> Trajectory:
    made = Generation(prompt_tokens=500, completion_tokens=60, model_seconds=0.8)
    rng = random.Random(f"{agent} {group}")
    rewards = [rng.random() / 3 for _ in range(3)]
    turns = [
        Turn(
            agent, "A number is wanted. " * 10, "It is 7.", reward, turn == 2, False, {}, 1, 0, made
        )
        for turn, reward in enumerate(rewards)
    ]
    episode = Trajectory("x:Numbers", agent, group, group, turns)
    episode.group, episode.success = group, sum(rewards) > 0.5
    return episode
