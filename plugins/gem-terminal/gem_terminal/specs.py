"""The kind of spec that gem-terminal adds: cheats, which tests of tasks must not pay."""

from dataclasses import dataclass, field
from typing import Any

from gem_core.specs import Kind, Spec

__all__ = ["CHEATS", "CheatSpec"]


CHEATS: "Kind[CheatSpec]" = Kind(
    id="cheats",
    name="cheat",
    description="ways to be paid for terminal tasks without doing them",
    given=1,
    check="gem_terminal.cheat_checks:check_cheat",
)


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

    kind: Kind[Any] = field(default=CHEATS, init=False, repr=False)

    programs: bool = False
