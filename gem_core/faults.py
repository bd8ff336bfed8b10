"""How an error is recorded where it must not end the work, and where it came from.

The code that knows where an error came from marks it (``boundary``); some errors say it by their
class. What nobody has marked came from where whoever records it was just then.
"""

import traceback
from types import TracebackType
from typing import Final

from gem_core.errors import SandboxError
from gem_core.observation import Info

__all__ = ["boundary", "boundary_of", "error_record"]

_MARK: Final = "_gem_boundary"


class boundary:  # noqa: N801 - used like contextlib's functions, and several times faster
    """Mark errors that pass as coming from here; the innermost mark stays.

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


def boundary_of(error: BaseException, default: str) -> str:
    """Return where an error, or what caused it, came from; ``default`` if nobody knows."""
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
    """Describe an error: where it came from, its type, its message and its traceback.

    Args:
        error: The error.
        default: Where it came from if it does not say so: ``env``, ``tool``, ``sandbox``,
            ``agent`` or ``grader``.
    """
    return {
        "boundary": boundary_of(error, default),
        "type": type(error).__name__,
        "message": str(error),
        "traceback": "".join(traceback.format_exception(error)),
    }
