"""A value that many episodes share, although code changes it in place.

There is one live value in a process: dicts, lists, sets and models of pydantic, as any code expects
them. They note when they are changed. A *version* is what an episode has changed: containers, and
their contents. Before code runs on a version, only the contents in which it differs from the
version before are put in place (Baker 1991, "Shallow binding makes functional arrays fast"). So
reading costs nothing, and an episode or a copy of it costs what was changed, however large the
value is.
"""

import copy
import datetime as dt
import decimal
import enum
import functools
import io
import pickle
import uuid
from collections.abc import Callable, Mapping
from types import MappingProxyType, NoneType
from typing import Any, NamedTuple, TypeVar

from gem_core.lifetimes import Lock

__all__ = ["START", "Held", "Ran", "Shared", "Version"]

Result = TypeVar("Result")


class Held(NamedTuple):
    """A container of a version.

    Args:
        container: The container.
        content: Its content in this version; see ``_content_of``.
        foreign: Whether it holds objects that do not note their changes.
    """

    container: Any
    content: Any
    foreign: bool = False


Version = Mapping[int, Held]
"""The containers that differ from the start, by their ``id()``; it never changes."""
START: Version = MappingProxyType({})
"""The value at the start."""


class Ran(NamedTuple):
    """What a function has done to a version.

    Args:
        result: The result of the function.
        version: The version after it.
        is_equal: Whether both versions have equal values.
    """

    result: Any
    version: Version
    is_equal: bool


_ATOMS = (
    *(NoneType, bool, int, float, complex, str, bytes, enum.Enum, decimal.Decimal, uuid.UUID),
    *(dt.date, dt.time, dt.timedelta),
)
_MODEL = ("__dict__", "__pydantic_extra__", "__pydantic_private__", "__pydantic_fields_set__")
"""The attributes that have the content of a model; values are compared by the first two."""
_SHARED = "__shared__"
"""The attribute of containers, or of the classes of models, that has the ``Shared`` value."""


