# /// script
# requires-python = ">=3.11"
# dependencies = ["sympy>=1.13"]
# ///
r"""Generate the problems that gem-math ships: ``gem_math/data/sample.jsonl``.

Those of ``written_problems.jsonl`` next to this file were written by hand; the others are generated
here, a few of each kind, with answers that sympy computes and writes as LaTeX. The same seed
generates the same file. ``tests/test_sample_data.py`` solves every problem independently::

    uv run plugins/gem-math/scripts/make_sample.py
"""

import json
import random
from collections.abc import Callable
from pathlib import Path

import sympy
from sympy import Expr, Matrix, Rational, Symbol, latex, sqrt

__all__ = ["DATA", "KINDS", "WRITTEN", "make_rows", "write"]

DATA = Path(__file__).parents[1] / "gem_math" / "data" / "sample.jsonl"
WRITTEN = Path(__file__).with_name("written_problems.jsonl")

SEED = 4
PER_KIND = 3
"""The number of problems of each kind."""

X = Symbol("x")
Row = dict[str, str]
"""A problem: problem, answer, level (easy, medium or hard), topic."""


def _row(level: str, topic: str, problem: str, answer: str) -> Row:
    return {"problem": problem, "answer": answer, "level": level, "topic": topic}


def _nonzero(rng: random.Random, most: int) -> int:
    return rng.choice((-1, 1)) * rng.randint(1, most)


def _fraction(rng: random.Random) -> Rational:
    """Return a fraction between 0 and 1, in lowest terms."""
    below = rng.randint(3, 12)
    return Rational(rng.choice([n for n in range(1, below) if sympy.gcd(n, below) == 1]), below)


def _quadratic(rng: random.Random) -> tuple[int, int, str]:
    """Return two different integer roots in ascending order, and their polynomial as LaTeX."""
    low, high = sorted(rng.sample([n for n in range(-9, 10) if n], 2))
    return low, high, latex(sympy.expand((X - low) * (X - high)))


def integer_term(rng: random.Random) -> Row:
    a, b, c, d = (rng.randint(12, 99) for _ in range(4))
    problem = rf"Compute ${a} \cdot {b} - {c} \cdot {d}$."
    return _row("easy", "arithmetic", problem, str(a * b - c * d))


def sum_of_fractions(rng: random.Random) -> Row:
    a, b = _fraction(rng), _fraction(rng)
    problem = f"Compute ${latex(a)} + {latex(b)}$. Give a fraction in lowest terms."
    return _row("easy", "arithmetic", problem, latex(a + b))


def quotient_of_fractions(rng: random.Random) -> Row:
    a, b = _fraction(rng), _fraction(rng)
    problem = rf"Compute ${latex(a)} \div {latex(b)}$. Give a fraction in lowest terms."
    return _row("easy", "arithmetic", problem, latex(a / b))


