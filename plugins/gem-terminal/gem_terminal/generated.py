"""Tasks drawn from a seed: endless, and different from any that were published.

What a task expects is computed when it is drawn, and compared with what is on the machine from the
host; programs of the agent run only where the task is to write one.
"""

from random import Random
from typing import Literal, get_args

from gem_core.errors import ConfigError, near_names
from gem_terminal.families import FAMILIES
from gem_terminal.task import TerminalTask
from gem_workers.machine import MachineSpec

__all__ = ["Difficulty", "generate_task"]

Difficulty = Literal["easy", "hard"]


def generate_task(
    seed: int, *, difficulty: Difficulty = "easy", family: str | None = None
) -> TerminalTask:
    """Return the task of a seed.

    Args:
        seed: The seed; the same one gives the same task.
        difficulty: ``easy`` or ``hard``.
        family: The name of a family, such as ``git``; None to draw one.

    Raises:
        ConfigError: The difficulty or the family is not known.
    """
    if difficulty not in get_args(Difficulty):
        raise ConfigError(f"difficulty must be 'easy' or 'hard'; got {difficulty!r}.")
    random = Random(f"terminal {difficulty} {seed}")
    name = random.choice(sorted(FAMILIES)) if family is None else family
    if name not in FAMILIES:
        raise ConfigError(f"There is no family {name!r}.{near_names(name, FAMILIES)}")
    draft = FAMILIES[name](random, hard=difficulty == "hard")
    return TerminalTask(
        id=f"{name}-{difficulty}-{seed}",
        instruction=draft.instruction,
        machine=MachineSpec(workdir="/app", files=draft.files),
        reward="checks",
        checks=tuple(draft.checks),
        artifacts=("/app",),
        other_user=draft.other_user,
        solution={"solve.sh": draft.solution.encode()},
        metadata={"family": name, "difficulty": difficulty, "seed": seed},
    )
