"""Sets of real numbers, described by intervals, inequalities, unions or lists.

Two descriptions are the same if they contain the same numbers. This is tested at all boundaries
named in either of them, close to them on both sides, between them and beyond them.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator

from gem_math.grading.arithmetic import OutOfRangeError
from gem_math.grading.floating import real_at
from gem_math.grading.nodes import (
    CONSTANTS,
    Apply,
    Bracketed,
    Combined,
    Listing,
    Node,
    Relation,
    SetOf,
    Symbol,
    is_expression,
    is_variable,
    symbols_of,
)
from gem_math.grading.values import proportion

__all__ = ["boundaries", "equal_conditions", "fits", "is_condition", "probes", "variable"]

_INEQUALITIES = frozenset({"<", ">", "\\le", "\\ge", "\\ne", "\\in"})
_MIRRORED = {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le", "\\ne": "\\ne"}
_ALL = "mathbb R"
_TOLERANCE = 1e-9
"""Numbers that are so close are equal, relative to their size and to that of the condition."""
_SIZED_AT = (-11.3, -2.7, -0.9, 0.8, 2.3, 10.7)
_KNOWN = 0.75
"""The share of the numbers at which it must be known whether a condition holds."""
_STEP = 1e-4
"""The distance to a boundary, relative to its size; the square of it is above the tolerance."""
_GRID = [number / 4 for number in range(-48, 49)] + [-1e6, -100.0, -31.4, 27.2, 100.0, 1e6]
_GRID.sort()
_POWERS = (6, 7, 8, 9, 10, 12, 15, 20, 30, 60, 100, 150, 200, 300)
_SEARCHED = sorted([*_GRID, *(sign * 3.7 * 10.0**power for power in _POWERS for sign in (-1, 1))])
"""The numbers between which boundaries are searched; far away, rounding hides other differences."""
_HALVINGS = 45
_THIRDS = 70
_NEAR = 1e-6
"""The precision at which the lowest point of a square is found."""
_ASSIGNMENTS = 3
_MOST_BOUNDARIES = 40
_MOST_VALUES = 120


def is_condition(node: Node) -> bool:
    """Return whether a node describes numbers by other means than a list or one interval."""
    if isinstance(node, Relation):
        return bool(set(node.signs) & _INEQUALITIES)
    if isinstance(node, Listing):
        return any(map(is_condition, node.items))
    return isinstance(node, Combined) or node == Symbol(_ALL)


def equal_conditions(first: Node, second: Node) -> bool | None:
    """Return whether both contain the same real numbers, or None if that cannot be tested."""
    if isinstance(first, Relation) and isinstance(second, Relation):
        alike = _proportional(first, second)
        if alike:
            return True
    try:
        return _contain_the_same(first, second)
    except OutOfRangeError:
        return None


def _contain_the_same(first: Node, second: Node) -> bool:
    names = [variable(node) for node in (first, second)]
    if all(names) and names[0] != names[1]:
        return False
    if not (_describes_reals(first) and _describes_reals(second)):
        return False
    name = names[0] or names[1] or "x"
    if _has_two_variables(first, name) or _has_two_variables(second, name):
        return _structurally_equal(first, second, name)
    return _fit_the_same(first, second, name)


def _structurally_equal(first: Node, second: Node, name: str) -> bool:
    """Return whether both contain the same numbers for all values of the other variables."""
    return all(_fit_the_same(first, second, name, number) for number in range(_ASSIGNMENTS))


def _fit_the_same(first: Node, second: Node, name: str, number: int = 0) -> bool:
    named = itertools.chain(*(boundaries(node, name, number) for node in (first, second)))
    values = list(itertools.islice(named, _MOST_VALUES))
    points = sorted({*values, *_far_from(values, _touches(first, second, name, number))})
    if len(values) == _MOST_VALUES or len(points) > _MOST_BOUNDARIES:
        return first == second
    known = [_fits_both(first, second, name, number, x) for x in probes(points)]
    if known.count(None) > (1 - _KNOWN) * len(known):
        raise OutOfRangeError("nearly all values are too large or too small")
    return False not in known


def _far_from(values: list[float], others: Iterator[float]) -> Iterator[float]:
    """Yield the other numbers that differ from all values by more than a rounding error."""
    for other in others:
        if not any(math.isclose(other, value, rel_tol=_NEAR, abs_tol=_NEAR) for value in values):
            yield other


def _fits_both(first: Node, second: Node, name: str, number: int, x: float) -> bool | None:
    """Return whether both contain ``x``, or neither does; None if that is unknown."""
    try:
        return fits(first, name, number, x) == fits(second, name, number, x)
    except OutOfRangeError:
        return None


def probes(points: list[float]) -> Iterator[float]:
    """Yield numbers at boundaries, close to them, between and beyond them, and on a grid."""
    for value in points:
        yield value
        near = _STEP * max(1.0, abs(value))
        yield from (value - near, value + near)
    yield from (sum(pair) / 2 for pair in itertools.pairwise(points))
    if points:
        yield from (points[0] - 7.3, points[-1] + 7.3)
    yield from _GRID


def _proportional(first: Relation, second: Relation) -> bool:
    """Return whether one inequality is a multiple of the other."""
    if len(first.sides) != 2 or len(second.sides) != 2:
        return False
    if not all(map(is_expression, (*first.sides, *second.sides))):
        return False
    ratio = proportion(Apply("sub", first.sides), Apply("sub", second.sides))
    if ratio is None:
        return False
    sign = second.signs[0]
    return first.signs[0] == (sign if ratio > 0 else _MIRRORED.get(sign, sign))


def variable(node: Node) -> str:
    """Return the variable of a condition, or '' if it has none."""
    if isinstance(node, Listing | Combined):
        return next(filter(None, map(variable, node.items)), "")
    if not isinstance(node, Relation):
        return ""
    middle = node.sides[1]
    if len(node.sides) == 3 and is_variable(middle):
        return middle.name
    alone = [side.name for side in node.sides if is_variable(side)]
    names = alone or sorted(_names(node) - CONSTANTS)
    return "x" if "x" in names else next(iter(names), "")


def _has_two_variables(node: Node, name: str) -> bool:
    return bool(_names(node) - CONSTANTS - {name, _ALL})


def _names(node: Node) -> frozenset[str]:
    if isinstance(node, Listing | Combined | SetOf | Bracketed):
        return frozenset().union(*map(_names, node.items))
    if isinstance(node, Relation):
        return frozenset().union(*map(_names, node.sides))
    return symbols_of(node)


def _describes_reals(node: Node) -> bool:
    """Return whether a node is a set of reals or a condition on them, and not a number."""
    if isinstance(node, Bracketed):
        return _is_interval(node)
    if isinstance(node, SetOf):
        return all(map(is_expression, node.items))
    if isinstance(node, Combined):
        return all(map(_describes_reals, node.items))
    if isinstance(node, Listing):
        return all(isinstance(item, Relation) and _is_condition_on_one(item) for item in node.items)
    if isinstance(node, Relation):
        return set(node.signs) <= _INEQUALITIES and _is_condition_on_one(node)
    return node == Symbol(_ALL)


def _is_interval(node: Bracketed) -> bool:
    """Return whether brackets can be an interval: two ends, the lower one first."""
    if len(node.items) != 2 or node.opening == "to" or not all(map(is_expression, node.items)):
        return False
    low, high = (real_at(item, 0) for item in node.items)
    has_symbols = any(symbols_of(item) - CONSTANTS for item in node.items)
    if has_symbols or low is None or high is None:
        return has_symbols
    return low < high or (low == high and (node.opening, node.closing) == ("[", "]"))


def _is_condition_on_one(node: Relation) -> bool:
    """Return whether a relation restricts a variable: alone on a side, or the only one."""
    sides_fit = all(
        _has_values(side) if sign != "\\in" else _describes_reals(side)
        for sign, side in zip(("", *node.signs), node.sides, strict=True)
    )
    return sides_fit and (any(map(is_variable, node.sides)) or len(_names(node) - CONSTANTS) == 1)


def _has_values(side: Node) -> bool:
    """Return whether a side is an expression with variables, or with a real value."""
    if not is_expression(side):
        return False
    return bool(symbols_of(side) - CONSTANTS) or real_at(side, 0) is not None


def boundaries(node: Node, name: str, number: int) -> Iterator[float]:
    """Yield the finite numbers in a description."""
    if isinstance(node, Bracketed | SetOf | Listing | Combined):
        for item in node.items:
            yield from boundaries(item, name, number)
    elif isinstance(node, Relation):
        for side in node.sides:
            yield from boundaries(side, name, number)
        for sides in itertools.pairwise(node.sides):
            yield from _crossings(*sides, name, number)
    elif name not in symbols_of(node):
        value = real_at(node, number)
        if value is not None and math.isfinite(value):
            yield value
    elif isinstance(node, Apply):
        for argument in node.arguments:
            yield from boundaries(argument, name, number)


def _crossings(left: Node, right: Node, name: str, number: int) -> Iterator[float]:
    """Yield the numbers where the difference of two expressions changes its sign."""
    difference = functools.partial(_difference, left, right, name, number)
    for (low, below), (high, above) in itertools.pairwise(_sampled(left, right, name, number)):
        if below is not None and above is not None and below * above < 0:
            yield _bisected(difference, low, high)


def _touches(first: Node, second: Node, name: str, number: int) -> Iterator[float]:
    """Yield the numbers where sides of a relation touch, or cross twice, between two samples."""
    for node in (first, second):
        if isinstance(node, Listing | Combined):
            for item in node.items:
                yield from _touches(item, item, name, number)
        elif isinstance(node, Relation):
            for left, right in itertools.pairwise(node.sides):
                yield from _lowest_points(left, right, name, number)


def _lowest_points(left: Node, right: Node, name: str, number: int) -> Iterator[float]:
    difference = functools.partial(_difference, left, right, name, number)
    samples = _sampled(left, right, name, number)
    for (low, a), (_, b), (high, c) in zip(samples, samples[1:], samples[2:], strict=False):
        if a is None or b is None or c is None or not (a * b > 0 < b * c):
            continue
        if abs(b) < abs(a) and abs(b) <= abs(c):
            lowest = _lowest(difference, low, high)
            yield lowest
            if (difference(lowest) or 0) * a < 0:
                yield _bisected(difference, low, lowest)
                yield _bisected(difference, lowest, high)


@functools.lru_cache(maxsize=256)
def _sampled(
    left: Node, right: Node, name: str, number: int
) -> tuple[tuple[float, float | None], ...]:
    """Return numbers and the difference of two expressions there, if it depends on the name."""
    if not (is_expression(left) and is_expression(right)):
        return ()
    others = [side for side in (left, right) if side != Symbol(name)]
    if not any(name in symbols_of(side) for side in others):
        return ()
    return tuple((x, _difference(left, right, name, number, x)) for x in _SEARCHED)


def _difference(left: Node, right: Node, name: str, number: int, x: float) -> float | None:
    try:
        a, b = (real_at(side, number, **{name: x}) for side in (left, right))
    except OutOfRangeError:
        return None
    return None if a is None or b is None else a - b


def _lowest(function: Callable[[float], float | None], low: float, high: float) -> float:
    """Return the number between two at which the absolute value of a function is lowest."""
    for _ in range(_THIRDS):
        third = (high - low) / 3
        values = [function(x) for x in (low + third, high - third)]
        sizes = [math.inf if value is None else abs(value) for value in values]
        low, high = (low, high - third) if sizes[0] < sizes[1] else (low + third, high)
    return (low + high) / 2


def _bisected(function: Callable[[float], float | None], low: float, high: float) -> float:
    """Return a number between two at which a function has different signs, where it crosses 0."""
    sign = math.copysign(1, function(low) or 0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        value = function(middle)
        if value is not None and value * sign > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def fits(node: Node, name: str, number: int, x: float) -> bool:
    """Return whether ``x`` is in a set, or satisfies a condition."""
    if isinstance(node, Bracketed):
        return _fits_interval(node, number, x)
    if isinstance(node, Combined):
        return _fits_combination(node, name, number, x)
    if isinstance(node, Relation):
        return _fits_relation(node, name, number, x)
    if isinstance(node, Listing | SetOf):
        items_fit = (fits(item, name, number, x) for item in node.items)
        is_joint = isinstance(node, Listing) and (node.joint == "and" or _excludes(node))
        return all(items_fit) if is_joint else any(items_fit)
    value = x if node == Symbol(_ALL) else real_at(node, number)
    return value is not None and _compare("=", x, value)


def _excludes(node: Listing) -> bool:
    r"""Return whether a list of conditions excludes numbers, as ``0 < x < 9, x \ne 1``."""
    signs = [item.signs for item in node.items if isinstance(item, Relation)]
    return node.joint == "," and ("\\ne",) in signs


def _fits_interval(node: Bracketed, number: int, x: float) -> bool:
    low, high = (real_at(item, number) for item in node.items)
    if low is None or high is None:
        return False
    above = _compare("\\ge" if node.opening == "[" else ">", x, low)
    return above and _compare("\\le" if node.closing == "]" else "<", x, high)


def _fits_combination(node: Combined, name: str, number: int, x: float) -> bool:
    inside = fits(node.items[0], name, number, x)
    for operation, item in zip(node.operations, node.items[1:], strict=True):
        other = fits(item, name, number, x)
        if operation == "union":
            inside = inside or other
        else:
            inside = inside and other == (operation == "intersection")
    return inside


def _fits_relation(node: Relation, name: str, number: int, x: float) -> bool:
    for position, sign in enumerate(node.signs):
        left, right = node.sides[position], node.sides[position + 1]
        if sign == "\\in":
            if not fits(right, name, number, x):
                return False
            continue
        a, b = (real_at(side, number, **{name: x}) for side in (left, right))
        size = _size(left, right, name, number)
        if a is None or b is None or not _compare(sign, a, b, size):
            return False
    return True


@functools.lru_cache(maxsize=256)
def _size(left: Node, right: Node, name: str, number: int) -> float:
    """Return the size of the sides of a condition at some numbers; 1 if it is above and below 1.

    What is far below it is a rounding error, and ``10^{-20} x`` is none.
    """
    found = [[real_at(side, number, **{name: x}) for side in (left, right)] for x in _SIZED_AT]
    sizes = [max(abs(a), abs(b)) for a, b in found if a is not None and b is not None]
    finite = [size for size in sizes if 0 < size < math.inf] or [1.0]
    return min(max(finite), max(1.0, min(finite)))


def _compare(sign: str, a: float, b: float, size: float = 1.0) -> bool:
    if a == b or math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE * size):
        return sign in {"=", "\\le", "\\ge"}
    return {"<": a < b, "\\le": a < b, ">": a > b, "\\ge": a > b, "\\ne": True}.get(sign, False)
