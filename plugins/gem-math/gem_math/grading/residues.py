"""Integers and fractions modulo random primes: exact where numbers are too large to be written out.

Expressions of sums, products, quotients, whole powers and factorials that differ have different
residues modulo nearly every prime, and at nearly every value of their variables.

Reference: J. T. Schwartz, "Fast probabilistic algorithms for verification of polynomial
identities", Journal of the ACM 27(4), 1980.
"""

import functools
import random
from fractions import Fraction

from gem_math.grading.arithmetic import Arithmetic, UndefinedError
from gem_math.grading.exact import exact_value
from gem_math.grading.nodes import CONSTANTS, Apply, Node

__all__ = ["equal_residues"]

_PRIMES = 3
_BITS = 61
_LARGEST_FACTORIAL = 100_000
_ROUNDS = 40
"""Rounds of the test of a prime, each of which misses a composite number once in four times."""
_RING = frozenset({"add", "sub", "mul", "div", "neg"})


class _Residues(Arithmetic):
    """Residues of one prime, at random values of the variables."""

    constants: dict[str, int] = {}  # noqa: RUF012 - they are not rational

    def __init__(self, prime: int) -> None:
        self._prime = prime

    def _evaluate(self, node: Node) -> int:
        if not isinstance(node, Apply) or node.operation in _RING:
            residue: int = super()._evaluate(node) % self._prime
            return residue
        if node.operation == "pow":
            return self._power(self._evaluate(node.arguments[0]), _whole(node.arguments[1]))
        if node.operation == "factorial":
            return self._factorial(_whole(node.arguments[0]))
        if node.operation == "binomial":
            n, k = map(_whole, node.arguments)
            above = self._factorial(n) if 0 <= k <= n else 0
            return self.div(above, self._factorial(k) * self._factorial(n - k)) if above else 0
        value = exact_value(node)
        if value is None:
            raise UndefinedError(f"{node.operation} has no residue")
        return self.number(value)

    def number(self, value: Fraction) -> int:
        return self.div(value.numerator, value.denominator)

    def variable(self, name: str) -> int:
        if name in CONSTANTS:
            raise UndefinedError(f"{name} is not rational")
        return random.Random(f"{name} {self._prime}").randrange(1, self._prime)

    def div(self, a: int, b: int) -> int:
        return a * pow(b, -1, self._prime) % self._prime  # a ValueError if b is 0

    def _power(self, base: int, exponent: int) -> int:
        if base == 0 and exponent <= 0:
            raise UndefinedError("0 to the power of 0 or less")
        return pow(base, exponent, self._prime)

    def _factorial(self, n: int) -> int:
        if not 0 <= n <= _LARGEST_FACTORIAL:
            raise UndefinedError("a factorial out of range")
        return functools.reduce(lambda a, b: a * b % self._prime, range(1, n + 1), 1)


def _whole(node: Node) -> int:
    value = exact_value(node)
    if value is None or value.denominator != 1:
        raise UndefinedError("not a whole number")
    return value.numerator


def equal_residues(first: Node, second: Node) -> bool | None:
    """Return whether two expressions of numbers and variables are equal, or None for others."""
    try:
        return all(
            arithmetic.evaluate(first) == arithmetic.evaluate(second)
            for arithmetic in map(_Residues, _primes())
        )
    except UndefinedError:
        return None


@functools.cache
def _primes() -> tuple[int, ...]:
    """Return primes that nobody can foresee, or answers could be built to agree modulo them."""
    rng = random.SystemRandom()
    found: list[int] = []
    while len(found) < _PRIMES:
        number = rng.getrandbits(_BITS) | 1 | 1 << (_BITS - 1)
        if _is_prime(number, rng):
            found.append(number)
    return tuple(found)


def _is_prime(number: int, rng: random.Random) -> bool:
    """Return whether an odd number is prime, by the test of Miller and Rabin."""
    twos = ((number - 1) & -(number - 1)).bit_length() - 1
    for _ in range(_ROUNDS):
        power = pow(rng.randrange(2, number - 1), (number - 1) >> twos, number)
        if power in {1, number - 1}:
            continue
        if all((power := power * power % number) != number - 1 for _ in range(twos - 1)):
            return False
    return True