def _noting(change: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that changes a container, and notes it first."""

    @functools.wraps(change)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (shared := getattr(self, _SHARED, None)) is not None:
            shared.note(self)
        return change(self, *args, **kwargs)

    return method


def _noting_kind(kind: type, names: str) -> type:
    """Return a subclass of a container that notes its changes; copies and pickles are plain."""
    members: dict[str, Any] = {name: _noting(getattr(kind, name)) for name in names.split()}
    members["__reduce_ex__"] = lambda self, _: (kind, (kind(self),))
    if kind is set:  # its own names the class
        members["__repr__"] = lambda self: repr(set(self))
    return type(kind.__name__, (kind,), {"__slots__": (_SHARED,), **members})


_KINDS: Mapping[type, type] = {
    dict: _noting_kind(dict, "__setitem__ __delitem__ __ior__ clear pop popitem setdefault update"),
    list: _noting_kind(
        list,
        "__setitem__ __delitem__ __iadd__ __imul__ append clear extend insert pop remove reverse "
        "sort",
    ),
    set: _noting_kind(
        set,
        "__iand__ __ior__ __isub__ __ixor__ add clear difference_update discard "
        "intersection_update pop remove symmetric_difference_update update",
    ),
}
_PLAIN = {noting: kind for kind, noting in _KINDS.items()}


class Shared:
    """A live value, and what is done to versions of it; one function runs at a time.

    A change that bypasses the methods of a container is not noted: ``dict.__setitem__(one, ...)``,
    ``vars(model)[...] = ...``, and ``heapq``, which writes into lists; see ``notes``.

    Args:
        value: The value at the start; it belongs to this object from now on.
        is_model: Whether a class is one of pydantic, made for this value alone: it is changed, so
            that its instances note their changes. Objects of other classes are copied with the
            container that holds them.
        notes: Whether the code changes containers by their own methods alone. If not, the whole
            value is copied for each function.
    """

    def __init__(self, value: Any, is_model: Callable[[type], bool], *, notes: bool = True) -> None:
        self._is_model, self._notes = is_model, notes
        self._models: dict[type, bool] = {}
        self._foreign: set[type] = set()
        self._numbers: dict[int, int] = {}
        self._lock = Lock()
        self._noted: dict[int, tuple[Any, Any]] | None = None
        self._at = START
        self._first: dict[int, Any] = {}
        """The contents at the start of containers that a version has changed."""
        self._top = self._container([value])
        found = self._adopted([self._top], START)
        self._containers = [held.container for held in found]
        self._numbers = {id(one): number for number, one in enumerate(self._containers)}
        self._copied = [held.container for held in found if held.foreign]

    def run(
        self, version: Version, function: Callable[[list[Any]], Any], *, undo: bool = False
    ) -> Ran:
        """Call a function that may change the value of a version.

        Args:
            version: The version.
            function: It gets a list whose only element is the value. If it raises, nothing
                changes.
            undo: Whether its changes are undone in any case.
        """
        with self._lock:
            self._move(version)
            self._noted = {}
            try:
                for container in [*self._copied, *_foreign_holders(version)]:
                    self.note(container)
                result = function(self._top)
                if undo:
                    self._undo()
                    return Ran(result, version, True)
                ran = Ran(result, self._after(version), self._is_equal())
            except BaseException:
                self._undo()
                raise
            finally:
                self._noted = None
            self._at = ran.version
            return ran

    def note(self, container: Any) -> None:
        """Keep the content of a container that is about to change."""
        key = id(container)
        is_new = self._noted is not None and key not in self._noted
        if is_new and (key in self._numbers or key in self._at):
            self._noted[key] = container, self._content_of(container)  # type: ignore[index]

    def _undo(self) -> None:
        for container, content in (self._noted or {}).values():
            self._put(container, content)

    def _is_equal(self) -> bool:
        return all(
            _compared(_read(container)) == _compared(before)
            for container, before in (self._noted or {}).values()
        )

    def _after(self, version: Version) -> Version:
        """Return the version after the changes that were noted."""
        noted = self._noted or {}
        for key, (_, before) in noted.items():
            if key not in version:
                self._first.setdefault(key, before)
        held = self._adopted([container for container, _ in noted.values()], version)
        return {**version, **{id(one.container): one for one in held}} if held else version

    def _move(self, version: Version) -> None:
        """Make the live value that of a version."""
        before, both = self._at, {**self._at, **version}
        if before is version:
            return
        for key, held in version.items():
            if key in self._numbers and key not in self._first:
                self._first[key] = self._content_of(held.container)
        self._at = {key: Held(held.container, None) for key, held in both.items()}  # if interrupted
        for key, held in both.items():
            if key in version and before.get(key) is not held:
                self._put(held.container, held.content)
            elif key not in version and key in self._numbers:
                self._put(held.container, self._first[key])
        self._at = version

    def _content_of(self, container: Any) -> Any:
        """Return the content of a container, with copies of foreign objects."""
        content = _read(container)
        return _mapped(content, self._copy) if self._foreign else content

    def _put(self, container: Any, content: Any) -> None:
        _write(container, _mapped(content, self._copy) if self._foreign else content)

    def _copy(self, value: Any) -> Any:
        return copy.deepcopy(value) if type(value) in self._foreign else value

    def _adopted(self, containers: list[Any], version: Version) -> list[Held]:
        """Let all that is new in containers note its changes; return it and them."""
        made: dict[int, tuple[Any, Any]] = {}
        todo, found = list(containers), []
        for container in todo:  # which grows
            kinds: set[type] = set()

            def adopt(value: Any, kinds: set[type] = kinds) -> Any:
                if _is_atom(value) or id(value) in self._numbers or id(value) in version:
                    return value
                if not self._can_note(type(value)):
                    kinds.add(type(value))
                    return value
                if id(value) not in made:
                    made[id(value)] = value, self._container(value)
                    todo.append(made[id(value)][1])
                return made[id(value)][1]

            _write(container, _mapped(_read(container), adopt))
            self._foreign |= kinds
            found.append(Held(container, self._content_of(container), bool(kinds)))
        return found

    def _container(self, value: Any) -> Any:
        """Return a container of the content of a value that notes its changes."""
        kind = _PLAIN.get(type(value), type(value))
        if kind not in _KINDS:
            return value
        made = _KINDS[kind]()
        setattr(made, _SHARED, self)
        _write(made, _read(value))
        return made

    def _can_note(self, kind: type) -> bool:
        if not self._notes or kind in _KINDS or kind in _PLAIN:
            return self._notes
        if kind not in self._models:
            self._models[kind] = self._is_model(kind)
            if self._models[kind]:
                setattr(kind, _SHARED, self)
                for name in ("__setattr__", "__delattr__"):
                    setattr(kind, name, _noting(getattr(kind, name)))
        return self._models[kind]

    def dump(self, version: Version) -> bytes:
        """Return a version as bytes, for ``load``."""
        added = [held.container for key, held in version.items() if key not in self._numbers]
        numbers = {id(one): len(self._numbers) + number for number, one in enumerate(added)}
        file = io.BytesIO()
        pickler = _Pickler(file, pickle.HIGHEST_PROTOCOL)
        pickler.number_of = lambda one: self._numbers.get(id(one), numbers.get(id(one)))
        pickler.dump([_PLAIN.get(type(one), type(one)) for one in added])
        pickler.dump((self._foreign, [tuple(held) for held in version.values()]))
        return file.getvalue()

    def load(self, dumped: bytes) -> Version:
        """Return the version that ``dump`` of an object with an equal value has written."""
        unpickler = _Unpickler(io.BytesIO(dumped))
        unpickler.containers = list(self._containers)
        for kind in unpickler.load():
            self._can_note(kind)
            unpickler.containers.append(self._container(kind.__new__(kind)))
        foreign, held = unpickler.load()
        self._foreign |= foreign
        return {id(one[0]): Held(*one) for one in held} if held else START


class _Pickler(pickle.Pickler):
    """Writes containers as their numbers."""

    number_of: Callable[[Any], int | None]

    def persistent_id(self, value: Any) -> int | None:
        return self.number_of(value)


class _Unpickler(pickle.Unpickler):
    """Reads numbers as containers."""

    containers: list[Any]

    def persistent_load(self, number: int) -> Any:
        return self.containers[number]


def _foreign_holders(version: Version) -> list[Any]:
    return [held.container for held in version.values() if held.foreign]


def _is_atom(value: Any) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(map(_is_atom, value))
    return isinstance(value, _ATOMS)


def _read(container: Any) -> Any:
    """Return the content of a container: a plain copy, or the parts of a model as a tuple."""
    kind = _PLAIN.get(type(container), type(container))
    if kind in _KINDS:
        return kind(container)
    return tuple(copy.copy(getattr(container, name, None)) for name in _MODEL)


def _write(container: Any, content: Any) -> None:
    """Replace the content of a container, which is not noted."""
    if isinstance(content, tuple):
        for name, part in zip(_MODEL, content, strict=True):
            object.__setattr__(container, name, copy.copy(part))
    elif isinstance(content, list):
        list.__setitem__(container, slice(None), content)
    else:
        kind = type(content)
        kind.clear(container)
        kind.update(container, content)


def _mapped(content: Any, function: Callable[[Any], Any]) -> Any:
    """Return content with other values; keys and the elements of sets cannot be containers."""
    if isinstance(content, dict):
        return {key: function(value) for key, value in content.items()}
    if isinstance(content, list):
        return [function(value) for value in content]
    if isinstance(content, tuple):
        return tuple(_mapped(part, function) for part in content)
    return content


def _compared(content: Any) -> Any:
    return content[:2] if isinstance(content, tuple) else content
