r"""Functions in pieces: ``x`` if ``x >= 0`` and ``-x`` if ``x < 0``, which is ``|x|``.

Two such functions are the same if they have the same values, and are undefined at the same numbers.
This is tested where sets of reals are: at the boundaries of all pieces, close to them, and between.
"""

import contextlib
import itertools
import math

from gem_math.grading.arithmetic import OutOfRangeError
from gem_math.grading.floating import real_at
from gem_math.grading.nodes import Bracketed, Node, Relation, SetOf, is_expression
from gem_math.grading.reals import boundaries, fits, is_condition, probes, variable

__all__ = ["equal_piecewise", "is_piecewise"]

_ENOUGH = 6
_MOST_NUMBERS = 120
_ASSIGNMENTS = 3
_TOLERANCE = 1e-9


def is_piecewise(node: Node) -> bool:
    """Return whether a node is a function in pieces; only the last may lack a condition."""
    if not isinstance(node, SetOf) or len(node.items) < 2:
        return False
    *others, last = node.items
    return all(len(_case(item)) == 2 for item in others) and len(_case(last)) in {1, 2}


def equal_piecewise(first: Node, second: Node) -> bool:
    """Return whether both have the same values, as functions of the variable of the conditions."""
    if not all(is_piecewise(node) or is_expression(node) for node in (first, second)):
        return False
    names = {name for node in (first, second) for name in _variables(node)}
    name = names.pop() if len(names) == 1 else ""
    if not name:
        return False
    try:
        return all(_agree(first, second, name, number) for number in range(_ASSIGNMENTS))
    except OutOfRangeError:
        return False


def _agree(first: Node, second: Node, name: str, number: int) -> bool:
    named = itertools.chain(*(boundaries(node, name, number) for node in (first, second)))
    values = list(itertools.islice(named, _MOST_NUMBERS))
    if len(values) == _MOST_NUMBERS:
        return False
    points = list(probes(sorted(set(values))))
    pairs = []
    for x in points:
        with contextlib.suppress(OutOfRangeError):  # unknown there
            pairs.append([_values(node, name, number, x) for node in (first, second)])
    size = max((abs(value) for pair in pairs for value in (*pair[0], *pair[1])), default=0.0)
    defined = sum(bool(one) for one, _ in pairs)
    return defined >= _ENOUGH and all(_close(one, other, size) for one, other in pairs)


def _close(first: list[float], second: list[float], size: float) -> bool:
    """Return whether all values at a number are the same, or there are none on both sides."""
    values = first + second
    rounding = _TOLERANCE * min(1.0, size)
    pairs = itertools.product(values, repeat=2)
    close = (math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=rounding) for a, b in pairs)
    return bool(first) == bool(second) and all(close)


def _values(node: Node, name: str, number: int, x: float) -> list[float]:
    """Return the value at a number; none where it is undefined, several if pieces overlap."""
    cases = [_case(item) for item in node.items] if isinstance(node, SetOf) else [(node,)]
    default = [case[0] for case in cases if len(case) == 1]
    pieces = [case[0] for case in cases if len(case) == 2 and fits(case[1], name, number, x)]
    pieces = pieces or default
    values = [real_at(piece, number, **{name: x}) for piece in pieces]
    return [value for value in values if value is not None]


def _variables(node: Node) -> set[str]:
    cases = [_case(item) for item in node.items] if isinstance(node, SetOf) else []
    return {variable(case[1]) for case in cases if len(case) == 2}


def _case(node: Node) -> tuple[Node, ...]:
    """Return the value and the condition of a piece, or () for anything else."""
    if (
        not isinstance(node, Bracketed)
        or node.opening != "case"
        or not is_expression(node.items[0])
    ):
        return ()
    return node.items if all(map(_is_test, node.items[1:])) else ()


def _is_test(node: Node) -> bool:
    return is_condition(node) or (isinstance(node, Relation) and set(node.signs) == {"="})
