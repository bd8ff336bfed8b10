"""Construction of nodes that need computation: matrices, degrees, number bases."""

import re
from collections.abc import Sequence
from fractions import Fraction

from gem_math.grading.errors import UnreadableError, UnsupportedError
from gem_math.grading.exact import exact_value
from gem_math.grading.nodes import (
    Apply,
    Listing,
    Matrix,
    Node,
    Number,
    Numeral,
    Quantity,
    Relation,
    Symbol,
    is_expression,
    symbols_of,
)
from gem_math.grading.units import DEGREE

__all__ = [
    "cis",
    "conjugate",
    "degrees",
    "determinant",
    "in_base",
    "in_base_units",
    "plus",
    "restricted",
    "times",
    "with_degrees",
]

_BASES = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
_BASES |= {"ten": 10, "twelve": 12, "sixteen": 16, "binary": 2, "hex": 16}
_LARGEST_DETERMINANT = 4
_LARGEST_FACTOR = 10**20
"""The maximum of the entries of a matrix in a product."""


def in_base(digits: str, index: str) -> Node:
    """Return digits with the base of an index, such as ``2`` or ``two``."""
    name = re.sub(r"\\text|[{} ]", "", index)
    base = _BASES.get(name.lower()) or (int(name) if name.isdigit() and len(name) < 3 else 0)
    if not 2 <= base <= 36 or not digits.isalnum():
        raise UnreadableError(f"{digits!r} in base {index!r}")
    return (
        Number(Fraction(digits)) if base == 10 else Numeral(digits.lstrip("0").upper() or "0", base)
    )


def plus(operation: str, first: Node, second: Node) -> Node:
    """Return the sum or difference of two nodes; that of two matrices of one size is a matrix."""
    if not (isinstance(first, Matrix) and isinstance(second, Matrix)):
        return Apply(operation, (first, second))
    if _sizes(first) != _sizes(second):
        raise UnreadableError("matrices of different sizes")
    pairs = zip(first.rows, second.rows, strict=True)
    return Matrix(
        tuple(tuple(Apply(operation, pair) for pair in zip(*rows, strict=True)) for rows in pairs)
    )


def _sizes(matrix: Matrix) -> list[int]:
    return [len(row) for row in matrix.rows]


def times(first: Node, second: Node) -> Node:
    """Return a product; a matrix times a number, or times a matrix of numbers, is a matrix."""
    if isinstance(first, Matrix) and isinstance(second, Matrix):
        return _matrix_product(first, second) or Apply("mul", (first, second))
    if isinstance(first, Matrix) and is_expression(second):
        first, second = second, first
    if isinstance(second, Matrix) and is_expression(first):
        rows = second.rows
        return Matrix(tuple(tuple(Apply("mul", (first, e)) for e in row) for row in rows))
    return Apply("mul", (first, second))


def _matrix_product(first: Matrix, second: Matrix) -> Node | None:
    """Return the product of two matrices of numbers; None for other or unsuitable matrices.

    With letters, the entries of a long product would grow exponentially.
    """
    rows, others = _numbers(first), _numbers(second)
    sizes = {len(row) for row in rows}, {len(row) for row in others}
    if sizes[0] != {len(others)} or len(sizes[1]) != 1:
        return None
    columns = list(zip(*others, strict=True))
    entries = tuple(tuple(_dot(row, column) for column in columns) for row in rows)
    return Matrix(entries) if len(entries) * len(columns) > 1 else entries[0][0]


def _dot(row: Sequence[Fraction], column: Sequence[Fraction]) -> Number:
    return Number(sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)))


def _numbers(matrix: Matrix) -> list[list[Fraction]]:
    """Return the entries of a matrix of numbers, or nothing if an entry is not a number."""
    rows = [[exact_value(e) if is_expression(e) else None for e in row] for row in matrix.rows]
    known = [[v for v in row if v is not None and _is_small(v)] for row in rows]
    return known if [*map(len, known)] == _sizes(matrix) else []


def _is_small(value: Fraction) -> bool:
    return max(abs(value.numerator), value.denominator) <= _LARGEST_FACTOR


def determinant(rows: Sequence[tuple[Node, ...]]) -> Node:
    """Return the determinant as an expression, expanded by the first row."""
    if not 0 < len(rows) <= _LARGEST_DETERMINANT or any(len(row) != len(rows) for row in rows):
        raise UnsupportedError("a determinant of this form is beyond this grammar")
    if len(rows) == 1:
        return rows[0][0]
    total: Node = Number(Fraction(0))
    for column, entry in enumerate(rows[0]):
        minor = [row[:column] + row[column + 1 :] for row in rows[1:]]
        term = Apply("mul", (entry, determinant(minor)))
        total = Apply("sub" if column % 2 else "add", (total, term))
    return total


def cis(angle: Node) -> Node:
    """Return ``cos angle + i sin angle``."""
    imaginary = Apply("mul", (Symbol("i"), Apply("sin", (angle,))))
    return Apply("add", (Apply("cos", (angle,)), imaginary))


def restricted(element: Node, condition: Node) -> Node:
    """Return the condition on an element of a set, with its domain unless that is the reals."""
    if not isinstance(element, Relation) or element.sides[-1] == Symbol("mathbb R"):
        return condition
    return Listing((element, condition), "and")


def degrees(node: Node) -> Node:
    """Return a number of degrees in radians."""
    return Apply("degrees", (node,))


def with_degrees(node: Node) -> Node:
    """Return an angle in degrees as a quantity, and any other node unchanged."""
    value = _without_degrees(node)
    return node if value is None else Quantity(value, DEGREE)


def _without_degrees(node: Node) -> Node | None:
    """Return an expression in degrees without its degree signs; None for other expressions."""
    if not isinstance(node, Apply):
        return None
    if node.operation == "degrees":
        return node.arguments[0]
    inner = [_without_degrees(argument) for argument in node.arguments]
    signed = [part is not None for part in inner]
    values = tuple(
        argument if part is None else part
        for part, argument in zip(inner, node.arguments, strict=True)
    )
    fits = {"neg": [[True]], "add": [[True] * 2], "sub": [[True] * 2], "div": [[True, False]]}
    fits["mul"] = [[True, False], [False, True]]
    return Apply(node.operation, values) if signed in fits.get(node.operation, []) else None


def in_base_units(quantity: Quantity) -> Node:
    """Return the value of a quantity in base units."""
    if quantity.unit.factor == 1:
        return quantity.value
    return Apply("mul", (quantity.value, Number(quantity.unit.factor)))


def conjugate(inner: Node) -> Node:
    """Return a complex conjugate or, without an imaginary unit, a name such as a segment's."""
    if "i" not in symbols_of(inner) or isinstance(inner, Symbol):
        return Symbol(f"overline {inner}")
    return Apply("conjugate", (inner,))
