r"""Rows for tasks, made from a seed: a problem, its answer, another form of it, and a wrong one.

The wrong answer has the form of the right one, so that only a comparison tells them apart. It uses
the standard library only, so both sides' interpreters make the same rows.
"""

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple

__all__ = ["Problem", "make_problems"]


class Problem(NamedTuple):
    """A row with its answers.

    Attributes:
        row: Columns of the dataset.
        same: The gold answer.
        equivalent: Another form of it, which is right.
        wrong: A wrong answer.
    """

    row: dict[str, str]
    same: str
    equivalent: str
    wrong: str


Forms = tuple[str, str, str]
"""The gold answer, another form of it, and a wrong answer."""


def make_problems(family: str, *, count: int, seed: int = 0) -> list[Problem]:
    """Return ``count`` problems.

    Args:
        family: ``math``, with alternating kinds of answers; ``algebra``, whose comparison takes
            computer algebra; or ``qa``.
        count: Number of problems.
        seed: The same seed makes the same problems.
    """
    rng = random.Random(seed)
    forms = {"math": _math_forms, "algebra": _algebra_forms, "qa": _qa_forms}[family](rng)
    column = "question" if family == "qa" else "problem"
    return [
        Problem({column: f"Question {number}?", "answer": gold}, gold, equivalent, wrong)
        for number, (gold, equivalent, wrong) in zip(range(count), forms, strict=False)
    ]


def _math_forms(rng: random.Random) -> Iterator[Forms]:
    while True:
        for write in _MATH:
            yield write(rng)


def _integer(rng: random.Random) -> Forms:
    number = rng.randint(1000, 999_999)
    return f"{number}", f"{number:,}", f"{number + rng.randint(1, 9)}"


def _decimal(rng: random.Random) -> Forms:
    quarters = 4 * rng.randint(1, 200) + rng.choice((1, 3))
    return f"{quarters / 4}", rf"\frac{{{quarters}}}{{4}}", f"{(quarters + 2) / 4}"


def _fraction(rng: random.Random) -> Forms:
    top, bottom, times = rng.randint(2, 99), rng.randint(100, 199), rng.randint(2, 9)
    return _frac(top, bottom), _frac(top * times, bottom * times), _frac(top + 1, bottom)


def _frac(top: int, bottom: int) -> str:
    return rf"\frac{{{top}}}{{{bottom}}}"


def _radical(rng: random.Random) -> Forms:
    factor, inside = rng.randint(2, 40), rng.choice((2, 3, 5, 6, 7, 10, 11, 13))
    gold, wrong = (rf"{factor}\sqrt{{{number}}}" for number in (inside, inside + 1))
    return gold, rf"\sqrt{{{factor * factor * inside}}}", wrong


def _expression(rng: random.Random) -> Forms:
    a, b = rng.randint(1, 50), rng.randint(51, 99)
    expanded = (f"x^2+{a + b}x+{a * b + error}" for error in (0, 1))
    return f"(x+{a})(x+{b})", next(expanded), next(expanded)


def _tuple(rng: random.Random) -> Forms:
    first, half = rng.randint(-99, 99), Fraction(2 * rng.randint(0, 49) + 1, 2)
    gold = rf"({first}, {_frac(half.numerator, 2)})"
    return gold, f"({first},{float(half)})", f"({first + 1},{float(half)})"


def _scientific(rng: random.Random) -> Forms:
    digits, power = rng.randint(2, 9), rng.randint(4, 9)
    gold, wrong = (rf"{digits} \times 10^{{{exponent}}}" for exponent in (power, power + 1))
    return gold, str(digits * 10**power), wrong


_MATH: tuple[Callable[[random.Random], Forms], ...] = (
    _integer,
    _decimal,
    _fraction,
    _radical,
    _expression,
    _tuple,
    _scientific,
)


def _algebra_forms(rng: random.Random) -> Iterator[Forms]:
    while True:
        factor = rng.randint(2, 999_999)
        sums = (rf"\sum_{{k=1}}^{{n}} {number}k" for number in (factor, factor + 1))
        yield rf"\frac{{{factor}n(n+1)}}{{2}}", next(sums), next(sums)
        area, top = rng.randint(2, 999), 2 * rng.randint(2, 99)
        integrals = (rf"\int_0^{{{top}}} {number}x\,dx" for number in (area, area + 1))
        yield str(area * top * top // 2), next(integrals), next(integrals)


def _qa_forms(rng: random.Random) -> Iterator[Forms]:
    while True:
        first, last, other = (_name(rng) for _ in range(3))
        yield f"{first} {last}", f"the {first.lower()}  {last}.", f"{first} {other}"


def _name(rng: random.Random) -> str:
    pairs = [rng.choice("bdfgklmnprstv") + rng.choice("aeiou") for _ in range(4)]
    return "".join(pairs).capitalize()
