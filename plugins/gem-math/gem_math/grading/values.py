"""Are two expressions equal? By value: exactly where both are rational, else at several points.

Two expressions that agree to 50 digits wherever both are defined, at points chosen without regard
to them, are equal for every purpose but a counterexample's; two that differ in double precision
are not. That takes microseconds where a proof by rewriting takes milliseconds, and it never hangs:
every operation has a bound on the size of what it makes.

Reference: J. T. Schwartz, "Fast probabilistic algorithms for verification of polynomial
identities", Journal of the ACM 27(4), 1980.
"""

import cmath
import functools
import math
import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Protocol

from gem_math.grading.nodes import CONSTANTS, Apply, Node, Number, Symbol, symbols_of

__all__ = ["UndefinedError", "equal_expressions", "exact_value", "proportion", "real_at"]

_MOST_BITS = 20_000
"""Bits of an exact number; beyond that it is handled with rounding."""
_DIGITS = 50
_POINTS = 4
_ROUGH = 1e-7
"""Relative difference from which double precision is sure of a difference."""


class UndefinedError(ArithmeticError):
    """The expression has no value here, or none that can be worked out."""


class _Arithmetic(Protocol):
    """Numbers of some kind and what can be done with them, by the name of the operation."""

    def number(self, value: Fraction) -> Any: ...

    def symbol(self, name: str) -> Any: ...

    def apply(self, operation: str, arguments: list[Any]) -> Any: ...


def _evaluate(node: Node, arithmetic: _Arithmetic) -> Any:
    if isinstance(node, Number):
        return arithmetic.number(node.value)
    if isinstance(node, Symbol):
        return arithmetic.symbol(node.name)
    if isinstance(node, Apply):
        arguments = [_evaluate(argument, arithmetic) for argument in node.arguments]
        return arithmetic.apply(node.operation, arguments)
    raise UndefinedError(f"a {type(node).__name__} has no value")


class _Exact:
    """Rational numbers; whatever leaves them is undefined."""

    def number(self, value: Fraction) -> Fraction:
        return value

    def symbol(self, name: str) -> Fraction:
        raise UndefinedError(f"{name} is not rational")

    def apply(self, operation: str, arguments: list[Fraction]) -> Fraction:
        function = _RATIONAL.get(operation)
        if function is None:
            raise UndefinedError(f"{operation} leaves the rational numbers")
        value: Fraction = function(*arguments)
        if value.numerator.bit_length() + value.denominator.bit_length() > _MOST_BITS:
            raise UndefinedError("too large to be exact")
        return value


def _rational_power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        return _rational_root(base ** exponent.numerator, Fraction(exponent.denominator)) if (
            base > 0 and abs(exponent.numerator) < 64
        ) else _undefined()
    size = (base.numerator.bit_length() + base.denominator.bit_length()) * abs(exponent.numerator)
    if size > _MOST_BITS or (base == 0 and exponent <= 0):
        return _undefined()
    return Fraction(base**exponent.numerator)


def _undefined() -> Fraction:
    raise UndefinedError("no rational value")


def _rational_root(value: Fraction, index: Fraction) -> Fraction:
    if index.denominator != 1 or not 0 < index < 64 or (value < 0 and index % 2 == 0):
        return _undefined()
    sign, n = (-1 if value < 0 else 1), int(index)
    above, below = (_whole_root(abs(part), n) for part in (value.numerator, value.denominator))
    return sign * Fraction(above, below)


def _whole_root(value: int, index: int) -> int:
    if value.bit_length() > 1000:
        raise UndefinedError("too large for an exact root")
    root = math.isqrt(value) if index == 2 else round(value ** (1 / index))
    if root**index != value:
        raise UndefinedError("an irrational root")
    return root


def _factorial(value: Fraction) -> Fraction:
    if value.denominator != 1 or not 0 <= value <= 1000:
        return _undefined()
    return Fraction(math.factorial(int(value)))


def _binomial(n: Fraction, k: Fraction) -> Fraction:
    if n.denominator != 1 or k.denominator != 1 or not 0 <= k <= n <= 1000:
        return _undefined()
    return Fraction(math.comb(int(n), int(k)))


def _whole(function: Callable[..., int]) -> Callable[..., Fraction]:
    def apply(*values: Fraction) -> Fraction:
        if any(value.denominator != 1 for value in values):
            return _undefined()
        return Fraction(function(*map(int, values)))

    return apply


