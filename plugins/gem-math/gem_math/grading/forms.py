"""The canonical forms of answers, and conversions between equivalent forms."""

from fractions import Fraction

from gem_math.grading.exact import exact_value
from gem_math.grading.nodes import (
    CONSTANTS,
    Apply,
    Bracketed,
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

__all__ = ["components", "plain", "spelled_quantity", "without_names"]

_LONGEST_NAME = 4
"""The words of a name, as in ``Area of the circle = 3``."""
_FUNCTION_NAMES = frozenset("fghFGHPpqTyr")


def plain(node: Node) -> Node:
    """Return the canonical form of an answer, for comparison.

    A set with one value becomes the value, as solutions are written both ways; a plus-minus sign
    becomes two values; an approximation next to an exact value is removed.
    """
    if isinstance(node, Relation):
        return _without_approximation(node)
    if isinstance(node, Listing):
        return Listing(_all_signs(node.items), node.joint)
    if isinstance(node, SetOf):
        items = _all_signs(node.items)
        return items[0] if len(items) == 1 and is_expression(items[0]) else SetOf(items)
    both = _both_signs(node)
    return node if len(both) == 1 else Listing(both)


def _without_approximation(node: Relation) -> Node:
    sides, signs = node.sides, node.signs
    while signs and signs[-1] == "\\approx" and not (len(sides) == 2 and _name_of(sides[0])):
        sides, signs = sides[:-1], signs[:-1]
    return Relation(sides, signs) if signs else sides[0]


def _all_signs(items: tuple[Node, ...]) -> tuple[Node, ...]:
    return tuple(value for item in items for value in _both_signs(item))


def _both_signs(node: Node) -> tuple[Node, ...]:
    r"""Return the values of an expression; ``1 \pm 2`` has two."""
    if not is_expression(node) or not _has_both_signs(node):
        return (node,)
    return _choose(node, upper=True), _choose(node, upper=False)


def _has_both_signs(node: Node) -> bool:
    return isinstance(node, Apply) and (
        node.operation in {"plus_minus", "minus_plus"} or any(map(_has_both_signs, node.arguments))
    )


def _choose(node: Node, *, upper: bool) -> Node:
    if not isinstance(node, Apply):
        return node
    arguments = tuple(_choose(argument, upper=upper) for argument in node.arguments)
    if node.operation in {"plus_minus", "minus_plus"}:
        is_plus = upper == (node.operation == "plus_minus")
        if len(arguments) == 1:
            return arguments[0] if is_plus else Apply("neg", arguments)
        return Apply("add" if is_plus else "sub", arguments)
    return Apply(node.operation, arguments)


# Names


def without_names(answer: Node, gold: Node) -> tuple[Node, Node]:
    """Return both answers without the names of their values: ``x = 5`` becomes 5.

    Names are kept if they matter: if they differ, or if both sides have the same several names.
    """
    first, second = _named(answer), _named(gold)
    if first is None and second is not None and not _has_relation(answer):
        return answer, plain(second[1])
    if second is None and first is not None and not _has_relation(gold):
        return plain(first[1]), gold
    if first is None or second is None or _stem(first[0] | second[0]) == "":
        return answer, gold
    if first[0] == second[0] and len(first[0]) > 1:
        return answer, gold
    return plain(first[1]), plain(second[1])


def _has_relation(node: Node) -> bool:
    return isinstance(node, Relation) or (
        isinstance(node, Listing) and any(isinstance(item, Relation) for item in node.items)
    )


def _named(node: Node) -> tuple[frozenset[str], Node] | None:
    """Return the names in an answer, and their values."""
    if isinstance(node, Relation):
        name = _name_of(node.sides[0])
        names_value = set(node.signs) == {"="} or node.signs in {("\\approx",), ("\\in",)}
        return (frozenset({name}), node.sides[-1]) if name and names_value else None
    if not isinstance(node, Listing) or not _has_relation(node):
        return None
    parts = [
        _named(item) if isinstance(item, Relation) else (frozenset(), item) for item in node.items
    ]
    known = [part for part in parts if part is not None]
    names = frozenset[str]().union(*(part[0] for part in known))
    if len(known) < len(parts) or not _stem(names):
        return None
    return names, Listing(tuple(part[1] for part in known), node.joint)


def _stem(names: frozenset[str]) -> str:
    """Return the common part of names before their index: ``x`` for ``x_1`` and ``x_2``."""
    stems = {name.partition("_")[0] for name in names}
    return stems.pop() if len(stems) == 1 else ""


def _name_of(node: Node) -> str:
    """Return the name on a side of an equation (``x``, ``x_1``, ``f(x)``), or '' for others."""
    if isinstance(node, Symbol):
        return "" if node.name in CONSTANTS else node.name
    if isinstance(node, Text):
        return node.words if len(node.words.split()) <= _LONGEST_NAME else ""
    if isinstance(node, Bracketed):
        parts = [_name_of(item) for item in node.items]
        return f"({','.join(parts)})" if all(parts) else ""
    if isinstance(node, Apply) and node.operation == "mul":
        head, argument = node.arguments
        if isinstance(head, Apply) and head.operation == "pow":
            head = head.arguments[0]
        if isinstance(head, Symbol) and isinstance(argument, Symbol | Number):
            stem = head.name.partition("_")[0].rstrip("'")
            return head.name if stem in _FUNCTION_NAMES else ""
    return ""


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
