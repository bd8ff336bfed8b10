"""Complex numbers with 50 digits, enough to treat values that agree as equal."""

import functools
from fractions import Fraction
from typing import Any

from gem_math.grading.arithmetic import Arithmetic, UndefinedError, point
from gem_math.grading.nodes import Node

__all__ = ["DIGITS", "agree", "precise_at", "vanishes"]

DIGITS = 50
"""The number of digits in which equal values must agree."""
_SPARE_DIGITS = 20
_MORE_DIGITS = 140
"""The digits of a second computation, in which rounding errors are much smaller."""
_LARGEST_FACTORIAL = 10**6
_LARGEST_ARGUMENT = 10**9
_LARGEST_LOGARITHM = 2**60
_PLAIN = frozenset("exp sin cos tan cot sec csc sinh cosh tanh coth".split())  # noqa: SIM905


class _Precise(Arithmetic):
    """Numbers with 50 digits at a point.

    Args:
        mp: The mpmath context.
        number: The number of the point.
    """

    def __init__(self, mp: Any, number: int) -> None:
        self._mp = mp
        self._number = number
        self.constants = {"pi": +mp.pi, "e": +mp.e, "i": mp.mpc(0, 1)}

    def __getattr__(self, name: str) -> Any:
        """Return the function of mpmath with this name, for arguments of limited size."""
        if name not in _PLAIN:
            raise AttributeError(name)
        function = getattr(self._mp, name)

        def bounded(value: Any) -> Any:
            if abs(value) > _LARGEST_ARGUMENT:
                raise UndefinedError("too large")
            return function(value)

        return bounded

    def number(self, value: Fraction) -> Any:
        return self._mp.mpf(value.numerator) / value.denominator

    def variable(self, name: str) -> Any:
        return self.number(point(name, self._number))

    def pow(self, base: Any, exponent: Any) -> Any:
        mp = self._mp
        if base == 0:
            if mp.re(exponent) <= 0:
                raise UndefinedError("0 to the power of 0 or less")
        elif abs(exponent) * (1 + abs(mp.log(abs(base)))) > _LARGEST_LOGARITHM:
            raise UndefinedError("too large")
        return mp.power(base, exponent)

    def root(self, value: Any, index: Any) -> Any:
        mp = self._mp
        if mp.im(value) == 0 and mp.re(value) < 0 and mp.im(index) == 0 and index % 2 == 1:
            return -self.pow(-value, 1 / index)
        return self.pow(value, 1 / index)

    def abs(self, value: Any) -> Any:
        return abs(value)

    def conjugate(self, value: Any) -> Any:
        return self._mp.conj(value)

    def floor(self, value: Any) -> Any:
        return self._rounded(self._mp.floor, value)

    def ceil(self, value: Any) -> Any:
        return self._rounded(self._mp.ceil, value)

    def _rounded(self, function: Any, value: Any) -> Any:
        near = self._mp.nint(self._real(value))
        return near if abs(value - near) < self._mp.mpf(10) ** -DIGITS else function(value)

    def _real(self, value: Any) -> Any:
        if self._mp.im(value) != 0:
            raise UndefinedError("not real")
        return self._mp.re(value)

    def sgn(self, value: Any) -> Any:
        return self._mp.sign(self._real(value))

    def max(self, *values: Any) -> Any:
        return max(map(self._real, values))

    def min(self, *values: Any) -> Any:
        return min(map(self._real, values))

    def factorial(self, value: Any) -> Any:
        if abs(value) > _LARGEST_FACTORIAL:
            raise UndefinedError("a factorial out of range")
        return self._mp.gamma(value + 1)

    def binomial(self, n: Any, k: Any) -> Any:
        return self.factorial(n) / (self.factorial(k) * self.factorial(n - k))

    def degrees(self, value: Any) -> Any:
        return value * self._mp.pi / 180

    def ln(self, value: Any) -> Any:
        return self._mp.log(value)

    def log(self, value: Any, base: Any = 10) -> Any:
        return self._mp.log(value) / self._mp.log(base)

    lg = log

    def arcsin(self, value: Any) -> Any:
        return self._mp.asin(value)

    def arccos(self, value: Any) -> Any:
        return self._mp.acos(value)

    def arctan(self, value: Any) -> Any:
        return self._mp.atan(value)


@functools.cache
def _context(digits: int = DIGITS + _SPARE_DIGITS) -> Any:
    from mpmath import MPContext  # noqa: PLC0415 - takes 50 ms, and is needed only for answers that look equal

    mp = MPContext()
    mp.dps = digits
    return mp


def precise_at(node: Node, number: int, digits: int = DIGITS + _SPARE_DIGITS) -> Any:
    """Return the value of an expression at a point, as an mpmath number.

    Raises:
        UndefinedError: The expression has no value there.
    """
    mp = _context(digits)
    value = _Precise(mp, number).evaluate(node)
    if not mp.isfinite(value):
        raise UndefinedError("infinite")
    return value


def agree(a: Any, b: Any) -> bool:
    """Return whether two values of ``precise_at`` agree in all digits."""
    smallest = _context().mpf(10) ** -DIGITS
    return bool(abs(a - b) <= smallest * max(abs(a), abs(b), smallest))


def vanishes(node: Node, number: int) -> bool:
    """Return whether an expression is 0 at a point, and its computed value a rounding error.

    A rounding error shrinks when the expression is computed with more digits; a value does not.

    Raises:
        UndefinedError: The expression has no value there.
    """
    value, better = precise_at(node, number), precise_at(node, number, _MORE_DIGITS)
    mp = _context()
    limit = abs(value) * mp.mpf(10) ** -_SPARE_DIGITS if value else mp.mpf(10) ** (-2 * DIGITS)
    return bool(abs(better) <= limit)
