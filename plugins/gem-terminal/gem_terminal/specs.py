"""The kind of spec that gem-terminal adds: cheats, which tests of tasks must not pay."""

from dataclasses import dataclass
from typing import ClassVar

from gem_core.specs import Spec

__all__ = ["CheatSpec"]


@dataclass(frozen=True, kw_only=True)
class CheatSpec(Spec):
    """A way to be paid for a terminal task without doing it.

    Its entry point is a function. It takes the ``TerminalTask`` and returns the bash commands that
    an agent would run in the working directory of the task, or an empty text if the cheat does not
    apply to the task.

    Args:
        id: Its name.
        programs: Whether it attacks tests that run the agent's program.
    """

    kind: ClassVar[str] = "cheat"
    given: ClassVar[int] = 1

    programs: bool = False
