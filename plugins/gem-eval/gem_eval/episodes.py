"""A small record of each episode, so that the trajectories of a run need not fit in memory.

The episodes of a *task* answer the same question in the same environment: they have the same id of
a task or, if the environment gives its tasks no ids, the same seed. A *cluster* has the episodes of
all environments that answer the same question.
"""

import functools
import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from gem_core.errors import ConfigError, GemError
from gem_core.plugins import default_registry
from gem_core.specs import ENVS
from gem_rollout import Trajectory
from gem_rollout.records.failures import Failure
from gem_rollout.records.format_errors import BadEnding, bad_ending_of
from gem_rollout.records.reward_parts import reward_parts
from gem_rollout.records.runs import Run
from gem_rollout.records.trajectory import VERSION

__all__ = [
    "Ends",
    "EpisodeRecord",
    "Measure",
    "Task",
    "TaskResult",
    "level_of",
    "range_of_all",
    "return_range_of",
    "run_and_agent",
    "tasks_of",
    "with_task_ids",
]

Task = tuple[str, str | int]
"""An environment, and the id or the seed of a task."""

Ends = tuple[float, float]
"""The smallest and the largest return."""

Measure = Literal["success", "return"]
"""What agents are compared by."""

R = TypeVar("R", bound="TaskResult")

_LEVEL = re.compile(r"-v\d+-(?P<level>.+)$")
FORMAT_ERROR = "format_error"
"""Key of a step's info: true if the action did not have the form that was asked for."""


@dataclass(slots=True)
class TaskResult:
    """The result of one episode: what a comparison needs.

    Args:
        env_id: Name of the environment: that of its component, or else its id.
        agent: Name of the agent.
        group: Index of its task (start state).
        seed: Seed of its task.
        task_id: Id of its task; None if the environment gives it none.
        episode_return: Undiscounted sum of the rewards, to 12 digits after the point.
        success: Whether it succeeded; None if the environment does not say.
        turns: Number of turns.
        has_error: Whether an error ended it.
        opening: Checksum of the first observation.
        return_range: Smallest and largest possible return; None if they are unknown.
    """

    env_id: str
    agent: str
    group: int
    seed: int
    task_id: str | None
    episode_return: float
    success: bool | None
    turns: int
    has_error: bool
    opening: int
    return_range: tuple[float, float] | None

    @property
    def task(self) -> Task:
        """The environment with the id or seed, which episodes of one task share."""
        return self.env_id, self.seed if self.task_id is None else self.task_id

    @property
    def cluster(self) -> Task:
        """The key that episodes of the same question share, in whichever environment."""
        return self.task if self.task_id is None else ("", self.task_id)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> "TaskResult":
        """Return the result in the fields of a trajectory, several times faster than making one.

        Args:
            fields: Those of ``Trajectory.to_dict``.

        Raises:
            ConfigError: They are of a newer version of the format.
            TypeError: A field is missing.
        """
        if fields.get("version") != VERSION:
            fields = Trajectory.from_dict(fields).to_dict()
        turns, named = fields["turns"], fields["reset_info"].get("task_id")
        env_id = fields["env_id"]
        return cls(
            fields["component"] or env_id,
            fields["agent"],
            fields["group"],
            fields["seed"],
            None if named is None else str(named),
            _rounded([turn["reward"] for turn in turns]),
            fields["success"],
            len(turns),
            fields["error"] is not None,
            _checksum(turns[0]["observation"] if turns else fields["final_observation"]),
            return_range_of(env_id),
        )


