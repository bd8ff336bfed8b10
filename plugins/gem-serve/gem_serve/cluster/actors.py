"""The workers' side of ``RayPool`` and ``RayExecutor``: classes that Ray makes actors of."""

import pickle
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from gem_core.background import BackgroundLoop
from gem_core.errors import GemError
from gem_core.lifetimes import Lock
from gem_core.maybe_async import is_awaitable
from gem_core.specs import load_entry_point
from gem_core.vector.slot import FAULTS, Fault, Slot, perform
from gem_serve.cluster.versions import installed_versions
from gem_workers.pickles import dump, load, portable
from gem_workers.pools import Last
from gem_workers.serving import dump_error

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
        self._slots: dict[int, Slot] = {}
        self._lock = Lock()
        self._loop = BackgroundLoop("asynchronous environments")

    def __repr__(self) -> str:
        return self._name

    def hello(self, paths: Sequence[str]) -> tuple[str, dict[str, str]]:
        """Prepare, and return the name of this machine and what is installed."""
        _search(paths)
        return socket.gethostname(), installed_versions()

    def make(self, blob: bytes, lost: bytes | None) -> bytes | None:
        """Make the slots; return the pickle of the error of one that cannot be made.

        Args:
            blob: The functions that make the slots, by index, pickled.
            lost: The error by which earlier environments were lost, pickled.
        """
        try:
            make_slots: dict[int, Callable[..., Slot]] = pickle.loads(blob)  # noqa: S301 - the driver's
            error = None if lost is None else load(lost)
            for index, make_slot in make_slots.items():
                self._slots[index] = make_slot(lost=error)
        except FAULTS as error:
            self.close()
            return dump(portable(error))
        return None

    def perform(self, index: int, method: str, blob: bytes) -> bytes:
        """Call a method of a slot and return its pickled result, or ``Fault``."""
        try:
            argument = load(blob)
        except GemError as error:
            return dump(Fault(error))
        with self._lock:
            value = perform(self._slots[index], method, argument)
        if is_awaitable(value):
            value = self._loop.run(_awaited(value))
        try:
            return dump(Fault(portable(value.error)) if isinstance(value, Fault) else value)
        except Exception as error:  # noqa: BLE001 - every request must be answered
            return dump(Fault(GemError(f"An answer cannot be sent between machines: {error}")))

    def close(self) -> None:
        """Close the slots."""
        self._loop.close()
        slots, self._slots = self._slots, {}
        for slot in slots.values():
            perform(slot, "close", None)


async def _awaited(value: Awaitable[Any]) -> Any:
    try:
        return await value
    except BaseException as error:  # noqa: BLE001 - every request must be answered
        return Fault(error)


def _search(paths: Sequence[str]) -> None:
    known = set(sys.path)
    sys.path += [path for path in paths if path not in known and Path(path).is_dir()]
