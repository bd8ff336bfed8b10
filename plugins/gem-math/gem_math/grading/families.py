r"""Families with one number per integer: ``n\pi, n \in \mathbb{Z}``, ``3 \pmod 7``.

Two families are the same if the members of each are members of the other. The name and the start of
the parameter do not matter. This is tested for members around 0. A family of integers with equal
steps, such as ``7k + 3``, is a congruence too.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

from gem_math.grading.arithmetic import OutOfRangeError
from gem_math.grading.exact import exact_value
from gem_math.grading.floating import real_at
from gem_math.grading.forms import both_signs
from gem_math.grading.nodes import (
    CONSTANTS,
    Listing,
    Node,
    Relation,
    Symbol,
    is_expression,
    is_variable,
    symbols_of,
)

__all__ = ["equal_families", "is_family"]

_POINTS = (0, 2)
"""The points at which families with more variables are compared."""
_INTEGERS = Symbol("mathbb Z")
_NEAR = 6
_FAR = 40
_ROUNDING = 1e-9
_LARGEST = 1e12
"""Integers below this are exact in the arithmetic used here."""


@dataclass(frozen=True, slots=True)
class _Family:
    """Expressions with a parameter that takes all integer values."""

    members: tuple[Node, ...]
    parameter: str
    names: frozenset[Node] = frozenset()
    """The names of the members, as ``x`` in ``x = 7k + 3``."""


@dataclass(frozen=True, slots=True)
class _Congruence:
    """The numbers with some residues, and their name if it is given."""

    names: frozenset[Node]
    modulus: Fraction
    residues: frozenset[Fraction]

    def equals(self, other: "_Congruence") -> bool:
        """Return whether both have the same numbers, and no different names."""
        if self.names and other.names and self.names != other.names:
            return False
        return (self.modulus, self.residues) == (other.modulus, other.residues)


def is_family(node: Node) -> bool:
    """Return whether a node is a family of numbers, or a congruence."""
    return _congruence(node) is not None or _family(node) is not None


def equal_families(first: Node, second: Node) -> bool:
    """Return whether two families have the same members, or two congruences are equivalent."""
    one, other = _family(first), _family(second)
    if one is None or other is None:
        one, other = one or _undeclared(first), other or _undeclared(second)
        congruences = _congruence(first) or _steps(one), _congruence(second) or _steps(other)
        return bool(congruences[0] and congruences[1] and congruences[0].equals(congruences[1]))
    return all(_within(one, other, number) and _within(other, one, number) for number in _POINTS)


def _congruence(node: Node) -> _Congruence | None:
    r"""Return ``x \equiv 1, 4 \pmod 5``, or several congruences with one modulus."""
    items = node.items if isinstance(node, Listing) else (node,)
    last = items[-1]
    if not isinstance(last, Relation) or last.signs[-1] != "\\pmod":
        return None
    modulus = _value(last.sides[-1])
    parts = [_residues(item, last.sides[-1], modulus) for item in items] if modulus else []
    known = [part for part in parts if part is not None]
    names = frozenset[Node]().union(*(part[0] for part in known))
    residues = frozenset[Fraction]().union(*(part[1] for part in known))
    if not modulus or len(known) < len(items) or len(names) > 1:
        return None
    return _Congruence(names, abs(modulus), residues)


def _steps(family: _Family | None) -> _Congruence | None:
    """Return the congruence of a family of integers with equal steps, or None."""
    if family is None or not all(symbols_of(one) == {family.parameter} for one in family.members):
        return None
    members = [_members(_Family((one,), family.parameter), _NEAR, 0) for one in family.members]
    slopes = [{b - a for a, b in itertools.pairwise(values)} for values in members]
    steps = {abs(slope.pop()) if len(slope) == 1 else 0 for slope in slopes}
    whole = all(value.is_integer() and abs(value) < _LARGEST for row in members for value in row)
    if not whole or len(steps) != 1 or 0 in steps or not all(members):
        return None
    modulus = Fraction(steps.pop())
    return _Congruence(family.names, modulus, frozenset(Fraction(v[0]) % modulus for v in members))


def _residues(
    item: Node, written: Node, modulus: Fraction
) -> tuple[frozenset[Node], frozenset[Fraction]] | None:
    """Return the name, if any, and the residues of one item of a congruence, or None."""
    sides, signs = (item.sides, item.signs) if isinstance(item, Relation) else ((item,), ())
    if signs[-1:] == ("\\pmod",) and sides[-1] == written:
        sides, signs = sides[:-1], signs[:-1]
    names = sides[:1] if symbols_of(sides[0]) - CONSTANTS else ()
    found = [_all_values(side, modulus) for side in sides[len(names) :]]
    is_claim = len(sides) > 1 and not names
    if not set(signs) <= {"\\equiv", "="} or is_claim or len(set(found)) != 1 or not found[0]:
        return None
    return frozenset(names), found[0]


def _all_values(node: Node, modulus: Fraction) -> frozenset[Fraction]:
    """Return the residues of both values of a side, or none if one of them is not a number."""
    values = [_value(one) for one in both_signs(node)]
    residues = [value % abs(modulus) for value in values if value is not None]
    return frozenset(residues) if len(residues) == len(values) else frozenset()


def _value(node: Node) -> Fraction | None:
    return exact_value(node) if is_expression(node) else None


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
    names = [item.sides[0] for item in members if isinstance(item, Relation)]
    return _Family(tuple(values), parameter.name, frozenset(names))


def _undeclared(node: Node) -> _Family | None:
    """Return the family of ``n = 7k + 3``, where a congruence tells that ``k`` is an integer."""
    items = node.items if isinstance(node, Listing) else (node,)
    equations = [item for item in items if isinstance(item, Relation) and item.signs == ("=",)]
    values = tuple(item.sides[1] for item in equations)
    parameters = frozenset[str]().union(*map(symbols_of, values)) - CONSTANTS
    names = frozenset(item.sides[0] for item in equations)
    if len(equations) < len(items) or len(names) != 1 or len(parameters) != 1:
        return None
    (parameter,), (name,) = parameters, names
    is_family = is_variable(name) and name.name != parameter and all(map(is_expression, values))
    return _Family(values, parameter, names) if is_family else None


def _within(family: _Family, other: _Family, point: int) -> bool:
    """Return whether the members of one family around 0 are members of another one."""
    values, others = _members(family, _NEAR, point), _members(other, _FAR, point)
    return bool(values) and all(
        any(math.isclose(value, known, rel_tol=_ROUNDING, abs_tol=_ROUNDING) for known in others)
        for value in values
    )


def _members(family: _Family, most: int, point: int) -> list[float]:
    try:
        values = [
            real_at(member, point, **{family.parameter: float(number)})
            for member in family.members
            for number in (
                range(-most, most + 1) if family.parameter in symbols_of(member) else (0,)
            )
        ]
    except OutOfRangeError:
        return []
    return [value for value in values if value is not None]
