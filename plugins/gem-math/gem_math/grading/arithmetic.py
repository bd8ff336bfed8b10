"""Evaluation of expressions, with any kind of numbers.

There are four kinds: ``exact`` (rational), ``residues`` (modulo primes), ``floating`` (double
precision) and ``precise`` (as many digits as are needed). Each is a class with a method for each
operation. The methods limit the size of their results and treat larger ones as undefined, so that
every answer is evaluated quickly.
"""

import functools
import random
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

from gem_math.grading.nodes import Apply, Node, Number, Symbol

__all__ = ["Arithmetic", "OutOfRangeError", "UndefinedError", "elsewhere", "point"]


class UndefinedError(ArithmeticError):
    """The expression has no value, or none that can be computed."""


class OutOfRangeError(UndefinedError):
    """The expression has a value, but it is too large or too small for this kind of numbers."""


class Arithmetic(ABC):
    """A kind of numbers: how to make them, and their operations as methods."""

    constants: dict[str, Any]
    """The values of ``pi``, ``e`` and ``i``, as far as this kind has them."""

    @abstractmethod
    def number(self, value: Fraction) -> Any:
        """Return a number of this kind."""

    def variable(self, name: str) -> Any:
        """Return the value of a symbol that is not a constant."""
        raise UndefinedError(f"{name} has no value")

    def evaluate(self, node: Node) -> Any:
        """Return the value of an expression.

        Raises:
            UndefinedError: The expression has no value.
            OutOfRangeError: Its value is too large or too small.
        """
        try:
            return self._evaluate(node)
        except UndefinedError:
            raise
        except OverflowError as error:
            raise OutOfRangeError(str(error)) from error
        except (ArithmeticError, ValueError, TypeError) as error:
            raise UndefinedError(str(error)) from error

    def _evaluate(self, node: Node) -> Any:
        if isinstance(node, Number):
            return self.number(node.value)
        if isinstance(node, Symbol):
            if node.name == "infty":
                raise UndefinedError("infinity is not a number")
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


_MAGNITUDES = (1, 100, 100_000)


_ELSEWHERE = " elsewhere"


def elsewhere(name: str) -> str:
    """Return a symbol whose values are independent of those of another one."""
    return f"{name}{_ELSEWHERE}"


@functools.lru_cache(maxsize=4096)
def point(name: str, number: int) -> Fraction:
    """Return the value of a symbol at a point, which is negative at points with odd numbers.

    Its size is 0.3 to 3 at points 0 and 1, 30 to 300 at 2 and 3, and 30,000 to 300,000 at 4 and 5,
    so that expressions that agree only on one side of a constant differ at some point. A symbol of
    ``elsewhere`` is negative at points 1, 2 and 5, so that all combinations of signs occur.
    """
    rng = random.Random(f"{name} {number}")
    size = Fraction(rng.getrandbits(200), 2**200) * Fraction(27, 10) + Fraction(3, 10)
    size *= _MAGNITUDES[number // 2 % len(_MAGNITUDES)]
    negative = number % 4 in {1, 2} if name.endswith(_ELSEWHERE) else number % 2
    return -size if negative else size
