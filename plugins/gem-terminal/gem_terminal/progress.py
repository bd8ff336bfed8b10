"""How far an agent has come in the steps of a task, and what that is paid.

A task of one step is no special case: its only step is the task itself. A step is graded when the
agent says that it is done; then the next one begins on the same machine, unless the rewards are
below what the step asks for.
"""

from dataclasses import dataclass, replace
from typing import Any

from gem_terminal.rewards import total_of
from gem_terminal.task import TaskStep, TerminalTask
from gem_terminal.verify import Grade

__all__ = ["Progress"]


@dataclass(frozen=True)
class Progress:
    """The steps of an episode.

    Args:
        task: The task.
        grades: The grades of the steps that have ended, in order.
    """

    task: TerminalTask
    grades: tuple[Grade, ...] = ()

    @property
    def number(self) -> int:
        """The step that the agent is at, from 0; at the end, the last one that was played."""
        return len(self.grades) - (not self.goes_on)

    @property
    def step(self) -> TaskStep:
        """The step that the agent is at; at the end, the last one that was played."""
        return self.task.parts[self.number]

    @property
    def goes_on(self) -> bool:
        """Whether there is a step that has not ended, and nothing keeps it from beginning."""
        if not self.grades:
            return True
        if len(self.grades) == len(self.task.parts) or self.grades[-1].ended_by:
            return False
        rewards = _rewards_of(self.grades[-1])
        wanted = self.task.parts[len(self.grades) - 1].min_reward
        return all(name in rewards and rewards[name] >= least for name, least in wanted.items())

    @property
    def needs_copy(self) -> bool:
        """Whether the next step needs a machine that starts anew, with the files of this one.

        That is so after tests that run on the agent's machine, and for another user.
        """
        now, *later = self.task.parts[self.number :]
        if not later:
            return False
        return now.task.mode == "shared" or now.task.agent_user != later[0].task.agent_user

    @property
    def rewards(self) -> dict[str, float]:
        """The rewards of the episode by name; a step without one of them counts as 0 there."""
        if self.task.step_reward == "final":
            return _rewards_of(self.grades[-1])
        each = [_rewards_of(grade) for grade in self.grades]
        names = dict.fromkeys(name for rewards in each for name in rewards)
        return {name: sum(one.get(name, 0.0) for one in each) / len(each) for name in names}

    @property
    def reward(self) -> float:
        """The reward of the episode."""
        return total_of(self.rewards)

    @property
    def paid(self) -> dict[str, float]:
        """The rewards of the steps that have ended, by the names of the steps."""
        named = zip(self.task.parts, self.grades, strict=False)
        return {part.name: grade.reward for part, grade in named}

    def with_grade(self, grade: Grade) -> "Progress":
        """Return the progress after the step that the agent is at, which was given this grade."""
        return replace(self, grades=(*self.grades, grade))

    def to_info(self) -> dict[str, Any]:
        """Return ``step`` and ``step_rewards`` of an info; empty for a task that has no steps."""
        if not self.task.steps:
            return {}
        place = {"name": self.step.name, "number": self.number + 1, "count": len(self.task.steps)}
        return {"step": place, "step_rewards": self.paid}


def _rewards_of(grade: Grade) -> dict[str, float]:
    return dict(grade.rewards) or {"reward": grade.reward}
