"""Trajectories: the record of an episode, and the only input of evaluation and training."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from gem_core.agent import Generation
from gem_core.errors import ConfigError
from gem_core.observation import Action, Info, Observation
from gem_core.records import from_fields, to_fields
from gem_rollout.records.observations import kept_turns, new_in, whole
from gem_rollout.tokens.sequences import TokenSequence, sequences_of

__all__ = ["VERSION", "Trajectory", "Turn", "check_version"]

VERSION = 2
"""Version of the format of ``Trajectory.to_dict``, and so of the lines of a trajectory file.

A new optional field keeps the version, as readers pass on fields that they do not know. A field
that changes its meaning or goes away raises it. Lines without a version are older than 1. Since
version 2 the ``observation`` of a turn with ``shares`` is only what is new in it.
"""


@dataclass
class Turn:
    """An action and its results.

    Args:
        agent: Name of the agent that acted.
        observation: The observation that the agent was shown. What it shares with that of the turn
            before is stored once for both, and put together each time it is read: to change an
            observation, assign the changed one.
        action: The action.
        reward: The reward of the step.
        terminated: Whether the episode ended by its own rules with this turn.
        truncated: Whether the episode was cut off with this turn.
        info: The step's info.
        agent_seconds: Wall time of the agent. It includes waiting for permission to call the
            endpoint (``generation.queue_seconds``) and, in the first turn, the agent's ``reset``.
        env_seconds: Wall time of the step, including its tools.
        generation: Input and output of the model for this action; None for agents without one.
        extra: Fields that this version does not know, from a file of a newer one.
    """

    agent: str
    observation: Observation
    action: Action
    reward: float
    terminated: bool
    truncated: bool
    info: Info
    agent_seconds: float = 0.0
    env_seconds: float = 0.0
    generation: Generation | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def to_dict(self, before: "Turn | None" = None) -> dict[str, Any]:
        """Return all fields; values are not copied.

        Args:
            before: The turn of the agent before. Without what its observation shares with that one,
                ``observation`` is the rest, and ``shares`` says how much that is.
        """
        fields = to_fields(self)
        shares, rest = new_in(fields["observation"], before and vars(before)["observation"])
        fields["observation"] = rest
        if shares:
            fields["shares"] = shares
        if self.generation is not None:
            fields["generation"] = self.generation.to_dict()
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the turn with these fields; the inverse of ``to_dict`` without ``before``.

        Raises:
            ValueError: Its observation has only what is new in it.
        """
        if "shares" in fields:
            raise ValueError("a turn with 'shares' is read with the turns before it, by Trajectory")
        generation = fields.get("generation")
        if generation is not None:
            fields = {**fields, "generation": Generation.from_dict(generation)}
        return from_fields(cls, fields)


class _Observation:
    """The attribute ``observation`` of turns, which may be set to what was kept of one."""

    def __get__(self, turn: Turn | None, owner: type | None = None) -> Observation:
        if turn is None:
            raise AttributeError("the class Turn has no observation")
        return whole(vars(turn)["observation"])

    def __set__(self, turn: Turn, value: Any) -> None:
        vars(turn)["observation"] = value


Turn.observation = _Observation()


