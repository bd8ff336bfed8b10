"""The canonical forms of answers, and conversions between equivalent forms."""

import itertools
import math
from fractions import Fraction

from gem_math.grading.arithmetic import OutOfRangeError
from gem_math.grading.build import in_base_units
from gem_math.grading.exact import exact_value
from gem_math.grading.floating import real_at
from gem_math.grading.nodes import (
    CONSTANTS,
    Apply,
    Bracketed,
    Combined,
    Listing,
    Node,
    Number,
    Quantity,
    Relation,
    SetOf,
    Symbol,
    Text,
    is_expression,
    symbols_of,
)
from gem_math.grading.tokens import UNIT_VECTORS
from gem_math.grading.units import Unit, read_unit

__all__ = ["both_signs", "components", "compound", "plain", "spelled_quantity"]

_MOST_MISSING = 60
_MOST_SIGNS = 3
_NEAR = 0.05
"""The largest relative difference between a value and its approximation."""
_DOTS = Text("...")


def plain(node: Node) -> Node:
    """Return the canonical form of an answer, for comparison.

    A set with one value becomes the value, as solutions are written both ways; a plus-minus sign
    becomes two values; dots become the numbers they stand for; an approximation next to an exact
    value is removed.
    """
    if isinstance(node, Relation):
        return _without_approximation(_both_excluded(node))
    if isinstance(node, Combined):
        return Combined(tuple(map(_with_all_signs, node.items)), node.operations)
    if isinstance(node, Listing):
        return Listing(_written_out(_all_signs(node.items)), node.joint)
    if isinstance(node, SetOf):
        items = _written_out(_all_signs(node.items))
        return items[0] if len(items) == 1 and is_expression(items[0]) else SetOf(items)
    if isinstance(node, Bracketed):
        node = Bracketed(node.opening, _written_out(node.items), node.closing)
    both = both_signs(node)
    return node if len(both) == 1 else Listing(both)


def _both_excluded(node: Relation) -> Node:
    r"""Return ``x \ne 2`` and ``x \ne -2`` for ``x \ne \pm 2``, and other relations unchanged."""
    values = both_signs(node.sides[-1])
    if node.signs != ("\\ne",) or len(values) == 1:
        return node
    parts = [Relation((node.sides[0], value), node.signs) for value in values]
    return Listing(tuple(parts), "and")


def _without_approximation(node: Node) -> Node:
    if not isinstance(node, Relation):
        return node
    sides, signs = node.sides, node.signs
    while signs and signs[-1] == "\\approx" and _is_approximation(sides):
        sides, signs = sides[:-1], signs[:-1]
    return Relation(sides, signs) if signs else sides[0]


def _is_approximation(sides: tuple[Node, ...]) -> bool:
    """Return whether the last side is close to the one before, or that has no number to compare."""
    *names, exact, rounded = sides
    if not is_expression(exact) or not is_expression(rounded):
        return bool(names) or isinstance(exact, Quantity)
    if symbols_of(exact) - CONSTANTS:
        return bool(names)
    try:
        values = real_at(exact, 0), real_at(rounded, 0)
    except OutOfRangeError:
        return False
    return None not in values and math.isclose(*values, rel_tol=_NEAR)  # type: ignore[arg-type]


def _written_out(items: tuple[Node, ...]) -> tuple[Node, ...]:
    r"""Return ``1, 2, 3, 4, 5`` for ``1, 2, \dots, 5``; the terms must have equal differences."""
    if items.count(_DOTS) != 1 or items[-1] == _DOTS:
        return items
    at = items.index(_DOTS)
    before, after = (list(map(_exact, some)) for some in (items[:at], items[at + 1 :]))
    terms = [value for value in before if value is not None]
    ends = [value for value in after if value is not None]
    if len(terms) < max(len(before), 1):
        return items
    step = terms[1] - terms[0] if len(terms) > 1 else Fraction(1)
    if len(ends) < len(after):
        return _shortened(terms, step, items[at:])
    count = (ends[0] - terms[-1]) / step if step else Fraction(0)
    if count.denominator != 1 or not 1 < count <= _MOST_MISSING:
        return items
    missing = [terms[-1] + step * number for number in range(1, int(count))]
    values = [*terms, *missing, *ends]
    if any(b - a != step for a, b in itertools.pairwise(values)):
        return items
    return tuple(map(Number, values))


def _shortened(terms: list[Fraction], step: Fraction, rest: tuple[Node, ...]) -> tuple[Node, ...]:
    r"""Return ``1, 2, \dots, n`` for ``1, 2, 3, \dots, n``: terms up to the second."""
    if any(b - a != step for a, b in itertools.pairwise(terms)):
        return (*map(Number, terms), *rest)
    return (Number(terms[0]), Number(terms[0] + step), *rest)


def _exact(node: Node) -> Fraction | None:
    return exact_value(node) if is_expression(node) else None


def _all_signs(items: tuple[Node, ...]) -> tuple[Node, ...]:
    return tuple(value for item in items for value in both_signs(item))


