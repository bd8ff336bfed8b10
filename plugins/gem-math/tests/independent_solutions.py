"""Solutions of the problems of the sample, found from their texts alone.

``MADE`` solves the generated kinds from the numbers in the text, ``WRITTEN`` each of the others by
brute force or with sympy. The type of a solution determines how the answer is parsed: a number or
expression, a set, a tuple, an interval, a matrix, a quantity with its unit, or a plain text.
"""

import datetime as dt
import itertools
import math
import re
from fractions import Fraction
from functools import singledispatch
from typing import Any, NamedTuple

import sympy
from sympy import FiniteSet, I, Interval, Matrix, Rational, S, Union, cos, oo, pi, sin, sqrt
from sympy.abc import h, n, x, y
from sympy.parsing import sympy_parser

DICE = range(1, 7)


class Quantity(NamedTuple):
    value: Any
    unit: str


def read(latex):
    """Return the expression of simple LaTeX."""
    text = latex.replace("{,}", "")
    before = ""
    while before != text:
        before = text
        text = re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", text)
        text = re.sub(r"\^\{([^{}]*)\}", r"^(\1)", text)
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
    text = re.sub(r"\\(?:times|cdot)", "*", text)
    text = re.sub(r"\\pi|\\infty", lambda name: {"\\pi": " pi ", "\\infty": " oo "}[name[0]], text)
    rules = (
        *sympy_parser.standard_transformations,
        sympy_parser.rationalize,
        sympy_parser.convert_xor,
        sympy_parser.implicit_multiplication,
    )
    names = {"e": sympy.E, "i": I, "pi": pi, "oo": oo, "sqrt": sqrt, "x": x, "y": y}
    return sympy_parser.parse_expr(text, local_dict=names, transformations=rules)


def read_matrix(latex):
    body = re.fullmatch(r"\\begin\{pmatrix\}(.*)\\end\{pmatrix\}", latex)[1]
    return Matrix([[read(cell) for cell in row.split("&")] for row in body.split(r"\\")])


def read_intervals(latex):
    parts = []
    for part in latex.split(r"\cup"):
        left, low, high, right = re.fullmatch(r"\s*([(\[])(.*),(.*)([)\]])\s*", part).groups()
        parts.append(Interval(read(low), read(high), left == "(", right == ")"))
    return Union(*parts)


def read_quantity(latex):
    found = re.fullmatch(r"(.*?)(?: \\text\{ (.*)\}|(\\%|\^\\circ)|\\text\{ (.*)\}(\^\d))", latex)
    value, word, sign, base, power = found.groups()
    return value, word or sign or base + power


@singledispatch
def same(solved, answer):
    """Return whether the answer, parsed by the type of the solution, equals the solution."""
    return sympy.simplify(read(answer) - sympy.sympify(solved)) == 0


same.register(str, lambda solved, answer: answer == solved)
same.register(sympy.MatrixBase, lambda solved, answer: read_matrix(answer) == solved)
for intervals in (Interval, Union):
    same.register(intervals, lambda solved, answer: read_intervals(answer) == solved)


@same.register(Quantity)
def same_quantity(solved, answer):
    number, unit = read_quantity(answer)
    return unit == solved.unit and same(solved.value, number)


@same.register(set)
@same.register(FiniteSet)
def same_set(solved, answer):
    parts = re.findall(r"\([^()]*\)|[^,\s][^,]*", re.fullmatch(r"\\\{(.*)\\\}", answer)[1])
    found = [[same(one, part) for one in solved] for part in parts]
    return len(parts) == len(solved) and all(map(any, found))


@same.register(tuple)
@same.register(sympy.Tuple)
def same_tuple(solved, answer):
    parts = re.fullmatch(r"\((.*)\)", answer)[1].split(",")
    return len(parts) == len(solved) and all(map(same, solved, parts))


def whole(condition, among=range(-1000, 1001)):
    """Return the only whole number that satisfies the condition."""
    (found,) = [number for number in among if condition(number)]
    return found


