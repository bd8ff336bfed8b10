"""Tasks drawn from a seed: endless, and different from any that were published.

What a task expects is computed when it is drawn. On the machine, ``checker.py`` compares it with
the content of files; programs of the agent run only where the task is to write one.
"""

import json
from pathlib import Path
from random import Random
from typing import Literal, get_args

from gem_core.errors import ConfigError, near_names
from gem_core.machine import MachineSpec
from gem_terminal.families import FAMILIES
from gem_terminal.task import TerminalTask

__all__ = ["Difficulty", "generate_task"]

Difficulty = Literal["easy", "hard"]

_CHECKER = Path(__file__).with_name("checker.py")
_TEST = """\
#!/bin/bash
# Neither the folder of the agent nor its user's packages are searched for modules.
mkdir -p /logs/verifier
exec python3 -I -S /tests/check.py
"""


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
        tests={
            "test.sh": _TEST.encode(),
            "check.py": _CHECKER.read_bytes(),
            "checks.json": json.dumps(list(draft.checks)).encode(),
        },
        verifier_timeout=120.0,
        solution={"solve.sh": draft.solution.encode()},
        metadata={"family": name, "difficulty": difficulty, "seed": seed},
    )
