"""Objects whose state can be saved, restored and copied: environments, wrappers, tools."""

import copy
import functools
import pickle
from typing import Any, ClassVar, Protocol, Self, TypeVar

from gem_core.errors import SnapshotError

__all__ = ["Stateful", "copy_of"]


class _Restorable(Protocol):
    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: bytes) -> None: ...


Saved = TypeVar("Saved", bound=_Restorable)


class Stateful:
    """Saves, restores and copies the attributes of an object, except the ``shared`` ones."""

    shared: ClassVar[tuple[str, ...]] = ()
    """Names of attributes that copies share, such as large read-only data and connections."""

    def get_state(self) -> dict[str, Any]:
        """Return the attributes that make up the state."""
        shared = self._shared_names()
        return {name: value for name, value in self.__dict__.items() if name not in shared}

    def set_state(self, state: dict[str, Any]) -> None:
        """Replace the state by one from ``get_state``."""
        shared = self._shared_names()
        for name in [name for name in self.__dict__ if name not in shared]:
            del self.__dict__[name]
        self.__dict__.update(state)

    @classmethod
    @functools.cache
    def _shared_names(cls) -> frozenset[str]:
        return frozenset(name for base in cls.__mro__ for name in base.__dict__.get("shared", ()))

    def snapshot(self) -> bytes:
        """Return the state as bytes.

        Raises:
            SnapshotError: An attribute cannot be pickled; the message names it.
        """
        return self._pickled(self.get_state())

    def _pickled(self, state: dict[str, Any]) -> bytes:
        named = (_name_of(type(self)), state)
        try:
            return _dump(named)
        except Exception as error:
            raise SnapshotError(
                f"{type(self).__name__} cannot be saved: {_unpicklable(state)}. "
                f"List attributes that copies may share in `shared`, override `get_state` and "
                f"`set_state`, or install cloudpickle if it is a local function or class."
            ) from error

    def _unpickled(self, snapshot: bytes) -> dict[str, Any]:
        try:
            name, state = pickle.loads(snapshot)  # noqa: S301 - documented
        except Exception as error:
            raise SnapshotError(f"This is not a snapshot: {error}") from error
        if name != _name_of(type(self)):
            raise SnapshotError(f"This is a snapshot of {name}, not of {_name_of(type(self))}.")
        return state  # type: ignore[no-any-return]

    def restore(self, snapshot: bytes) -> None:
        """Return to the state of a snapshot. It is a pickle: restore only snapshots you trust.

        Raises:
            SnapshotError: These bytes are not a snapshot of this class; nothing has changed.
        """
        self.set_state(self._unpickled(snapshot))

    def fork(self) -> Self:
        """Return an independent copy in the same state."""
        twin = object.__new__(type(self))
        for name in self._shared_names():
            if name in self.__dict__:
                twin.__dict__[name] = self.__dict__[name]
        twin.restore(self.snapshot())
        return twin


def copy_of(thing: Saved) -> Saved:
    """Return an independent copy in the same state; ``__copy__`` decides what it shares."""
    twin = copy.copy(thing)
    twin.restore(thing.snapshot())
    return twin


def _name_of(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _dump(value: Any) -> bytes:
    """Pickle a value; with cloudpickle, if it is installed, where pickle alone fails."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:
        try:
            import cloudpickle  # noqa: PLC0415 - only for local functions and classes
        except ModuleNotFoundError:
            cloudpickle = None
        if cloudpickle is None:
            raise
    return cloudpickle.dumps(value)  # type: ignore[no-any-return]


def _unpicklable(state: dict[str, Any]) -> str:
    for name, value in state.items():
        try:
            _dump(value)
        except Exception as error:  # noqa: BLE001 - pickling runs anybody's code
            return f"its attribute {name!r} fails with {error}"
    return "its state cannot be pickled"