def _divided(a: Fraction, b: Fraction) -> Fraction:
    return a / b if b else _undefined()


_RATIONAL: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _divided,
    "neg": lambda a: -a,
    "pow": _rational_power,
    "root": _rational_root,
    "abs": abs,
    "floor": lambda a: Fraction(math.floor(a)),
    "ceil": lambda a: Fraction(math.ceil(a)),
    "factorial": _factorial,
    "binomial": _binomial,
    "gcd": _whole(math.gcd),
    "lcm": _whole(math.lcm),
    "max": max,
    "min": min,
}


def exact_value(node: Node) -> Fraction | None:
    """Return the rational value of an expression; None if it has none that is found exactly."""
    if isinstance(node, Number):
        return node.value
    try:
        return Fraction(_evaluate(node, _Exact()))
    except (UndefinedError, OverflowError, TypeError):
        return None


class _Rounded:
    """Complex numbers with rounding, in double precision or with many digits.

    Args:
        functions: What operations do.
        constants: Values of pi, e and i.
        values: Values of the other symbols, by name.
        make: Makes a number from a fraction.
    """

    def __init__(
        self,
        functions: Mapping[str, Callable[..., Any]],
        constants: Mapping[str, Any],
        value_of: Callable[[str], Any],
        make: Callable[[Fraction], Any],
    ) -> None:
        self._functions = functions
        self._constants = constants
        self._value_of = value_of
        self.number = make

    def symbol(self, name: str) -> Any:
        if name in self._constants:
            return self._constants[name]
        return self._value_of(name)

    def apply(self, operation: str, arguments: list[Any]) -> Any:
        function = self._functions.get(operation)
        if function is None:
            raise UndefinedError(f"{operation} has no numerical value")
        return function(*arguments)


@functools.lru_cache(maxsize=4096)
def _point(name: str, number: int) -> Fraction:
    """Return the value of a symbol at a point: between 0.3 and 3, at odd points negative."""
    rng = random.Random(f"{name} {number}")
    size = Fraction(rng.getrandbits(200), 2**200) * Fraction(27, 10) + Fraction(3, 10)
    return -size if number % 2 else size


# Double precision


def _float_power(base: complex, exponent: complex) -> complex:
    if base == 0:
        if exponent.real > 0:
            return 0j
        raise UndefinedError("0 to the power of 0 or less")
    return base**exponent


def _float_root(value: complex, index: complex) -> complex:
    if value == 0:
        return 0j
    if value.imag == 0 and value.real < 0 and index.imag == 0 and index.real % 2 == 1:
        return complex(-((-value.real) ** (1 / index.real)))
    return value ** (1 / index)


def _real(function: Callable[[float], float]) -> Callable[[complex], complex]:
    def apply(value: complex) -> complex:
        if abs(value.imag) > 1e-12 * max(1.0, abs(value.real)):
            raise UndefinedError("not real")
        return complex(function(value.real))

    return apply


def _near_whole(function: Callable[[float], int]) -> Callable[[float], float]:
    """Round up or down, but not on the wrong side of a whole number because of rounding."""

    def apply(value: float) -> float:
        near = round(value)
        return float(near if abs(value - near) < 1e-9 else function(value))

    return apply


def _float_gamma(value: complex) -> complex:
    if value.imag or value.real < -150 or value.real > 150 or value.real + 1 == 0:
        raise UndefinedError("a factorial out of range")
    return complex(math.gamma(value.real + 1))


def _float_binomial(n: complex, k: complex) -> complex:
    return _float_gamma(n) / (_float_gamma(k) * _float_gamma(n - k))


def _sign(value: float) -> float:
    return (value > 0) - (value < 0)


def _extreme(choose: Callable[..., float]) -> Callable[..., complex]:
    def apply(*values: complex) -> complex:
        if any(value.imag for value in values):
            raise UndefinedError("not real")
        return complex(choose(value.real for value in values))

    return apply


