"""Names of values: ``x = 5`` is 5, and ``m + n = 385`` is 385 where a number is asked for.

A chain of equations counts by its last side, if the sides between agree. An equation that
determines its variable, such as ``x + 1 = 6``, is not a name for its right side.
"""

import itertools
from collections.abc import Callable

from gem_math.grading.expressions import FUNCTION_NAMES
from gem_math.grading.forms import components, plain
from gem_math.grading.nodes import (
    CONSTANTS,
    Apply,
    Bracketed,
    Listing,
    Matrix,
    Node,
    Number,
    Ratio,
    Relation,
    SetOf,
    Symbol,
    Text,
    is_expression,
    is_variable,
    symbols_of,
)
from gem_math.grading.reals import is_condition, variable

__all__ = ["as_point", "without_names"]

_LONGEST_NAME = 8
"""The words of a name, as in ``Area of the circle = 3``."""
_UNKNOWNS = frozenset("xyz")
_ANGLE_FUNCTIONS = frozenset({"sin", "cos", "tan", "cot", "sec", "csc"})


Agree = Callable[[Node, Node], bool | None]
"""Whether two nodes are the same, or None if no rule decides."""


def without_names(answer: Node, gold: Node, agree: Agree) -> tuple[Node, Node]:
    """Return both answers without the names of their values: ``x = 5`` becomes 5.

    Names are kept if they matter: if they differ, or if both sides have the same several names.

    Args:
        answer: The answer.
        gold: The reference.
        agree: The comparison of the sides of a chain.
    """
    answer, gold = _without_label(answer, gold), _without_label(gold, answer)
    first, second = _named(answer, agree), _named(gold, agree)
    if first is None and second is not None and not _has_relation(answer):
        return answer, plain(second[1])
    if second is None and not _has_relation(gold):
        value = first[1] if first else _described(answer, agree)
        return (answer if value is None else plain(value)), gold
    if first is None or second is None or _stem(first[0] | second[0]) == "":
        return answer, gold
    if first[0] == second[0] and len(first[0]) > 1:
        return answer, gold
    return plain(first[1]), plain(second[1])


def _without_label(node: Node, other: Node) -> Node:
    """Return the set that ``D`` names in ``D = (2, 3)`` if the other answer is a condition."""
    if not isinstance(node, Relation) or node.signs != ("=",) or not is_condition(other):
        return node
    name, value = _name_of(node.sides[0]), node.sides[1]
    is_label = len(name) > 1 or name.isupper() or name == variable(other) != ""
    is_set = is_condition(value) or isinstance(value, Bracketed | SetOf)
    return plain(value) if is_label and is_set else node


def as_point(answer: Node, gold: Node) -> tuple[Node, Node]:
    """Return both answers, with ``x = 2, y = 3`` as ``(2, 3)`` if the other one is a point.

    The same holds for several points, and for a vector that is written as a matrix.
    """
    answer, gold = _equations(answer), _equations(gold)
    return _like(answer, gold), _like(gold, answer)


def _like(node: Node, other: Node) -> Node:
    """Return a node as one or more points, if the other node is one or more points."""
    if isinstance(other, Listing) and all(isinstance(item, Bracketed) for item in other.items):
        return _points(node) or node
    if isinstance(other, Matrix):
        return node if isinstance(node, Matrix) else (_point(node) or node)
    is_point = isinstance(other, Bracketed) or components(other) is not None
    if is_point or _point(other) is not None:
        return _vector(node) or (_point(node) if isinstance(other, Bracketed) else None) or node
    return node


def _vector(node: Node) -> Node | None:
    """Return the point of a matrix with one column or one row."""
    if not isinstance(node, Matrix):
        return None
    entries = [entry for row in node.rows for entry in row]
    is_vector = len(node.rows) in {1, len(entries)} and all(map(is_expression, entries))
    return Bracketed("(", tuple(entries), ")") if is_vector else None


