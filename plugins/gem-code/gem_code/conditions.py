"""Conditions over plain values: the part of an assertion that is left when its calls are replaced.

``assert abs(f(2) - 4) < 0.1`` asks the solution for ``f(2)``, and leaves ``abs(value - 4) < 0.1``.
That condition is evaluated on the host, by walking its syntax tree: a condition can contain only
the operators and functions listed here, so evaluating one runs no code of a dataset or a solution,
and needs little time and memory.
"""

import ast
import math
import operator
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

from gem_code.plain import gem_check_hashes, gem_hashed_items
from gem_tasks.json_values import exact_digits, exact_int

__all__ = ["MAX_SIZE", "Approx", "evaluate", "is_condition", "value_name"]

MAX_SIZE = 1_000_000
"""The maximum length of a repeated sequence or range, in items, and of a number, in bits."""
MAX_FRACTIONS = 10**11
"""The maximum of a sum of fractions: their number times the squared bits of all denominators."""
_DIGITS = sys.int_info.str_digits_check_threshold
"""The number of digits that Python always reads and writes."""
MAX_DIGITS = 30_000
"""The maximum number of digits of a number that is converted from or to a text."""
_DECIMAL = re.compile(r"[+-]?[0-9]+")
_VALUE = "value "
"""The start of the name of a value; no name in a program has a space."""

_Of = Callable[[ast.AST | None], Any]

_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}


@dataclass(frozen=True, eq=False)
class Approx:
    """A value that equals others within a tolerance, like ``pytest.approx``.

    Args:
        value: A number, or a list, tuple or dictionary of numbers.
        rel: The relative tolerance.
        abs: The absolute tolerance; the larger one counts. By default both are those of pytest.
    """

    value: Any
    rel: float | None = None
    abs: float | None = None

    def __eq__(self, other: object) -> bool:
        """Return whether a value is near."""
        value = self.value
        if isinstance(value, dict):
            return (
                isinstance(other, dict)
                and value.keys() == other.keys()
                and all(self._replaced(value[key]) == other[key] for key in value)
            )
        if isinstance(value, list | tuple):
            return (
                isinstance(other, list | tuple)
                and len(value) == len(other)
                and all(self._replaced(one) == two for one, two in zip(value, other, strict=True))
            )
        if isinstance(value, int | float) and isinstance(other, int | float):
            return value == other or self._is_near(value, other)
        return bool(value == other)

    def __ne__(self, other: object) -> bool:
        """Return whether a value is not near."""
        return not self == other

    def __hash__(self) -> NoReturn:
        """Refuse: equal values would have different hashes."""
        raise TypeError("an approximate value has no hash")

    def _replaced(self, value: Any) -> "Approx":
        return replace(self, value=value)

    def _is_near(self, value: float, other: float) -> bool:
        if math.isinf(value) or math.isinf(other):
            return False
        rel = self.rel if self.rel is not None else 1e-6 if self.abs is None else 0.0
        absolute = 1e-12 if self.abs is None else self.abs
        return abs(value - other) <= max(rel * abs(value), absolute)


def _times(one: Any, other: Any) -> Any:
    for items, count in ((one, other), (other, one)):
        if isinstance(items, str | bytes | list | tuple) and len(items) * count > MAX_SIZE:
            raise ValueError("a repeated sequence is too long")
    numbers = [number for number in (one, other) if isinstance(number, int)]
    if len(numbers) > 1 and sum(number.bit_length() for number in numbers) > MAX_SIZE:
        raise ValueError("a product is too large")
    return one * other


def _power(one: Any, other: Any) -> Any:
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        raise TypeError("only powers of numbers are known")
    if isinstance(one, int) and isinstance(other, int) and one.bit_length() * other > MAX_SIZE:
        raise ValueError("a power is too large")
    return one**other


def _remainder(one: Any, other: Any) -> Any:
    if isinstance(one, str | bytes):
        raise TypeError("texts have no remainder")
    return one % other


def _round(value: Any, ndigits: int | None = None) -> Any:
    if ndigits is not None and abs(ndigits) > 400:
        raise ValueError("a number is rounded to too many digits")
    return round(value) if ndigits is None else round(value, ndigits)


def _int(value: Any = 0, /, *base: Any) -> int:
    is_text = isinstance(value, str) and not base and _DIGITS < len(value) <= MAX_DIGITS
    return exact_int(value) if is_text and _DECIMAL.fullmatch(value) else int(value, *base)


def _str(value: Any = "", /, *encoding: Any) -> str:
    is_long = type(value) is int and _DIGITS < value.bit_length() <= 3 * MAX_DIGITS
    return exact_digits(value) if is_long else str(value, *encoding)


def _bytes(value: Any) -> bytes:
    if isinstance(value, int):
        raise TypeError("bytes of a length are not known")
    return bytes(value)


def _dict(items: Any = (), /, **named: Any) -> dict[Any, Any]:
    pairs = list(items.items() if isinstance(items, dict) else items)
    gem_check_hashes(key for key, _ in pairs)
    return dict(pairs, **named)