_FLOAT: dict[str, Callable[..., complex]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    # Adding 0 makes -0.0 0.0: the sign of zero would choose the branch of a root or logarithm.
    "neg": lambda a: -a + 0,
    "pow": _float_power,
    "root": _float_root,
    "abs": lambda a: complex(abs(a)),
    "floor": _real(_near_whole(math.floor)),
    "ceil": _real(_near_whole(math.ceil)),
    "factorial": _float_gamma,
    "binomial": _float_binomial,
    "degrees": lambda a: a * math.pi / 180,
    "conjugate": lambda a: a.conjugate(),
    "exp": cmath.exp,
    "ln": cmath.log,
    "log": lambda a, base=10: cmath.log(a) / cmath.log(base),
    "lg": lambda a: cmath.log(a) / math.log(10),
    "sin": cmath.sin,
    "cos": cmath.cos,
    "tan": cmath.tan,
    "cot": lambda a: 1 / cmath.tan(a),
    "sec": lambda a: 1 / cmath.cos(a),
    "csc": lambda a: 1 / cmath.sin(a),
    "sinh": cmath.sinh,
    "cosh": cmath.cosh,
    "tanh": cmath.tanh,
    "coth": lambda a: 1 / cmath.tanh(a),
    "arcsin": cmath.asin,
    "arccos": cmath.acos,
    "arctan": cmath.atan,
    "sgn": _real(_sign),
    "max": _extreme(max),
    "min": _extreme(min),
}
_FLOAT_CONSTANTS = {"pi": complex(math.pi), "e": complex(math.e), "i": 1j}


def real_at(node: Node, number: int, **values: float) -> float | None:
    """Return the real value of an expression at a point, with some symbols' values given."""
    if node == Symbol("infty"):
        return math.inf
    if node == Apply("neg", (Symbol("infty"),)):
        return -math.inf
    try:
        value = _float_at(node, number, values)
    except UndefinedError:
        return None
    return value.real if abs(value.imag) < 1e-9 * max(1.0, abs(value)) else None


def _float_at(node: Node, number: int, values: Mapping[str, float] | None = None) -> complex:
    given = values or {}

    def value_of(name: str) -> complex:
        return complex(given[name] if name in given else float(_point(name, number)))

    arithmetic = _Rounded(_FLOAT, _FLOAT_CONSTANTS, value_of, _to_complex)
    try:
        value = complex(_evaluate(node, arithmetic))
    except (ArithmeticError, ValueError, TypeError) as error:
        raise UndefinedError(str(error)) from error
    if not cmath.isfinite(value):
        raise UndefinedError("infinite")
    return value


def _to_complex(value: Fraction) -> complex:
    return complex(value.numerator / value.denominator)


# Many digits


@functools.cache
def _precise() -> tuple[Any, dict[str, Callable[..., Any]], dict[str, Any]]:
    """Return the context for many digits, its operations and its constants."""
    from mpmath import MPContext  # noqa: PLC0415 - 50 ms, and only for what looks equal

    mp = MPContext()
    mp.dps = _DIGITS + 20

    def power(base: Any, exponent: Any) -> Any:
        if base == 0 and mp.re(exponent) <= 0:
            raise UndefinedError("0 to the power of 0 or less")
        # Whole exponents and exponents of exponents grow without bound; this bounds both.
        if base != 0 and abs(exponent) * (1 + abs(mp.log(abs(base)))) > 2**60:
            raise UndefinedError("too large")
        return mp.power(base, exponent)

    def root(value: Any, index: Any) -> Any:
        if mp.im(value) == 0 and mp.re(value) < 0 and mp.im(index) == 0 and index % 2 == 1:
            return -mp.power(-value, 1 / index)
        return power(value, 1 / mp.mpf(index) if mp.im(index) == 0 else 1 / index)

    def gamma(value: Any) -> Any:
        if abs(value) > 10**6:
            raise UndefinedError("a factorial out of range")
        return mp.gamma(value + 1)

    def bounded(function: Callable[..., Any]) -> Callable[..., Any]:
        def apply(value: Any) -> Any:
            if abs(value) > 10**9:
                raise UndefinedError("too large")
            return function(value)

        return apply

    def real(function: Callable[..., Any]) -> Callable[..., Any]:
        def apply(*values: Any) -> Any:
            if any(mp.im(value) for value in values):
                raise UndefinedError("not real")
            return function(*map(mp.re, values))

        return apply

    def whole(function: Callable[..., Any]) -> Callable[..., Any]:
        def apply(value: Any) -> Any:
            near = mp.nint(value)
            return near if abs(value - near) < mp.mpf(10) ** -_DIGITS else function(value)

        return real(apply)

    functions: dict[str, Callable[..., Any]] = {
        **{name: _FLOAT[name] for name in ("add", "sub", "mul", "div", "neg")},
        "pow": power,
        "root": root,
        "abs": abs,
        "floor": whole(mp.floor),
        "ceil": whole(mp.ceil),
        "factorial": gamma,
        "binomial": lambda n, k: gamma(n) / (gamma(k) * gamma(n - k)),
        "degrees": lambda a: a * mp.pi / 180,
        "conjugate": mp.conj,
        "ln": mp.log,
        "log": lambda a, base=10: mp.log(a) / mp.log(base),
        "lg": lambda a: mp.log(a) / mp.log(10),
        "sgn": real(mp.sign),
        "max": real(max),
        "min": real(min),
        "arcsin": mp.asin,
        "arccos": mp.acos,
        "arctan": mp.atan,
        **{name: bounded(getattr(mp, name)) for name in ("exp", "sin", "cos", "tan", "cot", "sec")},
        **{name: bounded(getattr(mp, name)) for name in ("csc", "sinh", "cosh", "tanh", "coth")},
    }
    return mp, functions, {"pi": +mp.pi, "e": +mp.e, "i": mp.mpc(0, 1)}


