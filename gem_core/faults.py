"""Records of errors that must not end a run: what was raised, and by which part.

Code that calls into an environment, a tool, a sandbox, an agent or a grader marks the errors that
pass (``boundary``); some classes of errors imply the mark. An error without a mark belongs to the
part that was running when it was recorded.
"""

import math
import traceback
from numbers import Real
from types import TracebackType
from typing import Final

from gem_core.errors import RewardError, SandboxError
from gem_core.observation import Info

__all__ = ["boundary", "boundary_of", "checked_reward", "error_record"]

_MARK: Final = "_gem_boundary"
_SHOWN = 100


class boundary:  # noqa: N801 - used like contextlib's functions, and several times faster
    """Mark errors that pass with the part that they come from; the innermost mark wins.

    Example:
        >>> with boundary("grader"):
        ...     grade(answer)

    Args:
        name: ``env``, ``tool``, ``sandbox``, ``agent`` or ``grader``.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and boundary_of(error, "") == "":
            error.__dict__[_MARK] = self._name


def checked_reward(reward: object, env: object) -> float:
    """Return a reward as a float.

    Args:
        reward: What an environment has returned.
        env: The environment, which the error names.

    Raises:
        RewardError: It is not a finite number.
    """
    if type(reward) is float and math.isfinite(reward):
        return reward
    if isinstance(reward, Real) and math.isfinite(reward):
        return float(reward)
    shown = repr(reward)
    raise RewardError(
        f"{type(env).__name__}.step returned reward="
        f"{shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '...'} ({type(reward).__name__}); "
        f"a reward is a finite number."
    )


def boundary_of(error: BaseException, default: str) -> str:
    """Return the part that an error, or its cause, comes from; ``default`` without a mark."""
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, SandboxError):
            return "sandbox"
        if (name := cause.__dict__.get(_MARK)) is not None:
            return str(name)
        seen.add(id(cause))
        cause = cause.__cause__
    return default


def error_record(error: BaseException, default: str) -> Info:
    """Describe an error: the part it comes from, its type, its message and its traceback.

    Args:
        error: The error.
        default: The part, if the error has no mark: ``env``, ``tool``, ``sandbox``, ``agent`` or
            ``grader``.
    """
    return {
        "boundary": boundary_of(error, default),
        "type": type(error).__name__,
        "message": str(error),
        "traceback": "".join(traceback.format_exception(error)),
    }
