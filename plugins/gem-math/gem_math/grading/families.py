r"""Families with one number per integer: ``n\pi, n \in \mathbb{Z}``, ``3 \pmod 7``.

Two families are the same if the members of each are members of the other. The name and the start of
the parameter do not matter. This is tested for members around 0.
"""

import math
from dataclasses import dataclass

from gem_math.grading.exact import exact_value
from gem_math.grading.floating import real_at
from gem_math.grading.nodes import (
    Listing,
    Node,
    Relation,
    Symbol,
    is_expression,
    is_variable,
    symbols_of,
)

__all__ = ["equal_families", "is_family"]

_INTEGERS = Symbol("mathbb Z")
_NEAR = 6
_FAR = 40
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class _Family:
    """Expressions with a parameter that takes all integer values."""

    members: tuple[Node, ...]
    parameter: str


def is_family(node: Node) -> bool:
    """Return whether a node is a family of numbers, or a congruence."""
    return _is_congruence(node) or _family(node) is not None


def equal_families(first: Node, second: Node) -> bool:
    """Return whether two families have the same members, or two congruences are equivalent."""
    if isinstance(first, Relation) and isinstance(second, Relation):
        return _equal_congruences(first, second)
    families = _family(first), _family(second)
    if families[0] is None or families[1] is None:
        return False
    return _within(families[0], families[1]) and _within(families[1], families[0])


def _is_congruence(node: Node) -> bool:
    return isinstance(node, Relation) and node.signs[-1] == "\\pmod"


def _equal_congruences(first: Relation, second: Relation) -> bool:
    *named, residue, modulus = first.sides
    *other_named, other_residue, other_modulus = second.sides
    if named and other_named and named != other_named:
        return False
    values = [exact_value(side) for side in (residue, other_residue, modulus, other_modulus)]
    a, b, n, m = values
    if a is None or b is None or not n or n != m:
        return False
    return ((a - b) / n).denominator == 1


def _family(node: Node) -> _Family | None:
    if not isinstance(node, Listing):
        return None
    *members, last = node.items
    if not isinstance(last, Relation) or last.signs != ("\\in",) or last.sides[1] != _INTEGERS:
        return None
    values = [
        item.sides[-1] if isinstance(item, Relation) and item.signs == ("=",) else item
        for item in members
    ]
    parameter = last.sides[0]
    if not values or not is_variable(parameter) or not all(map(is_expression, values)):
        return None
    return _Family(tuple(values), parameter.name)


def _within(family: _Family, other: _Family) -> bool:
    others = _members(other, _FAR)
    return all(
        any(math.isclose(value, known, rel_tol=_ROUNDING, abs_tol=_ROUNDING) for known in others)
        for value in _members(family, _NEAR)
    )


def _members(family: _Family, most: int) -> list[float]:
    values = [
        real_at(member, 0, **{family.parameter: float(number)})
        for member in family.members
        for number in (range(-most, most + 1) if family.parameter in symbols_of(member) else (0,))
    ]
    return [value for value in values if value is not None]
