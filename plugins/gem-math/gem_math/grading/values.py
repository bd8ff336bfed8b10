"""Equality of expressions by value: exact if both are rational, otherwise at several points.

Expressions that differ in double precision are not equal. Expressions that agree to 50 digits
wherever both are defined, at points chosen independently of them, are equal for all practical
purposes. This takes microseconds, where a proof by rewriting takes milliseconds, and never hangs.

Reference: J. T. Schwartz, "Fast probabilistic algorithms for verification of polynomial
identities", Journal of the ACM 27(4), 1980.
"""

from typing import Any

from gem_math.grading.arithmetic import UndefinedError
from gem_math.grading.exact import exact_value
from gem_math.grading.floating import float_at, real_at
from gem_math.grading.nodes import CONSTANTS, Apply, Node, symbols_of
from gem_math.grading.precise import agree, precise_at, vanishes

__all__ = ["equal_expressions", "proportion"]

_POINTS = 6
_ENOUGH = 2
"""The number of points at which expressions with variables must both have a value."""
_ROUGH = 1e-7
"""The relative difference above which values in double precision certainly differ."""


def equal_expressions(first: Node, second: Node) -> bool | None:
    """Return whether two expressions are equal, or None if their values do not decide."""
    if first == second:
        return True
    exact = exact_value(first), exact_value(second)
    if exact[0] is not None and exact[1] is not None:
        return exact[0] == exact[1]
    names = symbols_of(first) | symbols_of(second)
    if "infty" in names:
        infinite = real_at(first, 0), real_at(second, 0)
        return infinite[0] is not None and infinite[0] == infinite[1]
    if _differ_roughly(first, second):
        return False
    return _agree_at(first, second, range(_POINTS if names - CONSTANTS else 1))


def _differ_roughly(first: Node, second: Node) -> bool:
    """Return whether two expressions certainly differ in double precision."""
    try:
        a, b = float_at(first, 0), float_at(second, 0)
    except UndefinedError:
        return False
    return abs(a - b) > _ROUGH * max(abs(a), abs(b), 1e-6)


def _agree_at(first: Node, second: Node, points: range) -> bool | None:
    """Return whether two expressions agree at all points, or None if they are defined at too few.

    Only real values count where variables are negative (at points with odd numbers), as many
    expressions are not meant to have a value there.
    """
    compared = 0
    for number in points:
        a, b = _value_at(first, number), _value_at(second, number)
        if number % 2 and not (_is_real(a) and _is_real(b)):
            continue
        if a is None and b is None:
            continue
        if a is None or b is None:
            return False
        if not agree(a, b) and not (vanishes(first, number) and vanishes(second, number)):
            return False
        compared += 1
    return True if compared >= min(_ENOUGH, len(points)) else None


def _value_at(node: Node, number: int) -> Any:
    try:
        return precise_at(node, number)
    except UndefinedError:
        return None


def _is_real(value: Any) -> bool:
    return value is not None and agree(value, value.real)


def proportion(first: Node, second: Node) -> float | None:
    """Return c if ``first = c * second`` everywhere for a number c other than 0, or None.

    An expression that is 0 everywhere or has no variables is not proportional to anything, so that
    neither ``x = x`` nor ``1 = 2`` is equivalent to any equation.
    """
    if not all(symbols_of(side) - CONSTANTS for side in (first, second)):
        return None
    if _ratios_differ_roughly(first, second):
        return None
    ratios = []
    for number in range(_POINTS):
        try:
            zeros = vanishes(first, number), vanishes(second, number)
            if zeros[0] != zeros[1]:
                return None
            if not zeros[0]:
                ratios.append(precise_at(Apply("div", (first, second)), number))
        except UndefinedError:
            continue
    if len(ratios) < _ENOUGH or not all(_is_real(r) and agree(r, ratios[0]) for r in ratios):
        return None
    return float(ratios[0].real)


def _ratios_differ_roughly(first: Node, second: Node) -> bool:
    ratio = Apply("div", (first, second))
    try:
        a, b = float_at(ratio, 0), float_at(ratio, 2)
    except UndefinedError:
        return False
    return abs(a - b) > _ROUGH * max(abs(a), abs(b))