@dataclass
class Trajectory:
    """One episode.

    Args:
        env_id: Id of the environment.
        agent: Name of the agent.
        index: Number of the episode in its run: ``group * episodes_per_group + sample``.
        seed: Seed of the environment's reset, the same for all episodes of a group.
        turns: The turns, in order.
        reset_info: Info of the reset.
        final_observation: Observation of the last step; no action follows it.
        success: ``info["correct"]`` of the last step if there is one; otherwise whether the return
            reached the maximum of the spec's ``return_range``; None if that is unknown. False if
            an error ended the episode.
        error: The error that ended the episode early, as a dict of ``boundary`` (env, tool,
            sandbox, agent or grader), ``type``, ``message`` and ``traceback``; None if there was
            none. A missed deadline is an error of the type ``DeadlineError``.
        setup_seconds: Wall time of making the environment and resetting it; for an episode that
            began with a fork, wall time of the fork.
        group: Number of the start state; episodes of a group have the same one.
        sample: Number of the episode in its group.
        attempts: How often the episode was started.
        failures: Errors of the failed attempts before the last one.
        started_at: Unix time when the last attempt started.
        component: Name of the environment's component in its mixture; empty without a mixture.
        reset_options: Options of the environment's reset besides the seed, such as ``idx``; None
            if they are unknown, as in files from before they were recorded.
        training_step: Number of the training step that the episode was played for, from 1; None
            outside training.
        extra: Fields that this version does not know, from a file of a newer one.
    """

    env_id: str
    agent: str
    index: int
    seed: int
    turns: list[Turn] = field(default_factory=list)
    reset_info: Info = field(default_factory=dict)
    final_observation: Observation = ""
    success: bool | None = None
    error: Info | None = None
    setup_seconds: float = 0.0
    group: int = 0
    sample: int = 0
    attempts: int = 1
    failures: list[Info] = field(default_factory=list)
    started_at: float = 0.0
    component: str = ""
    reset_options: dict[str, Any] | None = None
    training_step: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def env_name(self) -> str:
        """The name of the environment: that of its component, or else its id."""
        return self.component or self.env_id

    @property
    def task_id(self) -> str | None:
        """The id of the task, ``task_id`` in the info of the reset; None without one.

        Episodes of an environment that have the same id are samples of the same task.
        """
        found = self.reset_info.get("task_id")
        return None if found is None else str(found)

    @property
    def episode_return(self) -> float:
        """Undiscounted sum of the rewards."""
        return sum(turn.reward for turn in self.turns)

    @property
    def seconds(self) -> float:
        """Wall time of the setup and all turns."""
        return self.setup_seconds + sum(t.agent_seconds + t.env_seconds for t in self.turns)

    def of_agent(self, agent: str) -> Self:
        """Return the episode with the turns of one of several agents only."""
        turns = [turn for turn in self.turns if turn.agent == agent]
        return replace(self, agent=agent, turns=turns)

    def tokens(self) -> list[TokenSequence]:
        """Return the tokens of the episode as the model was given and sampled them.

        Nothing is tokenized again. Turns whose prompt extends all earlier tokens share a sequence;
        a turn whose prompt does not starts a new one. Each agent has its own sequences.

        Returns:
            The sequences in the order of their first turns; empty if no turn has token ids.

        Raises:
            DataError: Some turns of an agent have token ids and others do not.
        """
        return sequences_of((turn.agent, turn.generation) for turn in self.turns)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields and the format's ``version``; values are not copied.

        A turn has what is new in its observation since the turn of its agent before, and ``shares``
        where it begins like that one; docs/reference/files.md has the rule.

        Fields that identify the episode, and its error, come before the turns, so that a reader of
        a file can skip the turns.
        """
        fields = {"version": VERSION, **to_fields(self)}
        turns = fields.pop("turns")
        first, last = fields.pop("reset_info"), fields.pop("final_observation")
        fields["turns"] = written = []
        before: dict[str, Turn] = {}
        for turn in turns:
            written.append(turn.to_dict(before.get(turn.agent)))
            before[turn.agent] = turn
        fields["reset_info"], fields["final_observation"] = first, last
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the trajectory with these fields; the inverse of ``to_dict``.

        Raises:
            ConfigError: The fields are of a newer version of the format.
            TypeError: A required field is missing.
            ValueError: A turn shares more than the turn before has.
        """
        known = dict(fields)
        if check_version(known.pop("version", 0)) == 0 and "source" in known:
            known["component"] = known.pop("source")
        known["turns"] = [Turn.from_dict(turn) for turn in kept_turns(known["turns"])]
        return from_fields(cls, known)


def check_version(version: Any) -> int:
    """Return the version of a trajectory's format if this release can read it.

    Raises:
        ConfigError: It is newer, or not a version.
    """
    if type(version) is not int or version < 0:
        raise ConfigError(f"the version of a trajectory is a whole number; got {version!r}")
    if version > VERSION:
        raise ConfigError(
            f"it has version {version} of the trajectory format, and this gem-rollout reads "
            f"versions up to {VERSION}; upgrade gem-rollout"
        )
    return version