def right_letter(problem, condition):
    """Return the letter of the only choice in the problem that satisfies the condition."""
    choices = re.findall(r"\(([A-D])\) (.*?)(?= \([A-D]\)|$)", problem)
    (letter,) = [letter for letter, choice in choices if condition(choice.strip("$"))]
    return letter


def is_largest(choice):
    return read(choice) == max(2**30, 3**20, 5**13, 10**9)


def is_prime(number):
    number = int(number)
    return number > 1 and all(number % d for d in range(2, math.isqrt(number) + 1))


def real_roots(latex):
    return sympy.solveset(read(latex), x, S.Reals)


def lowest_terms(fraction):
    """Return the fraction as it is written in lowest terms."""
    return rf"\frac{{{fraction.numerator}}}{{{fraction.denominator}}}"


def chance(outcomes, condition):
    outcomes = list(outcomes)
    return Rational(sum(map(condition, outcomes)), len(outcomes))


def fractions(*latex):
    return [Fraction(str(read(part))) for part in latex]


def inequality(left, sign):
    relations = {"<": "<", ">": ">", "\\le": "<=", "\\ge": ">="}
    relation = sympy.Rel(read(left), 0, relations[sign])
    return sympy.solve_univariate_inequality(relation, x, relational=False)


def compass(equation):
    left, right = equation.split(" = ")
    return read(left) - read(right)


def simpson(function, low, high):
    """Return the integral of a polynomial of degree at most 3 by Simpson's rule, which is exact."""
    middle = (low + high) / 2
    f = [function.subs(x, at) for at in (low, middle, high)]
    return (high - low) * (f[0] + 4 * f[1] + f[2]) / 6


def slope(function):
    """Return the derivative of a polynomial from its difference quotient."""
    return sympy.cancel((function.subs(x, x + h) - function) / h).subs(h, 0)


def product(left, right):
    left, right = read_matrix(left), read_matrix(right)
    entries = range(2)
    return Matrix(2, 2, lambda i, j: sum(left[i, k] * right[k, j] for k in entries))


def remainder(base, exponent, divisor):
    power = 1
    for _ in range(exponent):
        power = power * base % divisor
    return power


def same_colour(red, blue):
    bag = ["red"] * red + ["blue"] * blue
    return chance(itertools.combinations(bag, 2), lambda pair: pair[0] == pair[1])


