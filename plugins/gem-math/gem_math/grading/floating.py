"""Complex numbers in double precision, enough to distinguish most expressions."""

import cmath
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from gem_math.grading.arithmetic import Arithmetic, OutOfRangeError, UndefinedError, point
from gem_math.grading.nodes import Apply, Node, Symbol

__all__ = ["float_at", "real_at"]

_LARGEST_FACTORIAL = 150
_ROUNDING = 1e-9


class _Floating(Arithmetic):
    """Double precision at a point.

    Args:
        number: The number of the point.
        values: Values of some symbols, which replace those at the point.
    """

    constants = {"pi": complex(math.pi), "e": complex(math.e), "i": 1j}  # noqa: RUF012

    def __init__(self, number: int, values: Mapping[str, float]) -> None:
        self._number = number
        self._values = values
        self.largest = 0.0

    def _evaluate(self, node: Node) -> Any:
        value = super()._evaluate(node)
        self.largest = max(self.largest, abs(value))
        return value

    def number(self, value: Fraction) -> complex:
        return _in_range(complex(value.numerator / value.denominator), not value)

    def variable(self, name: str) -> complex:
        given = self._values.get(name)
        return complex(float(point(name, self._number)) if given is None else given)

    def mul(self, a: complex, b: complex) -> complex:
        return _in_range(a * b, not a or not b)

    def div(self, a: complex, b: complex) -> complex:
        return _in_range(a / b, not a)

    def neg(self, a: complex) -> complex:
        return -a + 0  # not -0.0, whose sign would select the branch of a root or logarithm

    def pow(self, base: complex, exponent: complex) -> complex:
        if base == 0 and exponent.real <= 0:
            raise UndefinedError("0 to the power of 0 or less")
        return _in_range(complex(base**exponent), not base)

    def root(self, value: complex, index: complex) -> complex:
        if value.imag == 0 and value.real < 0 and index.imag == 0 and index.real % 2 == 1:
            return complex(-((-value.real) ** (1 / index.real)))
        return complex(value ** (1 / index))

    def abs(self, value: complex) -> complex:
        return complex(abs(value))

    def conjugate(self, value: complex) -> complex:
        return value.conjugate()

    def floor(self, value: complex) -> complex:
        return _rounded(math.floor, value)

    def ceil(self, value: complex) -> complex:
        return _rounded(math.ceil, value)

    def sgn(self, value: complex) -> complex:
        return complex(math.copysign(1, _real(value)) if value else 0)

    def max(self, *values: complex) -> complex:
        return complex(max(map(_real, values)))

    def min(self, *values: complex) -> complex:
        return complex(min(map(_real, values)))

    def factorial(self, value: complex) -> complex:
        real = _real(value)
        if abs(real) > _LARGEST_FACTORIAL:
            raise OutOfRangeError("a factorial out of range")
        return complex(math.gamma(real + 1))

    def binomial(self, n: complex, k: complex) -> complex:
        return self.factorial(n) / (self.factorial(k) * self.factorial(n - k))

    def degrees(self, value: complex) -> complex:
        return value * math.pi / 180

    def exp(self, value: complex) -> complex:
        return _in_range(cmath.exp(value))

    def ln(self, value: complex) -> complex:
        return cmath.log(value)

    def log(self, value: complex, base: complex = 10) -> complex:
        return cmath.log(value) / cmath.log(base)

    lg = log

    def sin(self, value: complex) -> complex:
        return cmath.sin(value)

    def cos(self, value: complex) -> complex:
        return cmath.cos(value)

    def tan(self, value: complex) -> complex:
        return cmath.tan(value)

    def cot(self, value: complex) -> complex:
        return 1 / cmath.tan(value)

    def sec(self, value: complex) -> complex:
        return 1 / cmath.cos(value)

    def csc(self, value: complex) -> complex:
        return 1 / cmath.sin(value)

    def sinh(self, value: complex) -> complex:
        return cmath.sinh(value)

    def cosh(self, value: complex) -> complex:
        return cmath.cosh(value)

    def tanh(self, value: complex) -> complex:
        return cmath.tanh(value)

    def coth(self, value: complex) -> complex:
        return 1 / cmath.tanh(value)

    def arcsin(self, value: complex) -> complex:
        return cmath.asin(value)

    def arccos(self, value: complex) -> complex:
        return cmath.acos(value)

    def arctan(self, value: complex) -> complex:
        return cmath.atan(value)


def _in_range(value: complex, is_zero: bool = False) -> complex:  # noqa: FBT001, FBT002
    """Return a value unless it is 0 only because it is too small."""
    if not value and not is_zero:
        raise OutOfRangeError("too small")
    return value


def _real(value: complex) -> float:
    if abs(value.imag) > _ROUNDING * max(1.0, abs(value.real)):
        raise UndefinedError("not real")
    return value.real


def _rounded(function: Callable[[float], int], value: complex) -> complex:
    """Round up or down, tolerating a rounding error next to a whole number."""
    real = _real(value)
    near = round(real)
    return complex(near if abs(real - near) < _ROUNDING else function(real))


def float_at(
    node: Node, number: int, values: Mapping[str, float] | None = None
) -> tuple[complex, float]:
    """Return the value of an expression at a point, and the largest size of its parts.

    The value has a rounding error that is relative to that size.

    Args:
        node: The expression.
        number: The number of the point.
        values: Values of some symbols, which replace those at the point.

    Raises:
        UndefinedError: The expression has no value there.
        OutOfRangeError: Its value, or that of a part, is too large or too small.
    """
    arithmetic = _Floating(number, values or {})
    value: Any = arithmetic.evaluate(node)
    if not cmath.isfinite(value):
        raise OutOfRangeError("infinite")
    return complex(value), arithmetic.largest


def real_at(node: Node, number: int, **values: float) -> float | None:
    """Return the real value of an expression at a point, which may be infinite, or None.

    Raises:
        OutOfRangeError: The value, or that of a part, is too large or too small.
    """
    infinity = Symbol("infty")
    if node == infinity:
        return math.inf
    if node == Apply("neg", (infinity,)):
        return -math.inf
    try:
        return _real(float_at(node, number, values)[0])
    except OutOfRangeError:
        raise
    except UndefinedError:
        return None
