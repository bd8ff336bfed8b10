r"""Complex numbers with as many digits as are needed to distinguish two values.

A difference of two values is either as small as their rounding errors, however many digits they are
computed with, or it stays. How many digits are enough follows from the sizes of all parts of both
expressions: in ``10^{60}+\sqrt2`` the digits that matter begin after 60 others.
"""

import functools
import math
from fractions import Fraction
from typing import Any, NamedTuple

from gem_math.grading.arithmetic import Arithmetic, OutOfRangeError, UndefinedError, point
from gem_math.grading.nodes import Node

__all__ = ["Value", "equal_values", "is_real", "precise_at"]

_DIGITS = 70
_MORE_DIGITS = 130
"""The digits of a second computation, if all parts are of the size of 1."""
_MORE_FOR_SIZE = 5
"""The digits of the second computation that each power of ten between the parts needs."""
_LOST_FOR_SIZE = 2
"""The digits that each power of ten between the parts may cost."""
_LOST = 10
_REAL = 50
"""The digits by which the imaginary part of a real value is smaller."""
_WHOLE = 20
"""The last digits of a number that may keep it from being whole."""
_MOST_DIGITS = 2_500
"""With more, a value may take seconds; its expression is then left to computer algebra."""
_BITS_A_DIGIT = 3.3219280948873626
_LARGEST_FACTORIAL = 10**6
_LARGEST_EXACT_FACTORIAL = 5_000
_MOST_DIGITS_OF_GAMMA = 500
_LARGEST_ARGUMENT = 10**9
_LARGEST_LOGARITHM = 2**60
_PLAIN = frozenset("exp sin cos tan cot sec csc sinh cosh tanh coth".split())  # noqa: SIM905


class _Precise(Arithmetic):
    """Numbers with many digits at a point.

    Args:
        mp: The mpmath context.
        number: The number of the point.
    """

    def __init__(self, mp: Any, number: int) -> None:
        self._mp = mp
        self._number = number
        self.constants = {"pi": +mp.pi, "e": +mp.e, "i": mp.mpc(0, 1)}
        self.low = self.high = 0
        """The sizes of the smallest and the largest part, as powers of 2."""

    def _evaluate(self, node: Node) -> Any:
        value = super()._evaluate(node)
        if value != 0 and self._mp.isfinite(value):
            size = self._mp.mag(value)
            self.low, self.high = min(self.low, size), max(self.high, size)
        return value

    def __getattr__(self, name: str) -> Any:
        """Return the function of mpmath with this name, for arguments of limited size."""
        if name not in _PLAIN:
            raise AttributeError(name)
        function = getattr(self._mp, name)

        def bounded(value: Any) -> Any:
            if abs(value) > _LARGEST_ARGUMENT:
                raise OutOfRangeError("too large")
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
            raise OutOfRangeError("too large")
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
        rounding = self._mp.mpf(10) ** (_WHOLE - self._mp.dps)
        return near if abs(value - near) < rounding else function(value)

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
            raise OutOfRangeError("a factorial out of range")
        if 0 <= value.real <= _LARGEST_EXACT_FACTORIAL and self._mp.isint(value):
            return self._mp.mpf(math.factorial(int(value.real)))
        if self._mp.dps > _MOST_DIGITS_OF_GAMMA:
            raise OutOfRangeError("the gamma function takes long with many digits")
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


@functools.lru_cache(maxsize=64)
def _context(digits: int) -> Any:
    from mpmath import MPContext  # noqa: PLC0415 - takes 50 ms, and is needed only for answers that look equal

    mp = MPContext()
    mp.dps = digits
    return mp


class Value(NamedTuple):
    """A value, and the sizes of the smallest and the largest part, as powers of 2."""

    value: Any
    low: int
    high: int


def precise_at(node: Node, number: int, digits: int = _DIGITS) -> Value:
    """Return the value of an expression at a point, as an mpmath number.

    Raises:
        UndefinedError: The expression has no value there.
    """
    mp = _context(digits)
    arithmetic = _Precise(mp, number)
    value = arithmetic.evaluate(node)
    if not mp.isfinite(value):
        raise UndefinedError("infinite")
    return Value(value, arithmetic.low, arithmetic.high)


def equal_values(first: Node, second: Node, number: int, rough: tuple[Value, Value]) -> bool | None:
    """Return whether two expressions have equal values at a point, or None if that is unknown.

    Args:
        first: An expression.
        second: Another one.
        number: The number of the point.
        rough: Their values there, from ``precise_at``.

    Raises:
        OutOfRangeError: Too many digits would be needed.
        UndefinedError: One of them has no value with more digits.
    """
    high = max(value.high for value in rough) / _BITS_A_DIGIT
    size = high - min(value.low for value in rough) / _BITS_A_DIGIT
    digits = _MORE_DIGITS + int(_MORE_FOR_SIZE * size)
    if digits > _MOST_DIGITS:
        raise OutOfRangeError("too large or too small")

    def rounding(digits: int) -> Any:
        return _context(digits).mpf(10) ** (high + _LOST + _LOST_FOR_SIZE * size - digits)

    if abs(rough[0].value - rough[1].value) > rounding(_DIGITS):
        return False
    better = [precise_at(node, number, digits).value for node in (first, second)]
    for node, value in zip((first, second), better, strict=True):
        if abs(value) > rounding(digits):
            again = precise_at(node, number, 2 * digits).value
            if abs(value - again) > rounding(digits):  # a rounding error that was divided by
                return None
    return bool(abs(better[0] - better[1]) <= rounding(digits))


def is_real(value: Any) -> bool:
    """Return whether the imaginary part of a value of ``precise_at`` is a rounding error."""
    return bool(abs(value.imag) <= abs(value) * _context(_DIGITS).mpf(10) ** -_REAL)