def _points(node: Node) -> Node | None:
    """Return the points of ``x = 1, y = 2 or x = 3, y = 4``: the names repeat in their order."""
    if not isinstance(node, Listing):
        return None
    names = [_name_of(item.sides[0]) for item in node.items if isinstance(item, Relation)]
    size = len(set(names))
    if len(names) < len(node.items) or names != names[:size] * (len(names) // max(size, 1)):
        return None
    parts = [node.items[start : start + size] for start in range(0, len(names), size)]
    points = [_point(Listing(part)) for part in parts]
    known = tuple(point for point in points if point is not None)
    return Listing(known) if size > 1 and len(known) == len(parts) else None


def _equations(node: Node) -> Node:
    """Return ``(x, y) = (2, 3)`` and ``(x = 2, y = 3)`` as ``x = 2, y = 3``."""
    if isinstance(node, Bracketed) and all(isinstance(item, Relation) for item in node.items):
        return Listing(node.items)
    if not isinstance(node, Relation) or node.signs != ("=",):
        return node
    names, values = node.sides
    if not (isinstance(names, Bracketed) and isinstance(values, Bracketed)):
        return node
    if len(names.items) != len(values.items) or not all(map(is_variable, names.items)):
        return node
    pairs = zip(names.items, values.items, strict=True)
    return Listing(tuple(Relation(pair, ("=",)) for pair in pairs))


def _point(node: Node) -> Node | None:
    """Return the point with the coordinates of a list of equations, in the order of their names."""
    if not isinstance(node, Listing) or node.joint == "or":
        return None
    values = {
        item.sides[0].name: item.sides[1]
        for item in node.items
        if isinstance(item, Relation) and item.signs == ("=",) and is_variable(item.sides[0])
    }
    if len(values) < len(node.items):
        return None
    return Bracketed("(", tuple(values[name] for name in sorted(values)), ")")


def _described(node: Node, agree: Agree) -> Node | None:
    """Return the value of a chain that starts with a description or a calculation of it."""
    if not isinstance(node, Relation) or set(node.signs) != {"="}:
        return None
    is_calculation = not _variables(node.sides[0])
    if not is_calculation and not _describes_value(node.sides[0]):
        return None
    sides = node.sides if is_calculation else node.sides[1:]
    return sides[-1] if _all_agree(sides, agree) else None


def _describes_value(node: Node) -> bool:
    """Return whether a side names a value, as opposed to an equation for a variable."""
    if not isinstance(node, Apply):
        return False
    if node.operation == "div" and all(map(_is_differential, node.arguments)):
        return True
    if node.operation in {"div", "pow"} and any(map(_describes_value, node.arguments)):
        return all(_describes_value(part) or not _variables(part) for part in node.arguments)
    if node.operation in {"add", "sub", "div"}:
        return len(_variables(node)) > 1 and not _variables(node) & _UNKNOWNS
    if node.operation in _ANGLE_FUNCTIONS:
        return all(len(name) > 1 or name.isupper() for name in _variables(node))
    return node.operation in {"mul", "abs"} and all(
        name.isupper() and len(name) == 1 for name in symbols_of(node)
    )


def _is_differential(node: Node) -> bool:
    return isinstance(node, Apply) and node.operation == "mul" and node.arguments[0] == Symbol("d")


def _variables(node: Node) -> frozenset[str]:
    return symbols_of(node) - CONSTANTS


def _all_agree(sides: tuple[Node, ...], agree: Agree) -> bool:
    return all(agree(one, other) is True for one, other in itertools.pairwise(sides))


def _has_relation(node: Node) -> bool:
    return isinstance(node, Relation) or (
        isinstance(node, Listing) and any(isinstance(item, Relation) for item in node.items)
    )


def _named(node: Node, agree: Agree) -> tuple[frozenset[str], Node] | None:
    """Return the names in an answer, and their values."""
    if isinstance(node, Relation):
        node = _name_first(node)
        name = _name_in(node)
        names_value = set(node.signs) == {"="} or node.signs in {("\\approx",), ("\\in",)}
        is_value = name not in symbols_of(node.sides[-1]) and _all_agree(node.sides[1:], agree)
        return (frozenset({name}), node.sides[-1]) if name and names_value and is_value else None
    if not isinstance(node, Listing) or not _has_relation(node):
        return None
    parts = [
        _named(item, agree) if isinstance(item, Relation) else (frozenset(), item)
        for item in node.items
    ]
    known = [part for part in parts if part is not None]
    names = frozenset[str]().union(*(part[0] for part in known))
    if len(known) < len(parts) or not _stem(names):
        return None
    return names, Listing(tuple(part[1] for part in known), node.joint)


def _name_in(node: Relation) -> str:
    """Return the name of the value on the last side of a relation, or ''."""
    name, value = node.sides[0], node.sides[-1]
    parts = value.parts if isinstance(value, Ratio) else (value,)
    return _name_of(name) or ("" if any(map(_variables, parts)) else _measure(name))


def _measure(node: Node) -> str:
    r"""Return the name of a length or of a ratio: ``AB``, ``|AB|``, ``\frac{AB}{CD}``, ``a:b``."""
    if isinstance(node, Ratio):
        names = [_name_of(part) or _measure(part) for part in node.parts]
        return ":".join(names) if all(names) else ""
    if isinstance(node, Symbol):
        return node.name if node.name.isupper() and len(node.name) == 1 else ""
    if not isinstance(node, Apply) or node.operation not in {"mul", "abs", "div"}:
        return ""
    names = [_measure(part) for part in node.arguments]
    return {"div": "/"}.get(node.operation, "").join(names) if all(names) else ""


def _name_first(node: Relation) -> Relation:
    """Return ``x = 5`` for ``5 = x``."""
    value, name = node.sides[0], node.sides[-1]
    is_reversed = node.signs == ("=",) and is_variable(name) and not _variables(value)
    return Relation((name, value), node.signs) if is_reversed and is_expression(value) else node


def _stem(names: frozenset[str]) -> str:
    """Return the common part of names before an index or call: ``x`` for ``x_1`` and ``x_2``."""
    stems = {name.partition("_")[0] for name in names}
    heads = {stem.partition("(")[0] or stem for stem in stems}
    return heads.pop() if len(stems) == 1 or (len(stems) == 2 and heads < stems) else ""


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
        if isinstance(head, Apply) and symbols_of(head) <= FUNCTION_NAMES and symbols_of(head):
            return str(head)
        if isinstance(head, Symbol) and isinstance(argument, Symbol | Number):
            stem = head.name.partition("_")[0].rstrip("'")
            return head.name if stem in FUNCTION_NAMES else ""
    return ""
