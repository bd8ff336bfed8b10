"""inspect-ai: a task whose solver takes the turns; with its own scores and logs."""
# mypy: ignore-errors
# inspect-ai is not installed where mypy runs.

from typing import Any

from inspect_ai import Task, eval_set
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, get_model
from inspect_ai.scorer import exact
from inspect_ai.solver import solver

from rollouts.workload import REPLY, Workload, message

__all__ = ["play"]


@solver
def _talk() -> Any:
    async def solve(state: Any, generate: Any) -> Any:
        number, turns = state.metadata["number"], state.metadata["turns"]
        for turn in range(1, turns + 1):
            if turn > 1:
                state.messages.append(ChatMessageUser(content=message(number, turn, turns)))
            state = await generate(state)
        return state

    return solve


def play(workload: Workload) -> None:
    """Play the episodes; a set of evaluations resumes from its log."""
    samples = [
        Sample(
            id=number,
            input=message(number, 1, turns),
            target=REPLY,
            metadata={"number": number, "turns": turns},
        )
        for number in range(workload.episodes)
        for turns in [workload.turns_of(number)]
    ]
    eval_set(
        Task(name="talk", dataset=MemoryDataset(samples), solver=_talk(), scorer=exact()),
        model=get_model(
            "openai/scripted", base_url=workload.url, api_key="any", responses_api=False
        ),
        max_connections=workload.concurrency,
        max_samples=workload.concurrency,
        log_dir=str(workload.out),
        display="none",
    )
