"""The outcomes of episodes of the oracle, for the commands ``gem-core tau``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gem_core.env import Env
from gem_core.errors import ConfigError
from gem_core.factory import EnvFactory
from gem_core.seeding import child_seed
from gem_rollout import Trajectory
from gem_rollout.multi_agent.agent_view import AgentView
from gem_rollout.records.failures import Failure
from gem_tau.dialogue import ASSISTANT, DialogueEnv
from gem_tau.missing import missing_text
from gem_tau.sources import ListedTasks
from gem_tau.task import DialogueTask

__all__ = ["Outcome", "dialogue_of", "first_tasks", "outcome_of", "task_count"]

_MOST_CHARACTERS = 300
_ENDLESS = 200
"""The number of tasks that stand for an endless source."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of an episode of the oracle.

    Args:
        task: The id of the task; empty if the episode has none, as it did not start.
        group: The number of the start state.
        sample: The number of the episode among those of the task.
        seed: The seed of the reset.
        state: ``paid``; ``failed`` if the reward was below 1; ``fault`` after an error.
        ended_by: Who ended the dialogue, or the limit that it reached.
        reason: What was missing, or the error; empty if it was paid.
        last_message: The last message of the user.
    """

    task: str
    group: int
    sample: int
    seed: int
    state: Literal["paid", "failed", "fault"]
    ended_by: str
    reason: str
    last_message: str


def dialogue_of(env: Env, name: str) -> DialogueEnv:
    """Return the dialogue inside an environment whose seat is the assistant's.

    Args:
        env: The environment.
        name: Its name, for messages.

    Raises:
        ConfigError: It is another environment, or its seat is the user's.
    """
    view = env.unwrapped
    dialogue = view.env if isinstance(view, AgentView) else None
    if not isinstance(view, AgentView) or not isinstance(dialogue, DialogueEnv):
        raise ConfigError(
            f"{name} is not a dialogue over a database. 'gem-core list tau:' shows those."
        )
    if view.agent != ASSISTANT:
        raise ConfigError(f"{name}: the oracle plays the assistant, so leave out env.seat=user.")
    return dialogue


def task_count(dialogue: DialogueEnv, asked: int | None) -> int:
    """Return the number of tasks to play: those asked for, or all; 200 of an endless source."""
    if not isinstance(dialogue.source, ListedTasks):
        return asked or _ENDLESS
    count = len(dialogue.source.tasks)
    return min(asked or count, count)


def first_tasks(factory: EnvFactory, count: int, seed: int) -> list[DialogueTask]:
    """Return the tasks of the first groups of a run with a seed, in the order of their numbers."""
    env = factory()
    found = {}
    try:
        dialogue = dialogue_of(env, factory.spec.id)
        for number in range(count):
            options = dialogue.reset_options(number, seed)
            dialogue.reset(seed=child_seed(seed, number), **options)
            found[options.get("idx", number)] = dialogue.running_task
    finally:
        env.close()
    return [found[number] for number in sorted(found)]


def outcome_of(trajectory: Trajectory) -> Outcome:
    """Return the outcome of an episode."""
    info: Mapping[str, Any] = trajectory.turns[-1].info if trajectory.turns else {}
    failure = Failure.of(trajectory.error)
    is_paid = failure is None and trajectory.episode_return >= 1
    reason = "" if is_paid else _missing(info)
    if failure is not None:
        reason = f"{failure.boundary} ({failure.kind}): {failure.message}"
    return Outcome(
        task=trajectory.task_id or "",
        group=trajectory.group,
        sample=trajectory.sample,
        seed=trajectory.seed,
        state="fault" if failure else "paid" if is_paid else "failed",
        ended_by=str(info.get("ended_by", "")),
        reason=reason[:_MOST_CHARACTERS],
        last_message=_last_message(trajectory)[:_MOST_CHARACTERS],
    )


def _missing(info: Mapping[str, Any]) -> str:
    if limit := info.get("truncated_by"):
        return f"the dialogue reached {limit}"
    return missing_text(info.get("reward_details") or {})


def _last_message(trajectory: Trajectory) -> str:
    """Return the last message that is not empty; an observation after calls is their output."""
    seen = [(turn.observation, turn.info) for turn in trajectory.turns]
    before: Mapping[str, Any] = {}
    said = ""
    for observation, info in [*seen, (trajectory.final_observation, {})]:
        if not before.get("tool_calls"):
            said = str(observation) or said
        before = info
    return said
