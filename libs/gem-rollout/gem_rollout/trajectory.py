"""What happened in an episode: the one thing that evaluation and training read."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from gem_core.agent import Generation
from gem_core.observation import Action, Info, Observation
from gem_rollout.tokens import TokenSequence, sequences_of

__all__ = ["Trajectory", "Turn"]


@dataclass
class Turn:
    """One action and what came of it.

    Args:
        agent: Who acted.
        observation: What the agent was shown.
        action: What it did.
        reward: What the step gave.
        terminated: Whether the episode came to its own end with this turn.
        truncated: Whether it was cut with this turn.
        info: The step's info.
        agent_seconds: Wall time that the agent took, waiting for the endpoint's permission
            (``generation.queue_seconds``) included, and in the first turn the agent's ``reset``.
        env_seconds: Wall time that the step took, its tools included.
        generation: What a model was given and gave for this action; None for agents without one.
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

    def to_dict(self) -> dict[str, Any]:
        """Return all fields; values are not copied."""
        generation = self.generation
        return {**vars(self), "generation": None if generation is None else generation.to_dict()}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the turn that ``to_dict`` gave."""
        generation = fields.get("generation")
        if generation is not None:
            fields = {**fields, "generation": Generation.from_dict(generation)}
        return cls(**fields)


@dataclass
class Trajectory:
    """One episode.

    Args:
        env_id: Id of the environment.
        agent: Name of the agent.
        index: Number of the episode in its run: ``group * episodes_per_group + sample``.
        seed: What the environment was reset with; the same in all episodes of a group.
        turns: The turns, in order.
        reset_info: Info of the reset.
        final_observation: What the last step returned; there is no action on it.
        success: What the last step's info says (``correct``); else whether the return reached the
            largest that the environment can give; None if that is not known. False if an error
            ended the episode.
        error: What ended the episode early: ``boundary`` (env, tool, sandbox, agent or grader),
            ``type``, ``message``, ``traceback``; None if nothing did. A deadline is an error of
            the type ``DeadlineError``.
        setup_seconds: Wall time that making the environment and resetting it took (provisioning);
            for an episode that began with a fork, what the fork took.
        group: Number of the start state; episodes of a group start alike.
        sample: Number of the episode in its group.
        attempts: How often the episode was begun; what failed before the last attempt is in
            ``failures``.
        failures: Errors of the attempts that failed and were repeated.
        started_at: Unix time when the last attempt began.
        source: Name of the source in its mixture that the environment is from; empty without.
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
    source: str = ""

    @property
    def episode_return(self) -> float:
        """Undiscounted sum of the rewards."""
        return sum(turn.reward for turn in self.turns)

    @property
    def seconds(self) -> float:
        """Wall time of setup and all turns."""
        return self.setup_seconds + sum(t.agent_seconds + t.env_seconds for t in self.turns)

    def of_agent(self, agent: str) -> Self:
        """Return the episode as one of several agents played it: with its turns alone."""
        turns = [turn for turn in self.turns if turn.agent == agent]
        return replace(self, agent=agent, turns=turns)

    def tokens(self) -> list[TokenSequence]:
        """Return the tokens of the episode as they were given and sampled, none made again.

        Turns whose prompt extends all that was before are of one sequence; another one begins
        where a prompt does not. Each agent has sequences of its own.

        Returns:
            The sequences in the order of their first turns; none if no turn has token ids.

        Raises:
            DataError: Some turns of an agent have token ids and others have none.
        """
        return sequences_of((turn.agent, turn.generation) for turn in self.turns)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, each turn as a dict of its fields; values are not copied.

        What says which episode it is, and how it ended, comes before the turns, so that a reader
        of a file can do without them.
        """
        fields = dict(vars(self))
        turns = fields.pop("turns")
        first, last = fields.pop("reset_info"), fields.pop("final_observation")
        fields["turns"] = [turn.to_dict() for turn in turns]
        fields["reset_info"], fields["final_observation"] = first, last
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the trajectory that ``to_dict`` gave."""
        return cls(**{**fields, "turns": [Turn.from_dict(turn) for turn in fields["turns"]]})
