"""Works out what an expression is worth, with any kind of numbers.

Three kinds are in files of their own: ``exact`` (rational), ``floating`` (double precision) and
``precise`` (50 digits). Each is a class with a method for each operation, and bounds the size of
what that makes, so that no answer, however written, takes long: beyond it a value is undefined.
"""

import functools
import random
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

from gem_math.grading.nodes import Apply, Node, Number, Symbol

__all__ = ["Arithmetic", "UndefinedError", "point"]


class UndefinedError(ArithmeticError):
    """The expression has no value here, or none that can be worked out."""


class Arithmetic(ABC):
    """Numbers of one kind: how they are made, and the operations on them as methods."""

    constants: dict[str, Any]
    """Values of ``pi``, ``e`` and ``i``, as far as there are any."""

    @abstractmethod
    def number(self, value: Fraction) -> Any:
        """Return a number of this kind."""

    def variable(self, name: str) -> Any:
        """Return the value of a symbol that is no constant."""
        raise UndefinedError(f"{name} has no value of its own")

    def evaluate(self, node: Node) -> Any:
        """Return the value of an expression.

        Raises:
            UndefinedError: It has none.
        """
        try:
            return self._evaluate(node)
        except (ArithmeticError, ValueError, TypeError) as error:
            raise UndefinedError(str(error)) from error

    def _evaluate(self, node: Node) -> Any:
        if isinstance(node, Number):
            return self.number(node.value)
        if isinstance(node, Symbol):
            constant = self.constants.get(node.name)
            return self.variable(node.name) if constant is None else constant
        if isinstance(node, Apply):
            operation = getattr(self, node.operation, None)
            if operation is None:
                raise UndefinedError(f"{node.operation} has no value among these numbers")
            return operation(*map(self._evaluate, node.arguments))
        raise UndefinedError(f"a {type(node).__name__} has no value")

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def sub(self, a: Any, b: Any) -> Any:
        return a - b

    def mul(self, a: Any, b: Any) -> Any:
        return a * b

    def div(self, a: Any, b: Any) -> Any:
        return a / b

    def neg(self, a: Any) -> Any:
        return -a


@functools.lru_cache(maxsize=4096)
def point(name: str, number: int) -> Fraction:
    """Return the value of a symbol at a point: 0.3 to 3, at points of odd number negative."""
    rng = random.Random(f"{name} {number}")
    size = Fraction(rng.getrandbits(200), 2**200) * Fraction(27, 10) + Fraction(3, 10)
    return -size if number % 2 else size
