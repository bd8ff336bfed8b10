"""The vocabulary of the invented shop, which the files in ``data`` list.

``shared.yaml`` has facets and choices that kinds refer to by name, each department has a file of
its kinds, and ``phrases.yaml`` has what customers say. Fields have the names and meanings of
``Kind``, ``Facet``, ``Choice`` and ``Phrases``; the parts of a text are separated by ``|``.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

import yaml

from gem_core.errors import DataError, near_names
from gem_web.product import Review
from gem_web.sample.kinds import Choice, Facet, Kind, Phrases, Quality

__all__ = ["kinds", "phrases", "read_kinds", "read_phrases"]

T = TypeVar("T")

_DATA = files("gem_web.sample") / "data"
# The number of a kind decides its brands, so what is new goes to the end.
_DEPARTMENTS = (
    "wear.yaml",
    "house.yaml",
    "kitchen.yaml",
    "outdoors.yaml",
    "leisure.yaml",
    "electronics.yaml",
    "food.yaml",
    "cosmetics.yaml",
)


@functools.cache
def kinds() -> tuple[Kind, ...]:
    """Return the kinds of products of the shop."""
    return read_kinds(_DATA)


@functools.cache
def phrases() -> Phrases:
    """Return the phrases of customers of the shop."""
    return read_phrases(_DATA)


def read_kinds(folder: Traversable) -> tuple[Kind, ...]:
    """Return the kinds of the departments in a folder.

    Raises:
        DataError: A file is not valid YAML, a field is unknown, missing or of a wrong type, a
            shared facet or choice does not exist, or two kinds have the same first noun.
    """
    shared = _load(folder, "shared.yaml").fields("facets", "choices")
    facets = {name: _facet(node) for name, node in shared["facets"].named().items()}
    choices = {name: _choice(node) for name, node in shared["choices"].named().items()}
    found: dict[str, Kind] = {}
    for node in (node for name in _DEPARTMENTS for node in _load(folder, name).listed()):
        kind = _kind(node, facets, choices)
        if kind.nouns[0] in found:
            raise node.error(f"{kind.nouns[0]!r} is also the first noun of an earlier kind")
        found[kind.nouns[0]] = kind
    return tuple(found.values())


def read_phrases(folder: Traversable) -> Phrases:
    """Return the phrases in a folder.

    Raises:
        DataError: The file is not valid YAML, or a field is unknown, missing or of a wrong type.
    """
    own = _load(folder, "phrases.yaml").fields("frames", "under", "amounts", "reviews")
    return Phrases(
        frames=tuple(node.text() for node in own["frames"].listed()),
        under=own["under"].parts(),
        amounts=own["amounts"].parts(),
        reviews=tuple(map(_review, own["reviews"].listed())),
    )


@dataclass(frozen=True, slots=True)
class _Node:
    """A value of a file.

    Args:
        place: The file and the way to the value, for messages.
        value: The value.
    """

    place: str
    value: Any

    def error(self, problem: str, near: str = "") -> DataError:
        return DataError(f"{self.place}: {problem}.{near}")

    def _typed(self, kind: type[T], expected: str) -> T:
        if not isinstance(self.value, kind):
            raise self.error(f"expected {expected}; got {self.value!r:.100}")
        return self.value

    def text(self) -> str:
        return self._typed(str, "text")

    def parts(self, separator: str = "|") -> tuple[str, ...]:
        parts = tuple(part.strip() for part in self.text().split(separator))
        if not all(parts):
            raise self.error(f"expected text around each {separator}; got {self.value!r:.100}")
        return parts

    def listed(self) -> "list[_Node]":
        values = self._typed(list, "a list")
        return [
            _Node(f"{self.place}, entry {number}{_begin(value)}", value)
            for number, value in enumerate(values, 1)
        ]

    def named(self) -> "dict[str, _Node]":
        values = self._typed(dict, "fields")
        return {
            _Node(self.place, name).text(): _Node(f"{self.place}, {name}", value)
            for name, value in values.items()
        }

    def fields(self, *required: str, **defaults: str) -> "dict[str, _Node]":
        """Return the fields of the value, with those that it may leave out."""
        fields = self.named()
        known = (*required, *defaults)
        for name in fields:
            if name not in known:
                raise self.error(f"unknown field {name!r}", near_names(name, known))
        missing = [name for name in required if name not in fields]
        if missing:
            raise self.error(f"without {', '.join(missing)}")
        return {name: _Node(self.place, text) for name, text in defaults.items()} | fields


def _begin(value: Any) -> str:
    """Return the first text of an entry, by which a person finds it."""
    first = next(iter(value.values()), None) if isinstance(value, dict) else None
    return f" ({first})" if isinstance(first, str) else ""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Refuses a name that a mapping has twice; YAML would take the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - the signature of YAML
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            problem = "a name is there twice"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return mapping


def _load(folder: Traversable, name: str) -> _Node:
    try:
        return _Node(name, yaml.load((folder / name).read_text("utf-8"), _Loader))  # noqa: S506
    except yaml.YAMLError as error:
        raise DataError(f"{name} is not valid YAML: {error}") from error


def _kind(node: _Node, facets: Mapping[str, Facet], choices: Mapping[str, Choice]) -> Kind:
    own = node.fields(
        *("nouns", "path", "tags", "prices", "facets", "choices", "about", "extras"), one="a"
    )
    return Kind(
        nouns=own["nouns"].parts(),
        one=own["one"].text(),
        path=own["path"].parts(">"),
        tags=(*own["tags"].parts(), ""),
        prices=_prices(own["prices"]),
        facets=tuple(_known(one, facets, _facet) for one in own["facets"].listed()),
        choices=tuple(_known(one, choices, _choice) for one in own["choices"].listed()),
        about=tuple(one.text() for one in own["about"].listed()),
        extras=own["extras"].parts(),
    )


def _prices(node: _Node) -> tuple[int, int]:
    match node.value:
        case [int(low), int(high)] if 0 < low < high:
            return low, high
    raise node.error(f"expected the lowest and the highest price; got {node.value!r:.100}")


def _known(node: _Node, shared: Mapping[str, T], read: Callable[[_Node], T]) -> T:
    """Return the object that is shared under a name, or the one that is written out."""
    if not isinstance(node.value, str):
        return read(node)
    if node.value not in shared:
        near = near_names(node.value, list(shared))
        raise node.error(f"shared.yaml does not have {node.value!r}", near)
    return shared[node.value]


def _facet(node: _Node) -> Facet:
    own = node.fields("qualities", after="")
    qualities = own["qualities"].named()
    return Facet(
        own["after"].text(),
        tuple(Quality(name, sentences.parts()) for name, sentences in qualities.items()),
    )


def _choice(node: _Node) -> Choice:
    own = node.fields("name", "asks", "values")
    groups = tuple(tuple(group.split("/")) for group in own["values"].parts())
    return Choice(own["name"].text(), own["asks"].parts(), groups)


def _review(node: _Node) -> Review:
    match node.parts():
        case title, "1" | "2" | "3" | "4" | "5" as stars, text:
            return Review(title, float(stars), text)
    raise node.error(f"expected 'title | 1 to 5 stars | text'; got {node.value!r:.100}")