def _with_all_signs(node: Node) -> Node:
    return SetOf(_all_signs(node.items)) if isinstance(node, SetOf) else node


def both_signs(node: Node) -> tuple[Node, ...]:
    r"""Return the values of an expression or point; ``1 \pm 2`` has two.

    The signs of a point's coordinates are independent, unless one of them is ``\mp``.
    """
    if isinstance(node, Bracketed):
        return _both_points(node)
    if not is_expression(node) or not _has_both_signs(node):
        return (node,)
    return _choose(node, upper=True), _choose(node, upper=False)


def _both_points(node: Bracketed) -> tuple[Node, ...]:
    signed = [item for item in node.items if is_expression(item) and _has_both_signs(item)]
    if not signed or len(signed) > _MOST_SIGNS:
        return (node,)
    if any(_operations(item) & {"minus_plus"} for item in signed):
        choices = [[_choose(item, upper=upper) for item in node.items] for upper in (True, False)]
    else:
        choices = [list(some) for some in itertools.product(*map(both_signs, node.items))]
    return tuple(Bracketed(node.opening, tuple(some), node.closing) for some in choices)


def _operations(node: Node) -> frozenset[str]:
    if not isinstance(node, Apply):
        return frozenset()
    return frozenset({node.operation}).union(*map(_operations, node.arguments))


def _has_both_signs(node: Node) -> bool:
    return bool(_operations(node) & {"plus_minus", "minus_plus"})


def _choose(node: Node, *, upper: bool) -> Node:
    if not isinstance(node, Apply):
        return node
    arguments = tuple(_choose(argument, upper=upper) for argument in node.arguments)
    if node.operation in {"plus_minus", "minus_plus"}:
        is_plus = upper == (node.operation == "plus_minus")
        if len(arguments) == 1:
            return arguments[0] if is_plus else _negative(arguments[0])
        return Apply("add" if is_plus else "sub", arguments)
    return Apply(node.operation, arguments)


def _negative(node: Node) -> Node:
    """Return an expression, or each coordinate of a point, with the other sign."""
    if isinstance(node, Bracketed):
        return Bracketed(node.opening, tuple(map(_negative, node.items)), node.closing)
    return Apply("neg", (node,))


# Quantities


def spelled_quantity(node: Node) -> Quantity | None:
    """Return a product with letters as a quantity, such as ``2*m`` as 2 metres."""
    if not isinstance(node, Apply) or node.operation not in {"mul", "div"}:
        return None
    value, letters = node.arguments
    unit, inner = _spelled_unit(letters), spelled_quantity(value)
    if unit is None:
        return None
    if inner is not None:
        return Quantity(inner.value, inner.unit.times(unit, 1 if node.operation == "mul" else -1))
    is_value = node.operation == "mul" and not symbols_of(value)
    return Quantity(value, unit) if is_value else None


def compound(node: Node) -> Node:
    """Return ``1 hour and 30 minutes`` as one quantity; each part is less than the unit before."""
    if not isinstance(node, Listing) or node.joint == "or" or len(node.items) < 2:
        return node
    parts = [item for item in node.items if isinstance(item, Quantity)]
    if len(parts) < len(node.items) or len({part.unit.powers for part in parts}) > 1:
        return node
    for larger, part in itertools.pairwise(parts):
        value = _exact(part.value)
        if value is None or not 0 <= value * part.unit.factor < larger.unit.factor:
            return node
    total = in_base_units(parts[0])
    for part in parts[1:]:
        total = Apply("add", (total, in_base_units(part)))
    return Quantity(total, parts[0].unit.base)


def _spelled_unit(node: Node) -> Unit | None:
    if isinstance(node, Symbol) and len(node.name) == 1:
        return read_unit(node.name)
    if (
        isinstance(node, Apply)
        and node.operation == "pow"
        and isinstance(node.arguments[0], Symbol)
    ):
        base, power = _spelled_unit(node.arguments[0]), exact_value(node.arguments[1])
        if base is not None and power in {-3, -2, -1, 2, 3}:
            return Unit(Fraction(1), ()).times(base, int(power))
    return None


# Vectors


def components(node: Node) -> Bracketed | None:
    """Return the components of a sum of multiples of unit vectors, ``i + 2j``, or None.

    A component is the value of the sum when one unit vector is 1 and the others are 0.
    """
    names = [f"vec {letter}" for letter in UNIT_VECTORS]
    if not is_expression(node) or not symbols_of(node) & set(names):
        return None
    return Bracketed("(", tuple(_put(node, names, name) for name in names), ")")


def _put(node: Node, names: list[str], chosen: str) -> Node:
    if isinstance(node, Symbol) and node.name in names:
        return Number(Fraction(node.name == chosen))
    if isinstance(node, Apply):
        arguments = tuple(_put(argument, names, chosen) for argument in node.arguments)
        return Apply(node.operation, arguments)
    return node