NUMBER = r"(-?\d+)"
MATRIX = r"(\\begin\{pmatrix\}.*?\\end\{pmatrix\})"
MADE = {
    rf"Compute \${NUMBER} \\cdot {NUMBER} - {NUMBER} \\cdot {NUMBER}\$": (
        lambda a, b, c, d: sum([int(a)] * int(b)) - sum([int(c)] * int(d))
    ),
    r"Compute \$(\\frac\S+) \+ (\\frac\S+)\$": lambda a, b: lowest_terms(sum(fractions(a, b))),
    r"Compute \$(\\frac\S+) \\div (\\frac\S+)\$": (
        lambda a, b: lowest_terms(fractions(a)[0] / fractions(b)[0])
    ),
    rf"How much is {NUMBER}% of {NUMBER}\?": lambda a, b: Rational(int(a) * int(b), 100),
    r"Solve \$(.*)\$ for \$x\$": lambda equation: sympy.solve(compass(equation), x)[0],
    r"Find the set of all real solutions of \$(x\^\{2\}.*) = 0\$": real_roots,
    r"Find the larger solution of \$(.*) = 0\$": lambda left: max(real_roots(left)),
    r"Solve \$(.*) (<|>|\\le|\\ge) 0\$ over the reals": inequality,
    r"Solve the equations \$(.*)\$ and \$(.*)\$\. Give": (
        lambda *both: next(iter(sympy.linsolve([compass(one) for one in both], x, y)))
    ),
    r"Expand \$\\left\((.*)\\right\)\\left\((.*)\\right\)\$": lambda a, b: read(a) * read(b),
    rf"Find the remainder when \${NUMBER}\^\{{(\d+)\}}\$ is divided by {NUMBER}": (
        lambda *numbers: remainder(*map(int, numbers))
    ),
    rf"How many positive divisors does {NUMBER} have": (
        lambda number: sum(int(number) % d == 0 for d in range(1, int(number) + 1))
    ),
    rf"Find the midpoint .* \$\({NUMBER}, {NUMBER}\)\$ to \$\({NUMBER}, {NUMBER}\)\$": (
        lambda a, b, c, d: tuple(sympy.Segment((a, b), (c, d)).midpoint)
    ),
    rf"The legs of a right triangle measure {NUMBER} and {NUMBER}": (
        lambda a, b: sympy.Point(int(a), 0).distance(sympy.Point(0, int(b)))
    ),
    rf"Find the exact area of a circle with a radius of {NUMBER} cm": (
        lambda radius: Quantity(sympy.Circle((0, 0), int(radius)).area, "cm^2")
    ),
    rf"first {NUMBER} terms of the arithmetic sequence \${NUMBER}, {NUMBER}, ": (
        lambda terms, a, b: sum(int(a) + k * (int(b) - int(a)) for k in range(int(terms)))
    ),
    rf"geometric series begins with {NUMBER}, and each term is \$(.*)\$ times": (
        lambda first, ratio: sympy.summation(int(first) * read(ratio) ** n, (n, 0, oo))
    ),
    rf"A bag holds {NUMBER} red and {NUMBER} blue balls": (
        lambda red, blue: same_colour(int(red), int(blue))
    ),
    r"Find the derivative of \$f\(x\) = (.*)\$": lambda function: slope(read(function)),
    rf"Compute \$\\int_\{{{NUMBER}\}}\^\{{{NUMBER}\}} \\left\((.*)\\right\) dx\$": (
        lambda low, high, f: simpson(read(f), sympy.Integer(low), sympy.Integer(high))
    ),
    rf"Compute the product \${MATRIX} {MATRIX}\$": product,
}


def rise(time):
    hours, minutes = time.split(":")
    return dt.timedelta(hours=int(hours), minutes=int(minutes))


def box_volume(cut):
    return cut * (12 - 2 * cut) ** 2


def best_box():
    """Return the largest value of ``box_volume`` where both sides are positive."""
    return sympy.maximum(box_volume(x), x, Interval(0, 6))


def weekday_after(days, name="Tuesday"):
    start = whole(lambda day: dt.date(2024, 1, day).strftime("%A") == name, range(1, 8))
    later = dt.date(2024, 1, start) + dt.timedelta(days=days)
    return later.strftime("%A")


def arrangements(word):
    return len(set(itertools.permutations(word)))


def neighbours_apart(order):
    return abs(order.index(0) - order.index(1)) > 1


def unit_fraction_pairs():
    """Return all pairs x <= y; as 1/x is at least half of 1/4, x is at most 8, and y at most 20."""
    pairs = itertools.combinations_with_replacement(range(1, 41), 2)
    return {(a, b) for a, b in pairs if Fraction(1, a) + Fraction(1, b) == Fraction(1, 4)}


def prime_triples():
    """Return the primes; above 3, one of p, p + 2, p + 4 is divisible by 3."""
    return {p for p in range(2000) if all(is_prime(p + step) for step in (0, 2, 4))}


def clock_angle(hour, minute):
    turned = abs((hour * 60 + minute) * Rational(1, 2) - minute * 6)
    return min(turned, 360 - turned)


def fibonacci(index):
    first, second = 1, 1
    for _ in range(index - 1):
        first, second = second, first + second
    return first


def is_right(sides):
    a, b, c = sorted(map(int, sides.split(",")))
    return a * a + b * b == c * c


def inverse_of(function):
    return sympy.solve(sympy.Eq(function.subs(x, y), x), y)[0]


def line_through(*points):
    line = sympy.Line(*points)
    return f"y = {sympy.latex(sympy.solve(line.equation(x, y), y)[0]).replace(' x', 'x')}"


