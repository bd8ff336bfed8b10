"""gem-core: ``collect`` with the agent ``openai``; trajectories are scored and stored."""

from typing import Any

from gem_agents.openai import OpenAIAgent
from gem_core import BaseEnv, Step
from gem_rollout import TrajectoryFile, collect
from gem_rollout.records.store import read_keys
from rollouts.workload import REPLY, Workload, message

__all__ = ["play"]

_FILE = "trajectories.jsonl"


class _Talk(BaseEnv):
    """Says which turn it is, and rewards what was to be said."""

    def __init__(self, workload: Workload) -> None:
        self._turns_of = workload.turns_of

    def reset_options(self, number: int, seed: int | None = None) -> dict[str, Any]:
        return {"number": number}

    def start(self, number: int = 0) -> tuple[str, dict[str, Any]]:
        self._number, self._turn, self._turns = number, 1, self._turns_of(number)
        return message(number, 1, self._turns), {}

    def step(self, action: Any) -> Step:
        correct, ends = action == REPLY, self._turn == self._turns
        self._turn += 1
        text = "" if ends else message(self._number, self._turn, self._turns)
        return Step(text, float(correct), ends, False, {"correct": correct})


def play(workload: Workload) -> None:
    """Play the episodes that the file of trajectories does not hold yet."""
    path = workload.out / _FILE
    known = {key.index for key in read_keys(path)} if path.exists() else set()
    rollout = collect(
        lambda: _Talk(workload),
        lambda: OpenAIAgent(model="scripted", base_url=workload.url),
        episodes=(number for number in range(workload.episodes) if number not in known),
        concurrency=workload.concurrency,
    )
    with TrajectoryFile(path) as file:
        for trajectory in rollout:
            file.append(trajectory)
