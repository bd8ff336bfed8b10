"""The nodes of a parsed answer."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Literal, TypeGuard

from gem_math.grading.units import Unit

__all__ = [
    "CONSTANTS",
    "Apply",
    "Bracketed",
    "Combined",
    "Listing",
    "Matrix",
    "Node",
    "Number",
    "Numeral",
    "Quantity",
    "Ratio",
    "Relation",
    "SetOf",
    "Symbol",
    "Text",
    "is_expression",
    "is_variable",
    "renamed",
    "symbols_of",
]

CONSTANTS = frozenset({"pi", "e", "i", "infty"})
"""The symbols with a fixed value."""


@dataclass(frozen=True, slots=True)
class Number:
    """An exact number."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable or a constant: ``x``, ``x_1``, ``pi``."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation on expressions: ``add``, ``mul``, ``pow``, ``sin``, ..."""

    operation: str
    arguments: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An expression with a unit."""

    value: "Node"
    unit: Unit


@dataclass(frozen=True, slots=True)
class Numeral:
    """Digits in a base other than ten."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Bracketed:
    """Several items in brackets: a point, a vector, an interval; ``to`` opens a range."""

    opening: str
    items: "tuple[Node, ...]"
    closing: str


@dataclass(frozen=True, slots=True)
class SetOf:
    """A set of items."""

    items: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Combined:
    """Set operations on sets and intervals, from left to right."""

    items: "tuple[Node, ...]"
    operations: tuple[Literal["union", "intersection", "difference"], ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """Several answers without order."""

    items: "tuple[Node, ...]"
    joint: Literal[",", "or", "and"] = ","


@dataclass(frozen=True, slots=True)
class Relation:
    """Expressions with relations between them: ``0 < x < 1``; one sign fewer than sides."""

    sides: "tuple[Node, ...]"
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ratio:
    """The parts of a ratio such as ``2:3``."""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix as rows of entries."""

    rows: "tuple[tuple[Node, ...], ...]"


@dataclass(frozen=True, slots=True)
class Text:
    """Words, in lower case."""

    words: str


Node = (
    Number
    | Symbol
    | Apply
    | Quantity
    | Numeral
    | Bracketed
    | SetOf
    | Combined
    | Listing
    | Relation
    | Ratio
    | Matrix
    | Text
)


def is_expression(node: Node) -> bool:
    """Return whether a node is an expression: a number, a symbol or an operation."""
    return isinstance(node, Number | Symbol | Apply)


def is_variable(node: Node) -> TypeGuard[Symbol]:
    """Return whether a node is a variable: a symbol without a fixed value."""
    return isinstance(node, Symbol) and node.name not in CONSTANTS


def symbols_of(node: Node) -> frozenset[str]:
    """Return the names of all symbols in an expression, including constants."""
    if isinstance(node, Symbol):
        return frozenset({node.name})
    if isinstance(node, Apply):
        return frozenset().union(*map(symbols_of, node.arguments))
    return frozenset()


def renamed(part: Any, names: Mapping[str, str]) -> Any:
    """Return a node, or a part of one, with other names for some of its symbols."""
    if isinstance(part, Symbol):
        return Symbol(names.get(part.name, part.name))
    if isinstance(part, tuple):
        return tuple(renamed(one, names) for one in part)
    if not isinstance(part, Node):
        return part
    changed = {field.name: renamed(getattr(part, field.name), names) for field in fields(part)}
    return replace(part, **changed)
