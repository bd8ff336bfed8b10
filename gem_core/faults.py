"""How an error is recorded where it must not end the work."""

import traceback

from gem_core.observation import Info

__all__ = ["error_record"]


def error_record(error: BaseException, boundary: str) -> Info:
    """Describe an error: where it came from, its type, its message and its traceback.

    Args:
        error: The error.
        boundary: ``env``, ``tool``, ``sandbox``, ``agent`` or ``grader``.
    """
    return {
        "boundary": boundary,
        "type": type(error).__name__,
        "message": str(error),
        "traceback": "".join(traceback.format_exception(error)),
    }
