"""One thread makes a value, and the others that ask for it meanwhile wait for it."""

import os
import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from gem_core.lifetimes import Lock

__all__ = ["SingleFlight"]

Made = TypeVar("Made")


class _Computation:
    """A value that a thread of a process makes."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.is_done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None


class SingleFlight:
    """Makes the value of a key once for all callers that ask for it at the same time.

    Callers that ask for another key do not wait. What a thread of the parent was making is made
    anew in a fork.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._computations: dict[Hashable, _Computation] = {}

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return the result of ``make``, or of the call that another thread has begun.

        Raises:
            Exception: What ``make`` raised, to all callers. If Ctrl-C or a cancellation ended it,
                this concerns the thread that called it, and another caller makes the value.
        """
        while True:
            with self._lock:
                making = self._computations.get(key)
                if making is None or making.process != os.getpid():
                    mine = self._computations[key] = _Computation()
                    break
            making.is_done.wait()
            if making.error is None:
                return making.value  # type: ignore[no-any-return]
            if isinstance(making.error, Exception):
                raise making.error
        try:
            mine.value = value = make()
        except BaseException as error:
            mine.error = error
            raise
        else:
            return value
        finally:
            with self._lock:
                if self._computations.get(key) is mine:
                    del self._computations[key]
            mine.is_done.set()