def _precise_at(node: Node, number: int) -> Any:
    mp, functions, constants = _precise()

    def make(value: Fraction) -> Any:
        return mp.mpf(value.numerator) / value.denominator

    arithmetic = _Rounded(functions, constants, lambda name: make(_point(name, number)), make)
    try:
        value = _evaluate(node, arithmetic)
    except (ArithmeticError, ValueError, TypeError, AttributeError, mp.NoConvergence) as error:
        raise UndefinedError(str(error)) from error
    if not mp.isfinite(value):
        raise UndefinedError("infinite")
    return value


# Equality


def equal_expressions(first: Node, second: Node) -> bool | None:
    """Return whether two expressions are equal; None if that cannot be decided here."""
    if first == second:
        return True
    exact = exact_value(first), exact_value(second)
    if exact[0] is not None and exact[1] is not None:
        return exact[0] == exact[1]
    names = symbols_of(first) | symbols_of(second)
    if "infty" in names:
        return _equal_infinities(first, second)
    if _differ_roughly(first, second):
        return False
    points = range(_POINTS if names - CONSTANTS else 1)
    return _agree(first, second, points)


def _equal_infinities(first: Node, second: Node) -> bool:
    values = real_at(first, 0), real_at(second, 0)
    return values[0] is not None and values[0] == values[1]


def _differ_roughly(first: Node, second: Node) -> bool:
    """Return whether double precision is sure that they differ."""
    try:
        a, b = _float_at(first, 0), _float_at(second, 0)
    except UndefinedError:
        return False
    return abs(a - b) > _ROUGH * max(abs(a), abs(b), 1e-6)


def _agree(first: Node, second: Node, points: range) -> bool | None:
    """Return whether they agree to many digits wherever both are real (at 0 also if complex)."""
    mp = _precise()[0]
    compared = 0
    for number in points:
        values = []
        for node in (first, second):
            try:
                values.append(_precise_at(node, number))
            except UndefinedError:
                values.append(None)
        if None in values:
            # One is defined here, the other is not: they are not the same expression, except
            # where the variables are negative, which many expressions do not allow.
            if values != [None, None] and number % 2 == 0:
                return False
            continue
        a, b = values
        if number % 2 == 1 and (abs(mp.im(a)) > 1e-40 or abs(mp.im(b)) > 1e-40):
            continue
        compared += 1
        if abs(a - b) > mp.mpf(10) ** -_DIGITS * max(abs(a), abs(b), mp.mpf(10) ** -_DIGITS):
            return False
    return True if compared else None


def proportion(first: Node, second: Node) -> float | None:
    """Return c if ``first = c * second`` everywhere, for a number c that is not 0; else None."""
    ratio = Apply("div", (first, second))
    try:
        value = _float_at(ratio, 0)
    except UndefinedError:
        return None
    if value == 0 or abs(value.imag) > 1e-12 * abs(value):
        return None
    mp = _precise()[0]
    try:
        ratios = [_precise_at(ratio, number) for number in range(_POINTS)]
    except UndefinedError:
        return None
    spread = max(abs(other - ratios[0]) for other in ratios)
    return value.real if spread <= mp.mpf(10) ** -_DIGITS * abs(ratios[0]) else None
