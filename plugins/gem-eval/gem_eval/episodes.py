"""A small record of each episode, so that the trajectories of a run need not fit in memory."""

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gem_rollout import Trajectory

__all__ = ["Episode", "level_of", "tasks_of"]

_LEVEL = re.compile(r"-v\d+-(?P<level>.+)$")
FORMAT_ERROR = "format_error"
"""Key of a step's info: true if the action did not have the form that was asked for."""


@dataclass(slots=True)
class Episode:
    """The figures of one episode.

    Args:
        env_id: Id of the environment.
        level: Its level, such as ``easy``; empty if it has none.
        agent: Name of the agent.
        index: Index of the episode in its run.
        group: Index of its task (start state).
        seed: Seed of its task.
        episode_return: Undiscounted sum of the rewards.
        success: Whether it succeeded; None if the environment does not say.
        turns: Number of turns.
        truncated: Whether a limit ended it.
        boundary: Origin of the error that ended it, such as ``env``; empty without an error.
        error: Type of the error.
        message: The first line of its message, at most 200 characters.
        repeats: Failed attempts before this one.
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
        opening: Checksum of the first observation.
    """

    env_id: str
    level: str
    agent: str
    index: int
    group: int
    seed: int
    episode_return: float
    success: bool | None
    turns: int
    truncated: bool
    boundary: str
    error: str
    message: str
    repeats: int
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
    opening: int

    @property
    def task(self) -> tuple[str, int]:
        """The environment and seed, which episodes of one task share."""
        return self.env_id, self.seed

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
    def of(cls, trajectory: Trajectory) -> "Episode":
        """Return the record of a trajectory."""
        turns = trajectory.turns
        last = turns[-1] if turns else None
        generations = [turn.generation for turn in turns if turn.generation is not None]
        error = trajectory.error or {}
        times = _times(trajectory)
        return cls(
            env_id=trajectory.env_id,
            level=level_of(trajectory),
            agent=trajectory.agent,
            index=trajectory.index,
            group=trajectory.group,
            seed=trajectory.seed,
            episode_return=trajectory.episode_return,
            success=trajectory.success,
            turns=len(turns),
            truncated=bool(last and last.truncated),
            boundary=str(error.get("boundary", "")),
            error=str(error.get("type", "")),
            message=str(error.get("message", "")).partition("\n")[0][:200],
            repeats=trajectory.attempts - 1,
            prompt_tokens=_total(one.prompt_tokens for one in generations),
            completion_tokens=_total(one.completion_tokens for one in generations),
            cost=_total(one.cost for one in generations),
            tool_calls=last.info.get("tool_use_counter", 0) if last else 0,
            tool_successes=last.info.get("tool_success_counter", 0) if last else 0,
            format_errors=sum(bool(turn.info.get(FORMAT_ERROR)) for turn in turns),
            cut_replies=sum(one.finish_reason == "length" for one in generations),
            setup_seconds=trajectory.setup_seconds,
            opening=_checksum(turns[0].observation if turns else trajectory.final_observation),
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


def tasks_of(episodes: Iterable[Episode]) -> dict[tuple[str, int], list[Episode]]:
    """Return the episodes by task."""
    tasks: dict[tuple[str, int], list[Episode]] = {}
    for episode in episodes:
        tasks.setdefault(episode.task, []).append(episode)
    return tasks
