"""Comparisons of an output with the expected output: by text, by numbers, or by a checker.

A comparison is a function of a test's input, the expected output and the output. For programs that
read and print, all three are texts; for functions, they are the arguments and the values.
"""

import functools
import math
import re
from collections.abc import Callable, Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation, localcontext
from typing import Any

from gem_core.errors import ConfigError, near_names

__all__ = ["NAMES", "Comparison", "find_comparison"]

Comparison = Callable[[Any, Any, Any], bool]
"""Takes a test's input, the expected output and the output; returns whether it is accepted."""

NAMES = ("exact", "lines", "tokens", "float")
"""The built-in comparisons; ``float:1e-9`` sets the tolerance of ``float``."""

TOLERANCE = 1e-6
_DIGIT = re.compile(r"\d")
_CONTEXT = Context(prec=50, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[InvalidOperation])
"""Arithmetic of decimal numbers that takes little time, however large they are."""


def find_comparison(
    name: str, *, checkers: Mapping[str, Comparison], values: bool = False
) -> Comparison:
    """Return the comparison with a name.

    Args:
        name: ``exact`` (ignores white space around the whole output), ``lines`` (also ignores it
            at the end of each line), ``tokens`` (compares the words between white space),
            ``float`` (like ``tokens``, but numbers may differ by 1e-6, relative or absolute) or
            ``float:TOLERANCE``; or the name of a checker.
        checkers: Further comparisons by name.
        values: Whether to compare values instead of texts; only ``float`` then differs from
            ``exact``.

    Raises:
        ConfigError: There is no such comparison, or its tolerance is not a positive number.
    """
    if name in checkers:
        return checkers[name]
    kind, _, text = name.partition(":")
    if kind not in NAMES or (text and kind != "float"):
        known = [*NAMES, *checkers]
        raise ConfigError(
            f"There is no comparison {name!r}.{near_names(name, known)} "
            f"There are: {', '.join(known)}."
        )
    if values:
        tolerance = _tolerance(text) if kind == "float" else 0.0
        return functools.partial(_same_value, tolerance=tolerance)
    if kind == "float":
        return functools.partial(_same_numbers, tolerance=_tolerance(text))
    return {"exact": _same_text, "lines": _same_lines, "tokens": _same_tokens}[kind]


def _tolerance(text: str) -> float:
    try:
        tolerance = float(text or TOLERANCE)
    except ValueError:
        tolerance = math.nan
    if not 0 < tolerance < math.inf:
        raise ConfigError(f"The tolerance of a comparison must be a positive number; got {text!r}.")
    return tolerance


def _same_text(_: Any, expected: str, output: str) -> bool:
    return _unix(expected).strip() == _unix(output).strip()


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _same_lines(_: Any, expected: str, output: str) -> bool:
    return _lines(expected) == _lines(output)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in _unix(text).strip().split("\n")]


def _same_tokens(_: Any, expected: str, output: str) -> bool:
    return expected.split() == output.split()


def _same_numbers(_: Any, expected: str, output: str, *, tolerance: float) -> bool:
    ours, theirs = expected.split(), output.split()
    return len(ours) == len(theirs) and all(
        one == other or _near(_number(one), _number(other), tolerance)
        for one, other in zip(ours, theirs, strict=True)
    )


def _number(token: str) -> float | Decimal:
    """Return the number that a token stands for; a Decimal if it is too large for a float."""
    try:
        number = float(token)
        return number if math.isfinite(number) or not _DIGIT.search(token) else Decimal(token)
    except (ValueError, ArithmeticError):
        return math.nan


def _near(one: float | Decimal, other: float | Decimal, tolerance: float) -> bool:
    """Return whether two numbers differ by at most the tolerance, relative or absolute.

    Numbers beyond the range of floats are finite: they are not near to infinity.
    """
    try:
        return math.isclose(_float(one), _float(other), rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:
        return _near_decimals(Decimal(one), Decimal(other), Decimal(tolerance))


def _float(number: float | Decimal) -> float:
    """Return a number as a float.

    Raises:
        OverflowError: It is too large.
    """
    if isinstance(number, Decimal) and number.is_finite() and math.isinf(float(number)):
        raise OverflowError
    return float(number)


def _near_decimals(one: Decimal, other: Decimal, tolerance: Decimal) -> bool:
    if not (one.is_finite() and other.is_finite()):
        return False
    with localcontext(_CONTEXT):
        return abs(one - other) <= tolerance * max(abs(one), abs(other))


def _same_value(_: Any, expected: Any, output: Any, *, tolerance: float) -> bool:
    if not tolerance:
        return bool(expected == output)
    if isinstance(expected, list | tuple) and isinstance(output, list | tuple):
        return len(expected) == len(output) and all(
            _same_value(None, one, other, tolerance=tolerance)
            for one, other in zip(expected, output, strict=True)
        )
    if isinstance(expected, dict) and isinstance(output, dict):
        return expected.keys() == output.keys() and all(
            _same_value(None, expected[key], output[key], tolerance=tolerance) for key in expected
        )
    if isinstance(expected, int | float) and isinstance(output, int | float):
        return expected == output or _near(expected, output, tolerance)
    return bool(expected == output)
