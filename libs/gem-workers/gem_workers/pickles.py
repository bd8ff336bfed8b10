"""Pickles of objects that users pass between processes: anything may fail to be sent or read."""

import pickle
from typing import Any

import cloudpickle

from gem_core.errors import GemError

__all__ = ["dump", "load", "portable"]


def dump(value: Any) -> bytes:
    """Return the pickle of a value; classes of a script's ``__main__`` are pickled by value."""
    try:
        blob = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001 - cloudpickle can pickle more, or raises the final error
        blob = b"__main__"
    # Other processes do not know the classes of a script's own __main__.
    return cloudpickle.dumps(value) if b"__main__" in blob else blob


def load(blob: bytes) -> Any:
    """Return the value of a pickle from another process of this program.

    Raises:
        GemError: The pickle cannot be read.
    """
    try:
        return pickle.loads(blob)  # noqa: S301 - from a process of this program
    except Exception as error:
        raise GemError(f"A value from another process cannot be unpickled: {error}") from error


def portable(error: BaseException) -> BaseException:
    """Return the error, or a ``GemError`` with its message if it does not survive pickling."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - pickled here
    except Exception:  # noqa: BLE001 - pickling runs code of the error's class
        return GemError(f"{type(error).__name__}: {error}")
    return error