def percentage(rng: random.Random) -> Row:
    part, step = rng.randint(1, 19) * 5, rng.randint(3, 40) * 20
    problem = f"How much is {part}% of {step}?"
    return _row("easy", "arithmetic", problem, str(part * step // 100))


def linear_equation(rng: random.Random) -> Row:
    a, c = rng.sample(range(2, 12), 2)
    b, d = rng.sample(range(1, 30), 2)
    problem = f"Solve ${a}x + {b} = {c}x + {d}$ for $x$."
    return _row("easy", "algebra", problem, latex(Rational(d - b, a - c)))


def integer_roots(rng: random.Random) -> Row:
    low, high, polynomial = _quadratic(rng)
    problem = f"Find the set of all real solutions of ${polynomial} = 0$."
    return _row("medium", "algebra", problem, rf"\{{{low}, {high}\}}")


def larger_root(rng: random.Random) -> Row:
    middle, radicand = _nonzero(rng, 6), rng.choice((2, 3, 5, 6, 7, 8, 11, 12, 18, 20))
    root = middle + sqrt(radicand)
    polynomial = sympy.expand((X - middle) ** 2 - radicand)
    problem = f"Find the larger solution of ${latex(polynomial)} = 0$."
    return _row("medium", "algebra", problem, latex(root))


def quadratic_inequality(rng: random.Random) -> Row:
    low, high, polynomial = _quadratic(rng)
    sign, answer = rng.choice(
        (
            ("<", f"({low}, {high})"),
            (r"\le", f"[{low}, {high}]"),
            (">", rf"(-\infty, {low}) \cup ({high}, \infty)"),
            (r"\ge", rf"(-\infty, {low}] \cup [{high}, \infty)"),
        )
    )
    problem = f"Solve ${polynomial} {sign} 0$ over the reals. Answer in interval notation."
    return _row("hard", "algebra", problem, answer)


def linear_system(rng: random.Random) -> Row:
    x, y, a, b, c, d = (_nonzero(rng, 7) for _ in range(6))
    if a * d == b * c:
        return linear_system(rng)
    left, right = (latex(p * X + q * Symbol("y")) for p, q in ((a, b), (c, d)))
    equations = f"${left} = {a * x + b * y}$ and ${right} = {c * x + d * y}$"
    problem = f"Solve the equations {equations}. Give the pair $(x, y)$."
    return _row("medium", "algebra", problem, f"({x}, {y})")


def product_of_binomials(rng: random.Random) -> Row:
    a, c = rng.randint(2, 6), rng.randint(2, 6)
    first, second = a * X + _nonzero(rng, 9), c * X + _nonzero(rng, 9)
    problem = rf"Expand $\left({latex(first)}\right)\left({latex(second)}\right)$."
    return _row("easy", "algebra", problem, latex(sympy.expand(first * second)))


def power_remainder(rng: random.Random) -> Row:
    base, exponent = rng.randint(2, 12), rng.randint(20, 99)
    divisor = rng.choice((7, 13, 17, 19, 23, 29, 31))
    problem = f"Find the remainder when ${base}^{{{exponent}}}$ is divided by {divisor}."
    return _row("medium", "number theory", problem, str(pow(base, exponent, divisor)))


def divisors(rng: random.Random) -> Row:
    number = rng.randint(10, 99) * rng.choice((6, 10, 12))
    problem = f"How many positive divisors does {number} have?"
    return _row("medium", "number theory", problem, str(sympy.divisor_count(number)))


def midpoint(rng: random.Random) -> Row:
    a, b, c, d = (rng.randint(-9, 9) for _ in range(4))
    x, y = latex(Rational(a + c, 2)), latex(Rational(b + d, 2))
    problem = f"Find the midpoint of the segment from $({a}, {b})$ to $({c}, {d})$."
    return _row("easy", "geometry", problem, rf"\left({x}, {y}\right)")


def hypotenuse(rng: random.Random) -> Row:
    scale = rng.randint(2, 6)
    a, b = scale * rng.randint(1, 5), scale * rng.randint(1, 5)
    problem = f"The legs of a right triangle measure {a} and {b}. How long is its hypotenuse?"
    return _row("easy", "geometry", problem, latex(sqrt(a * a + b * b)))


def circle_area(rng: random.Random) -> Row:
    radius = rng.randint(3, 20)
    problem = f"Find the exact area of a circle with a radius of {radius} cm. Answer with the unit."
    return _row("easy", "geometry", problem, rf"{radius * radius}\pi \text{{ cm}}^2")


def arithmetic_series(rng: random.Random) -> Row:
    first, step, terms = rng.randint(1, 20), rng.randint(2, 9), rng.randint(20, 60)
    start = ", ".join(str(first + n * step) for n in range(3))
    problem = (
        f"Find the sum of the first {terms} terms of the arithmetic sequence ${start}, \\ldots$"
    )
    total = terms * (2 * first + (terms - 1) * step) // 2
    return _row("medium", "sequences", problem, str(total))


def geometric_series(rng: random.Random) -> Row:
    first, below = rng.randint(2, 9), rng.randint(3, 9)
    ratio = Rational(_nonzero(rng, below - 1), below)
    problem = (
        f"An infinite geometric series begins with {first}, and each term is "
        f"${latex(ratio)}$ times the one before it. Find its sum."
    )
    return _row("medium", "sequences", problem, latex(first / (1 - ratio)))


def same_colour(rng: random.Random) -> Row:
    red, blue = rng.randint(3, 9), rng.randint(3, 9)
    total = red + blue
    chance = Rational(red * (red - 1) + blue * (blue - 1), total * (total - 1))
    problem = (
        f"A bag holds {red} red and {blue} blue balls. Two are drawn at random, without putting "
        f"the first one back. What is the probability that they have the same colour?"
    )
    return _row("medium", "probability", problem, latex(chance))


def derivative(rng: random.Random) -> Row:
    power = rng.randint(3, 6)
    function: Expr = rng.randint(2, 9) * X**power + _nonzero(rng, 9) * X**2 + _nonzero(rng, 9) * X
    problem = f"Find the derivative of $f(x) = {latex(function)}$."
    return _row("easy", "calculus", problem, latex(sympy.diff(function, X)))


def definite_integral(rng: random.Random) -> Row:
    low, length = rng.randint(-3, 2), rng.randint(1, 4)
    function = rng.randint(1, 5) * X**2 + _nonzero(rng, 9)
    bounds = f"_{{{low}}}^{{{low + length}}}"
    problem = rf"Compute $\int{bounds} \left({latex(function)}\right) dx$."
    area = sympy.integrate(function, (X, low, low + length))
    return _row("medium", "calculus", problem, latex(area))


def matrix_product(rng: random.Random) -> Row:
    left, right = (Matrix(2, 2, [rng.randint(-5, 5) for _ in range(4)]) for _ in range(2))
    problem = f"Compute the product ${_matrix(left)} {_matrix(right)}$."
    return _row("medium", "linear algebra", problem, _matrix(left * right))


def _matrix(matrix: Matrix) -> str:
    return str(latex(matrix, mat_str="pmatrix", mat_delim=""))


KINDS: tuple[Callable[[random.Random], Row], ...] = (
    integer_term,
    sum_of_fractions,
    quotient_of_fractions,
    percentage,
    linear_equation,
    integer_roots,
    larger_root,
    quadratic_inequality,
    linear_system,
    product_of_binomials,
    power_remainder,
    divisors,
    midpoint,
    hypotenuse,
    circle_area,
    arithmetic_series,
    geometric_series,
    same_colour,
    derivative,
    definite_integral,
    matrix_product,
)


def make_rows(seed: int = SEED) -> list[Row]:
    """Return all problems, including those written by hand, in a random order."""
    rng = random.Random(seed)
    made: dict[str, Row] = {}
    for kind in KINDS:
        wanted = len(made) + PER_KIND
        while len(made) < wanted:
            row = kind(rng)
            made[row["problem"]] = row
    written = [json.loads(line) for line in WRITTEN.read_text(encoding="utf-8").splitlines()]
    return rng.sample([*written, *made.values()], len(written) + len(made))


def write() -> None:
    """Write the file."""
    lines = [json.dumps(row) + "\n" for row in make_rows()]
    DATA.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write()
