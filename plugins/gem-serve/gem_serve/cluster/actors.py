"""The workers' side of ``RayPool``: classes that Ray makes actors of."""

import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gem_core.lifetimes import Lock
from gem_core.specs import load_entry_point
from gem_serve.cluster.versions import installed_versions
from gem_workers.pickles import dump, load
from gem_workers.pools import Last
from gem_workers.serving import dump_error
from gem_workers.slots import Answer, HeldSlots, Task

__all__ = ["GemSlots", "GemWorker"]


class GemWorker:
    """Calls functions, one after the other.

    Args:
        name: Its name in the dashboard and in logs.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._functions: dict[str, Callable[..., Any]] = {}

    def __repr__(self) -> str:
        return self._name

    def hello(self, paths: Sequence[str]) -> tuple[str, dict[str, str]]:
        """Prepare, and return the name of this machine and what is installed.

        Args:
            paths: The driver's ``sys.path``; what this machine has of it and does not search yet
                is searched last.
        """
        _search(paths)
        return socket.gethostname(), installed_versions()

    def ping(self) -> None:
        """Answer."""

    def call(self, target: str, *args: Any) -> tuple[bool, Any, bool]:
        """Call a function.

        Returns:
            Whether it returned; its result, or the pickle of what it raised; whether this worker
            must not be used again.
        """
        try:
            if target not in self._functions:
                self._functions[target] = load_entry_point(target)
            result = self._functions[target](*args)
        except BaseException as error:  # noqa: BLE001 - not even SystemExit may end the worker
            return False, dump_error("raised", error), isinstance(error, MemoryError)
        if isinstance(result, Last):
            return True, result.value, True
        return True, result, False


class GemSlots:
    """Holds a share of a vector's slots.

    Steps run one at a time; those that are coroutines then wait at the same time.

    Args:
        name: Its name in the dashboard and in logs.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._slots = HeldSlots()
        self._lock = Lock()

    def __repr__(self) -> str:
        return self._name

    def hello(self, paths: Sequence[str]) -> tuple[str, dict[str, str]]:
        """Prepare, and return the name of this machine and what is installed."""
        _search(paths)
        return socket.gethostname(), installed_versions()

    def make(self, make_slots: bytes, lost: bytes | None) -> bytes | None:
        """Make the slots; return the pickle of the error of one that cannot be made.

        Args:
            make_slots: The functions that make the slots, by index, pickled.
            lost: The error by which earlier environments were lost, pickled.
        """
        error = self._slots.make(make_slots, None if lost is None else load(lost))
        return None if error is None else dump(error)

    def perform(self, tasks: list[Task]) -> None:
        """Call methods of slots; ``answers`` returns what they return."""
        with self._lock:
            self._slots.perform(tasks)

    def answers(self) -> list[Answer]:
        """Wait for answers, and return them; an empty list at the end."""
        return self._slots.answers()

    def close(self) -> None:
        """Close the slots."""
        with self._lock:
            self._slots.end()


def _search(paths: Sequence[str]) -> None:
    known = set(sys.path)
    sys.path += [path for path in paths if path not in known and Path(path).is_dir()]