@dataclass(slots=True)
class EpisodeRecord(TaskResult):
    """The figures of one episode.

    Args:
        level: Its level, such as ``easy``; empty if it has none.
        index: Index of the episode in its run.
        truncated: Whether a limit ended it.
        failure: The error that ended it; None without an error.
        repeats: Failed attempts before this one.
        retries: Requests to the model that were repeated.
        prompt_tokens: Prompt tokens of all turns; None if unknown.
        completion_tokens: Sampled tokens of all turns; None if unknown.
        cost: Cost, in the unit that the agent reports; None if unknown.
        tool_calls: Number of tool calls.
        tool_successes: Number of tool calls that succeeded.
        format_errors: Turns whose action did not have the form that was asked for.
        cut_replies: Turns in which the model reached its token limit.
        model_seconds: Time of the model, or of the agent if it has no model.
        queue_seconds: Time spent waiting for a slot to ask the model.
        agent_seconds: The rest of the agent's time.
        env_seconds: Time of the environment.
        tool_seconds: Time of tools.
        setup_seconds: Time to make and reset the environment.
        bad_ending: The end of the last action, if it did not have the form that was asked for.
        rewards: The named parts of its rewards, each summed over the steps.
    """

    level: str
    index: int
    truncated: bool
    failure: Failure | None
    repeats: int
    retries: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    tool_calls: int
    tool_successes: int
    format_errors: int
    cut_replies: int
    model_seconds: float
    queue_seconds: float
    agent_seconds: float
    env_seconds: float
    tool_seconds: float
    setup_seconds: float
    bad_ending: BadEnding | None
    rewards: dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Wall time of the episode."""
        return (
            self.setup_seconds
            + self.env_seconds
            + self.tool_seconds
            + self.model_seconds
            + self.queue_seconds
            + self.agent_seconds
        )

    @classmethod
    def of(cls, trajectory: Trajectory) -> "EpisodeRecord":
        """Return the record of a trajectory."""
        turns = trajectory.turns
        last = turns[-1] if turns else None
        generations = [turn.generation for turn in turns if turn.generation is not None]
        times = _times(trajectory)
        return cls(
            env_id=trajectory.env_name,
            level=level_of(trajectory),
            agent=trajectory.agent,
            index=trajectory.index,
            group=trajectory.group,
            seed=trajectory.seed,
            task_id=trajectory.task_id,
            episode_return=_rounded([turn.reward for turn in turns]),
            success=trajectory.success,
            turns=len(turns),
            truncated=bool(last and last.truncated),
            has_error=trajectory.error is not None,
            return_range=return_range_of(trajectory.env_id),
            failure=Failure.of(trajectory.error),
            repeats=trajectory.attempts - 1,
            retries=sum(one.attempts - 1 for one in generations),
            prompt_tokens=_total(one.prompt_tokens for one in generations),
            completion_tokens=_total(one.completion_tokens for one in generations),
            cost=_total(one.cost for one in generations),
            tool_calls=last.info.get("tool_use_counter", 0) if last else 0,
            tool_successes=last.info.get("tool_success_counter", 0) if last else 0,
            format_errors=sum(bool(turn.info.get(FORMAT_ERROR)) for turn in turns),
            cut_replies=sum(one.finish_reason == "length" for one in generations),
            setup_seconds=trajectory.setup_seconds,
            opening=_checksum(turns[0].observation if turns else trajectory.final_observation),
            bad_ending=bad_ending_of(trajectory),
            rewards=reward_parts(trajectory),
            **times,
        )


def _times(trajectory: Trajectory) -> dict[str, float]:
    times = dict.fromkeys(
        ("model_seconds", "queue_seconds", "agent_seconds", "env_seconds", "tool_seconds"), 0.0
    )
    for turn in trajectory.turns:
        made = turn.generation
        model = turn.agent_seconds if made is None else made.model_seconds
        queue = 0.0 if made is None else made.queue_seconds
        times["model_seconds"] += model
        times["queue_seconds"] += queue
        times["agent_seconds"] += max(0.0, turn.agent_seconds - model - queue)
        # A step that runs tools does not call the environment.
        times["tool_seconds" if turn.info.get("use_tool") else "env_seconds"] += turn.env_seconds
    return times


def _total(values: Iterable[Any]) -> Any:
    """Return the sum of the known values; None if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


@functools.cache
def return_range_of(env_id: str) -> tuple[float, float] | None:
    """Return the smallest and largest return of an environment.

    None if the environment does not say, or is not installed: a run can be read without it.
    """
    try:
        return default_registry().find(ENVS, env_id).return_range
    except GemError:
        return None


def range_of_all(ranges: Iterable[Ends | None]) -> Ends | None:
    """Return the range of the returns of several environments; None if one is unknown."""
    known: list[Ends] = []
    for found in set(ranges):
        if found is None:
            return None
        known.append(found)
    return min(low for low, _ in known), max(high for _, high in known)


def _rounded(rewards: Sequence[float]) -> float:
    """Return the sum of rewards; ten of 0.1 are 1."""
    return round(math.fsum(rewards), 12)


def _checksum(observation: Any) -> int:
    text = observation if isinstance(observation, str) else repr(observation)
    return zlib.crc32(text.encode("utf-8", "replace"))


def level_of(trajectory: Trajectory) -> str:
    """Return the part of the id after the version, or else ``level`` in the info of the reset."""
    found = _LEVEL.search(trajectory.env_id)
    if found:
        return found["level"]
    level = trajectory.reset_info.get("level", "")
    return str(level) if isinstance(level, str | int) else ""


def run_and_agent(argument: str) -> tuple[Run, str]:
    """Return the run and the agent of ``RUN`` or ``RUN@AGENT``; an empty agent stands for all.

    A path may contain an ``@``.

    Raises:
        ConfigError: There is no such run.
    """
    try:
        return Run.open(argument), ""
    except ConfigError:
        path, at, agent = argument.rpartition("@")
        if not at:
            raise
        return Run.open(path), agent


def tasks_of(episodes: Iterable[R]) -> dict[Task, list[R]]:
    """Return the episodes by task."""
    tasks: dict[Task, list[R]] = {}
    for episode in episodes:
        tasks.setdefault(episode.task, []).append(episode)
    return tasks


def with_task_ids(episodes: Iterable[R]) -> list[R]:
    """Return the episodes of a run, in which those that failed in their reset have a task's id.

    The reset would have named the task. It is that of the other episodes with the same environment
    and seed, if there are any.
    """
    listed = list(episodes)
    named = {(one.env_id, one.seed): one.task_id for one in listed if one.task_id is not None}
    return [
        replace(one, task_id=named.get((one.env_id, one.seed)))
        if one.task_id is None and one.has_error and not one.turns
        else one
        for one in listed
    ]