def _set_of(make: Callable[[Any], Any]) -> Callable[..., Any]:
    made = gem_hashed_items(make)
    return lambda items=(), /: made(list(items))


def _type(value: Any) -> type:
    return type(value)


def _total(items: Any) -> Any:
    items = list(items)
    bits = sum(one.denominator.bit_length() for one in items if isinstance(one, Fraction))
    if len(items) * bits**2 > MAX_FRACTIONS:  # about the time that it takes
        raise ValueError("a sum of fractions is too large")
    return sum(items)


_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _times,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _remainder,
    ast.Pow: _power,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_TYPES: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **_TYPES,
    **{f.__name__: f for f in (abs, all, any, len, max, min, sorted, isinstance)},
    "bytes": _bytes,
    "int": _int,
    "str": _str,
    "dict": _dict,
    "set": _set_of(set),
    "frozenset": _set_of(frozenset),
    "round": _round,
    "sum": _total,
    "type": _type,
    "math.isclose": math.isclose,
    "math.isnan": math.isnan,
    "math.isinf": math.isinf,
    "math.sqrt": math.sqrt,
    "pytest.approx": Approx,
}
_CONSTANTS: Mapping[str, Any] = {
    **_TYPES,
    **{f"math.{name}": getattr(math, name) for name in ("inf", "nan", "pi", "e")},
}


def value_name(index: int) -> str:
    """Return the name that stands for the value of a call."""
    return f"{_VALUE}{index}"


def is_condition(node: ast.AST) -> bool:
    """Return whether an expression can be evaluated.

    A name of a module is written with its module: the name ``math.isclose``, not an attribute.
    """
    match node:
        case ast.Name(id=name):
            return name.startswith(_VALUE) or name in _CONSTANTS
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            parts = [*args, *(keyword.value for keyword in keywords if keyword.arg)]
            whole = len(parts) == len(args) + len(keywords)
            return whole and name in _FUNCTIONS and all(map(is_condition, parts))
        case ast.BinOp(left=ast.Constant(value=str() | bytes()), op=ast.Mod()):
            return False
    if type(node) not in _EVALUATORS.keys() | _BINARY.keys() | _NO_EXPRESSIONS:
        return False
    missing = isinstance(node, ast.Dict) and None in node.keys
    return not missing and all(map(is_condition, ast.iter_child_nodes(node)))


def evaluate(node: ast.AST | None, values: Sequence[Any]) -> Any:
    """Return the value of a condition, or of a part of one.

    Args:
        node: An expression for which ``is_condition`` is true.
        values: The values that names of ``value_name`` stand for.

    Raises:
        Exception: What the operators and functions raise for the values.
    """
    if node is None:
        return None
    if isinstance(node, ast.Name):
        return _named(node.id, values)
    return _EVALUATORS[type(node)](node, lambda part: evaluate(part, values))


def _named(name: str, values: Sequence[Any]) -> Any:
    index = name.removeprefix(_VALUE)
    return _CONSTANTS[name] if index == name else values[int(index)]


def _call(node: ast.Call, of: _Of) -> Any:
    function = _FUNCTIONS[node.func.id]  # type: ignore[attr-defined]
    named = {str(keyword.arg): of(keyword.value) for keyword in node.keywords}
    return function(*map(of, node.args), **named)


def _logic(node: ast.BoolOp, of: _Of) -> Any:
    decides = isinstance(node.op, ast.Or)
    value: Any = not decides
    for part in node.values:
        value = of(part)
        if bool(value) is decides:
            break
    return value


def _compared(node: ast.Compare, of: _Of) -> bool:
    left = of(node.left)
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = of(comparator)
        if not _COMPARE[type(op)](left, right):
            return False
        left = right
    return True


_EVALUATORS: Mapping[type, Callable[[Any, _Of], Any]] = {
    ast.Constant: lambda node, _: node.value,
    ast.Call: _call,
    ast.UnaryOp: lambda node, of: _UNARY[type(node.op)](of(node.operand)),
    ast.BinOp: lambda node, of: _BINARY[type(node.op)](of(node.left), of(node.right)),
    ast.BoolOp: _logic,
    ast.Compare: _compared,
    ast.Subscript: lambda node, of: of(node.value)[of(node.slice)],
    ast.Slice: lambda node, of: slice(of(node.lower), of(node.upper), of(node.step)),
    ast.Dict: lambda node, of: dict(zip(map(of, node.keys), map(of, node.values), strict=True)),
    ast.List: lambda node, of: [of(part) for part in node.elts],
    ast.Tuple: lambda node, of: tuple(of(part) for part in node.elts),
    ast.Set: lambda node, of: {of(part) for part in node.elts},
}
"""How to evaluate each kind of expression: called with its node and an evaluator of parts."""
_NO_EXPRESSIONS = frozenset({*_COMPARE, *_UNARY, ast.And, ast.Or, ast.Load})
