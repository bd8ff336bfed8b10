"""Work with the values of a template: text, look-ups, arithmetic, comparison."""

from collections.abc import Mapping
from operator import add, eq, floordiv, ge, gt, le, lt, mod, mul, ne, sub, truediv
from typing import Any

from inkwell.errors import OperationError, UndefinedError

ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
ARITHMETIC = {"+": add, "-": sub, "*": mul, "/": truediv, "//": floordiv, "%": mod}
COMPARISONS = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
OPERATORS = {**ARITHMETIC, **COMPARISONS}


class Markup(str):
    """Text that is shown as it is, never escaped."""


def escape(value: object) -> Markup:
    """The text of a value with what is special in HTML replaced; Markup stays as it is."""
    if isinstance(value, Markup):
        return value
    return Markup("".join(ENTITIES.get(char, char) for char in to_text(value)))


def to_text(value: object) -> str:
    """How a value is shown: nothing for none, no ".0" after a whole float, lists with commas."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list | tuple):
        return ", ".join(to_text(item) for item in value)
    return str(value)


def is_number(value: object) -> bool:
    """Whether a value can be calculated with; true and false cannot."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def look_up(value: object, key: object) -> object:
    """The entry of a mapping, an item of a list or text, or an attribute of any other object.

    A negative index counts from the end. No attribute is private or can be called.
    """
    if isinstance(value, Mapping):
        if key in value:
            return value[key]
    elif isinstance(value, list | tuple | str):
        if isinstance(key, int) and -len(value) <= key < len(value):
            return value[key]
    elif isinstance(key, str) and not key.startswith("_") and hasattr(value, key):
        found = getattr(value, key)
        if not callable(found):
            return found
    raise UndefinedError(f"no item or attribute {to_text(key)!r}")


def contains(container: object, value: object) -> bool:
    """Whether a list has the item, a mapping the key, or a text the other text."""
    if isinstance(container, str):
        return isinstance(value, str) and value in container
    if isinstance(container, list | tuple | Mapping):
        return value in container
    raise OperationError("'in' needs a list, a mapping or a text")


def apply(symbol: str, left: Any, right: Any) -> object:
    """Apply an operator other than `not`, `and` and `or`.

    Only two numbers or two texts have an order. Calculations need two numbers, but `+` joins two
    texts, and `~` joins the texts of any two values.
    """
    if symbol == ".":
        return look_up(left, right)
    if symbol == "in":
        return contains(right, left)
    texts = isinstance(left, str) and isinstance(right, str)
    if symbol == "~" or (symbol == "+" and texts):
        return to_text(left) + to_text(right)
    if symbol in ("==", "!=") or (symbol in COMPARISONS and texts):
        return OPERATORS[symbol](left, right)
    if not is_number(left) or not is_number(right):
        raise OperationError(f"{symbol!r} does not work with these values")
    if symbol in ("/", "//", "%") and right == 0:
        raise OperationError("division by zero")
    return OPERATORS[symbol](left, right)
