"""Equality of expressions by value: exact if both are rational, otherwise at several points.

Expressions that differ in double precision are not equal. Rational ones are compared exactly or
modulo primes. Others are equal if they agree, in all digits that matter, wherever both are defined,
at points chosen independently of them. This takes microseconds, where a proof by rewriting takes
milliseconds, and never hangs.
"""

import math
from collections.abc import Set as AbstractSet
from fractions import Fraction

from gem_math.grading.arithmetic import OutOfRangeError, UndefinedError, elsewhere, point
from gem_math.grading.exact import exact_value
from gem_math.grading.floating import float_at, real_at
from gem_math.grading.nodes import CONSTANTS, Apply, Node, Number, renamed, symbols_of
from gem_math.grading.precise import Value, equal_values, is_real, precise_at
from gem_math.grading.residues import equal_residues

__all__ = ["equal_expressions", "other_point", "proportion"]

_POINTS = 6
_ENOUGH = 2
"""The number of points at which expressions with variables must both have a value."""
_ROUGH = 1e-7
"""The relative difference above which values in double precision differ."""
_ROUNDING = 1e-10
"""Their largest rounding error, relative to the largest part of the expressions."""
_ZERO = Number(Fraction(0))
_UNKNOWN = Value(math.nan, 0, 0)
"""A value that is too large or too small."""


def equal_expressions(first: Node, second: Node) -> bool | None:
    """Return whether two expressions are equal, or None if their values do not decide."""
    if first == second:
        return True
    exact = exact_value(first), exact_value(second)
    if exact[0] is not None and exact[1] is not None:
        return exact[0] == exact[1]
    names = symbols_of(first) | symbols_of(second)
    if "infty" in names:
        return _equally_infinite(first, second)
    if _differ_roughly(first, second):
        return False
    equal = equal_residues(first, second)
    if equal is not None:
        return equal
    return _agree(first, second, names - CONSTANTS)


def _equally_infinite(first: Node, second: Node) -> bool | None:
    try:
        infinite = real_at(first, 0), real_at(second, 0)
    except OutOfRangeError:
        return None
    return infinite[0] is not None and infinite[0] == infinite[1]


def _differ_roughly(first: Node, second: Node) -> bool:
    """Return whether two expressions certainly differ in double precision."""
    try:
        (a, largest), (b, other) = float_at(first, 0), float_at(second, 0)
    except UndefinedError:
        return False
    return abs(a - b) > max(_ROUGH * max(abs(a), abs(b)), _ROUNDING * max(largest, other))


def _agree(first: Node, second: Node, names: AbstractSet[str]) -> bool | None:
    """Return whether two expressions agree at all points, or None if they are defined at too few.

    Only real values count where a variable is negative, as many expressions are not meant to have
    a value there.
    """
    compared = 0
    points = range(_POINTS if names else 1)
    for number in points:
        values = _value_at(first, number), _value_at(second, number)
        unknown = sum(value is _UNKNOWN for value in values)
        if unknown:
            if unknown == len(points) == 1:
                return False  # a number that is far larger or smaller than the other one
            continue
        a, b = values
        has_negative = any(point(name, number) < 0 for name in names)
        if has_negative and not all(value and is_real(value.value) for value in values):
            continue
        if a is None or b is None:
            if a is b:
                continue
            return False
        try:
            equal = equal_values(first, second, number, (a, b))
        except OutOfRangeError:
            continue
        except UndefinedError:
            return None
        if not equal:
            return equal
        compared += 1
    return True if compared >= min(_ENOUGH, len(points)) else None


def _value_at(node: Node, number: int) -> Value | None:
    try:
        return precise_at(node, number)
    except OutOfRangeError:
        return _UNKNOWN
    except UndefinedError:
        return None


def proportion(first: Node, second: Node) -> int | None:
    """Return the sign of c if ``first = c * second`` everywhere for a real c other than 0, or None.

    An expression that is 0 everywhere or has no variables is not proportional to anything, so that
    neither ``x = x`` nor ``1 = 2`` is equivalent to any equation.
    """
    if not all(symbols_of(side) - CONSTANTS for side in (first, second)):
        return None
    if _ratios_differ_roughly(first, second):
        return None
    if any(equal_expressions(side, _ZERO) is not False for side in (first, second)):
        return None
    crossed = Apply("mul", (first, other_point(second))), Apply("mul", (other_point(first), second))
    return _sign_of_ratio(first, second) if equal_expressions(*crossed) else None


def other_point(node: Node) -> Node:
    """Return an expression with other names for its variables."""
    names = symbols_of(node) - CONSTANTS
    changed: Node = renamed(node, {name: elsewhere(name) for name in names})
    return changed


def _sign_of_ratio(first: Node, second: Node) -> int | None:
    """Return the sign of the ratio of two proportional expressions, or None if it is not real."""
    for number in range(0, _POINTS, 2):
        try:
            ratio = precise_at(Apply("div", (first, second)), number).value
        except UndefinedError:
            continue
        if ratio and is_real(ratio):
            return 1 if ratio.real > 0 else -1
        return None
    return None


def _ratios_differ_roughly(first: Node, second: Node) -> bool:
    ratio = Apply("div", (first, second))
    try:
        (a, largest), (b, other) = float_at(ratio, 0), float_at(ratio, 2)
    except UndefinedError:
        return False
    return abs(a - b) > max(_ROUGH * max(abs(a), abs(b)), _ROUNDING * max(largest, other))
