"""Exact rational numbers; an operation with any other result is undefined."""

import math
from fractions import Fraction
from typing import Any

from gem_math.grading.arithmetic import Arithmetic, UndefinedError
from gem_math.grading.nodes import Node, Number

__all__ = ["exact_value"]

_MOST_BITS = 20_000
_LARGEST_FACTORIAL = 1000
_LARGEST_INDEX = 64


class _Exact(Arithmetic):
    constants: dict[str, Any] = {}  # noqa: RUF012 - pi, e and i are not rational

    def number(self, value: Fraction) -> Fraction:
        return value

    def mul(self, a: Fraction, b: Fraction) -> Fraction:
        return _bounded(a * b)

    def pow(self, base: Fraction, exponent: Fraction) -> Fraction:
        if exponent.denominator != 1:
            return self.root(self.pow(base, Fraction(exponent.numerator)), exponent.denominator)
        if abs(base) == 1:
            return base if exponent.numerator % 2 else Fraction(1)
        size = base.numerator.bit_length() + base.denominator.bit_length()
        if size * abs(exponent.numerator) > _MOST_BITS or (base == 0 and exponent <= 0):
            raise UndefinedError("too large, or 0 to the power of 0 or less")
        return Fraction(base**exponent.numerator)

    def root(self, value: Fraction, index: Fraction | int) -> Fraction:
        if index.denominator != 1 or not 0 < index < _LARGEST_INDEX:
            raise UndefinedError("an index that is not a small integer")
        if value < 0 and index % 2 == 0:
            raise UndefinedError("not real")
        sign, n = (-1 if value < 0 else 1), int(index)
        above, below = (_whole_root(abs(part), n) for part in (value.numerator, value.denominator))
        return sign * Fraction(above, below)

    def abs(self, value: Fraction) -> Fraction:
        return abs(value)

    def floor(self, value: Fraction) -> Fraction:
        return Fraction(math.floor(value))

    def ceil(self, value: Fraction) -> Fraction:
        return Fraction(math.ceil(value))

    def factorial(self, value: Fraction) -> Fraction:
        return _bounded(Fraction(math.factorial(_whole(value, _LARGEST_FACTORIAL))))

    def binomial(self, n: Fraction, k: Fraction) -> Fraction:
        return Fraction(math.comb(_whole(n, _LARGEST_FACTORIAL), _whole(k, _LARGEST_FACTORIAL)))

    def gcd(self, *values: Fraction) -> Fraction:
        return Fraction(math.gcd(*map(_whole, values)))

    def lcm(self, *values: Fraction) -> Fraction:
        return _bounded(Fraction(math.lcm(*map(_whole, values))))

    def max(self, *values: Fraction) -> Fraction:
        return max(values)

    def min(self, *values: Fraction) -> Fraction:
        return min(values)


def _bounded(value: Fraction) -> Fraction:
    if value.numerator.bit_length() + value.denominator.bit_length() > _MOST_BITS:
        raise UndefinedError("too large to be exact")
    return value


def _whole(value: Fraction, largest: int | None = None) -> int:
    if value.denominator != 1 or value < 0 or (largest is not None and value > largest):
        raise UndefinedError("not whole, or out of range")
    return value.numerator


def _whole_root(value: int, index: int) -> int:
    if value.bit_length() > 1000:
        raise UndefinedError("too large for an exact root")
    root = math.isqrt(value) if index == 2 else round(value ** (1 / index))
    if root**index != value:
        raise UndefinedError("an irrational root")
    return root


_ARITHMETIC = _Exact()


def exact_value(node: Node) -> Fraction | None:
    """Return the rational value of an expression, or None if none can be computed."""
    if isinstance(node, Number):
        return node.value
    try:
        return Fraction(_ARITHMETIC.evaluate(node))
    except UndefinedError:
        return None
