"""What can go wrong when a program plays an episode; each error says what was seen and what to do.

A program that ends, fails or runs out of time after it was answered is graded: that is a result. An
error is raised where there is nothing to grade.
"""

from gem_core.errors import GemError

__all__ = [
    "GatewayLostError",
    "HarnessError",
    "NoCallError",
    "ProgramMissingError",
    "UnansweredError",
]


class HarnessError(GemError, RuntimeError):
    """The root of the errors of programs that play episodes."""


class ProgramMissingError(HarnessError):
    """The machine does not have the program."""


class NoCallError(HarnessError):
    """The program ended without asking the model anything."""


class UnansweredError(HarnessError):
    """The model answered none of the program's calls."""


class GatewayLostError(HarnessError):
    """The gateway cannot be reached."""