WRITTEN = {
    "A bakery sells": lambda: next(k for k in itertools.count() if 12 * k >= 150),
    "A train leaves": lambda: Quantity((rise("13:15") - rise("9:40")).seconds // 60, "minutes"),
    "A shop raises": lambda: Quantity((Rational(120, 100) * Rational(80, 100) - 1) * 100, r"\%"),
    "Tom alone paints": lambda: sympy.solve(x / 6 + x / 4 - 1, x)[0],
    "Ana is three": lambda: 3 * whole(lambda ben: 3 * ben + 10 == 2 * (ben + 10)),
    "A farm keeps": lambda: whole(lambda goats: 4 * goats + 2 * (30 - goats) == 86),
    "A ladder": lambda: Quantity(sqrt(Rational("6.5") ** 2 - Rational("2.5") ** 2), "m"),
    "The mean of five": lambda: whole(lambda sixth: Fraction(5 * 12 + sixth, 6) == 13),
    "Today is a Tuesday": lambda: rf"\text{{{weekday_after(100)}}}",
    "Write $0.0000457$": lambda: Rational("0.0000457"),
    r"Write $\left(3 \times": lambda: 300_000 * 40_000_000,
    "Write the repeating": lambda: sympy.summation(Rational(27) / 100**n, (n, 1, oo)),
    "Write the ratio": lambda: "{0.numerator}:{0.denominator}".format(Fraction(84, 126)),
    r"Write $\frac{17}{40}$": lambda: str(17 / 40),
    "Which of these numbers is the largest": lambda problem: (
        rf"\text{{{right_letter(problem, is_largest)}}}"
    ),
    "Which of these numbers is prime": lambda problem: (
        rf"\text{{({right_letter(problem, is_prime)})}}"
    ),
    "How many of the integers": lambda: sum(
        (k % 3 == 0 or k % 5 == 0) and k % 15 != 0 for k in range(1, 1001)
    ),
    "What is the last digit": lambda: int(str(7**2024)[-1]),
    "Find the smallest positive": lambda: next(
        k for k in itertools.count(1) if (k % 4, k % 5, k % 7) == (1, 2, 3)
    ),
    "With how many zeros": lambda: len(re.search(r"0*$", str(math.factorial(60)))[0]),
    "Find the set of all primes": prime_triples,
    "Find the set of all pairs": unit_fraction_pairs,
    "What is the sum of the digits": lambda: sum(map(int, str(10**20 - 7))),
    "Write the hexadecimal": lambda: f"{0x2A:b}_2",
    "Is $2^{11} - 1$": lambda: rf"\text{{{'Yes' if is_prime(2**11 - 1) else 'No'}}}",
    "Five friends": lambda: sum(map(neighbours_apart, itertools.permutations(range(5)))),
    "In how many ways can eight": lambda: len(
        {
            frozenset({frozenset(team), frozenset(range(8)) - frozenset(team)})
            for team in itertools.combinations(range(8), 4)
        }
    ),
    "How many three-digit": lambda: sum(
        list(str(k)) == sorted(set(str(k))) for k in range(100, 1000)
    ),
    "How many different words": lambda: arrangements("BANANA"),
    "How many points": lambda: sum(
        a * a + b * b < 25 for a, b in itertools.product(range(-5, 6), repeat=2)
    ),
    "Three fair dice": lambda: chance(
        itertools.product(DICE, repeat=3), lambda roll: len(set(roll)) == 3
    ),
    "Two fair dice": lambda: Rational(sum(map(max, itertools.product(DICE, repeat=2))), 36),
    "Three of ten": lambda: Quantity(
        100
        * chance(
            itertools.combinations(range(10), 4), lambda four: sum(map((3).__gt__, four)) == 1
        ),
        r"\%",
    ),
    "The diagonal of a square": lambda: Quantity(sympy.solve(sqrt(2 * x) - 10, x)[0], "cm^2"),
    "Find the area of an equilateral": lambda: sympy.RegularPolygon((0, 0), 6 / sqrt(3), 3).area,
    "Find the radius of the circle": lambda: sympy.Triangle(sss=(13, 14, 15)).inradius,
    "What is the smaller angle": lambda: Quantity(clock_angle(3, 40), r"^\circ"),
    "Each interior angle": lambda: whole(lambda k: (k - 2) * 180 == 156 * k),
    "A cone": lambda: sympy.integrate(pi * (3 - 3 * x / 4) ** 2, (x, 0, 4)),
    "Which of these triples": lambda problem: right_letter(problem, is_right),
    "The point $(3, -2)$": lambda: tuple(
        sympy.Point(3, -2).reflect(sympy.Line((0, 0), (1, 1))) + sympy.Point(0, 4)
    ),
    "Find the centre": lambda: tuple(sympy.Circle(x**2 + y**2 - 6 * x + 8 * y).center),
    "Find the equation of the line": lambda: line_through((1, 2), (3, 8)),
    "Solve the inequality $|2x": lambda: sympy.solve_univariate_inequality(
        abs(2 * sympy.Symbol("x", real=True) - 3) <= 7,
        sympy.Symbol("x", real=True),
        relational=False,
    ),
    "For which real $x$": lambda: sympy.calculus.util.continuous_domain(
        sqrt(x - 1) / (x - 4), x, S.Reals
    ),
    r"Simplify $\sqrt{50}": lambda: sqrt(50) - sqrt(18) + sqrt(8),
    r"Write $\frac{1}{\sqrt{5}": lambda: sympy.radsimp(1 / (sqrt(5) - 2)),
    "Factor $x^4": lambda: x**4 - 16,
    "Let $x$ be a number": lambda: (x**3 + x**-3).subs(x, sympy.solve(x + 1 / x - 3, x)[0]),
    "Find the set of all real solutions of $x^4": lambda: real_roots("x^4 - 5x^2 + 4"),
    "Find the remainder when $x^{11}": lambda: sympy.rem(x**11 + 3, x**2 - 1, x),
    "Write $(2 + i)^4$": lambda: sympy.expand((2 + I) ** 4),
    "Let $f(x)": lambda: inverse_of((2 * x + 1) / (x - 3)),
    "Find the inverse of the matrix": lambda: Matrix([[2, 1], [5, 3]]).inv(),
    "Find the cross product": lambda: tuple(Matrix([1, 2, 3]).cross(Matrix([4, 5, 6]))),
    r"Compute $\frac{1}{1 \cdot 2}": lambda: sum(Rational(1, k * (k + 1)) for k in range(1, 100)),
    "The Fibonacci numbers": lambda: fibonacci(20),
    r"Find the exact value of $\sin 75": lambda: sin(75 * pi / 180),
    "Find the set of all solutions of $2 \\sin x": lambda: sympy.solveset(
        2 * sin(x) - 1, x, Interval.Ropen(0, 2 * pi)
    ),
    "Find the slope": lambda: sympy.diff(x * sympy.log(x), x).subs(x, sympy.E),
    r"Find $\lim_{x \to 0}": lambda: sympy.limit(sin(3 * x) / (5 * x), x, 0),
    r"Compute $\int_0^{\pi/2}": lambda: sympy.integrate(x * cos(x), (x, 0, pi / 2)),
    "Equal squares": lambda: Quantity(best_box(), "cm^3"),
    "Find the derivative of $e": lambda: sympy.diff(sympy.exp(x**2), x),
}


def solve(problem):
    """Return the result of the only solution that matches the problem."""
    made = [(found, way) for form, way in MADE.items() if (found := re.search(form, problem))]
    written = [way for start, way in WRITTEN.items() if problem.startswith(start)]
    assert len(made) + len(written) == 1, problem
    if made:
        found, way = made[0]
        return way(*found.groups())
    return written[0](problem) if written[0].__code__.co_argcount else written[0]()
