"""Numbers with decimals, compared with a tolerance."""

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction

from sample.problem import Problem, integers, joined

__all__ = ["PROBLEMS"]


def _points(rng: random.Random, count: int, reach: int) -> str:
    lines = [(rng.randint(-reach, reach), rng.randint(-reach, reach)) for _ in range(count)]
    return joined(count, *lines)


def _pairs(text: str) -> list[tuple[int, int]]:
    _, *numbers = integers(text)
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _spread(text: str) -> str:
    _, *numbers = integers(text)
    mean = Fraction(sum(numbers), len(numbers))
    squares = sum((Fraction(n) - mean) ** 2 for n in numbers) / len(numbers)
    return f"{float(mean)} {math.sqrt(squares)}"


def _field(text: str) -> str:
    """Divide the field into triangles that share its first corner."""
    first, *rest = _pairs(text)
    total = Fraction(0)
    for (ax, ay), (bx, by) in itertools.pairwise(rest):
        total += Fraction((ax - first[0]) * (by - first[1]) - (bx - first[0]) * (ay - first[1]), 2)
    return str(float(abs(total)))


def _star(rng: random.Random, count: int) -> str:
    """Return a field whose corners are in order of their angle from the middle."""
    corners = set()
    angles = sorted(rng.uniform(0, 2 * math.pi) for _ in range(count))
    lines: list[Sequence[int]] = []
    for angle in angles:
        far = rng.randint(50, 1000)
        corner = round(far * math.cos(angle)), round(far * math.sin(angle))
        if corner not in corners:
            lines.append(corner)
        corners.add(corner)
    return joined(len(lines), *lines)


def _nearest(text: str) -> str:
    return str(min(math.dist(a, b) for a, b in itertools.combinations(_pairs(text), 2)))


def _dice(text: str) -> str:
    count, sides, wanted = integers(text)
    throws = itertools.product(range(1, sides + 1), repeat=count)
    return str(sum(sum(throw) == wanted for throw in throws) / sides**count)


def _mortgage(text: str) -> str:
    debt, percent, months = integers(text)
    low, high = Fraction(0), Fraction(2 * debt)
    for _ in range(60):
        rate, left = (low + high) / 2, Fraction(debt)
        for _ in range(months):
            left = left + left * percent / 1200 - rate
        low, high = (rate, high) if left > 0 else (low, rate)
    return str(float(high))


def _mean_wait(text: str) -> str:
    _, *numbers = integers(text)
    waits = []
    for minute in range(numbers[-1] * 2):
        moment = Fraction(minute, 2) + Fraction(1, 4)
        waits.append(next(n for n in numbers if n >= moment) - moment)
    return str(float(sum(waits) / len(waits)))


def _timetable(rng: random.Random, count: int, last: int) -> str:
    return joined(count, sorted(rng.sample(range(1, last), count)))


PROBLEMS = [
    Problem(
        name="mean-and-spread",
        topic="measures",
        level="easy",
        text="For a list of measurements, print the mean and the standard deviation (the square "
        "root of the mean squared distance from the mean, dividing by n).\n\nInput: the number n "
        "(1 to 10000), then n whole numbers from -10^6 to 10^6 in one line.\nOutput: both "
        "numbers, separated by a space; an error of up to 0.000001 is allowed.",
        solution="""\
count = int(input())
numbers = list(map(int, input().split()))
mean = sum(numbers) / count
print(mean, (sum((number - mean) ** 2 for number in numbers) / count) ** 0.5)
""",
        brute=_spread,
        inputs=lambda rng: (
            ["1\n0\n", "1\n-7\n", "2\n1 2\n", "4\n5 5 5 5\n", "3\n-1 0 1\n"]
            + [
                joined(n, [rng.randint(-(10**6), 10**6) for _ in range(n)])
                for n in (3, 10, 50, 300)
            ]
        ),
        compare="float",
    ),
    Problem(
        name="field",
        topic="measures",
        level="medium",
        text="The corners of a field are given in the order in which one meets them when walking "
        "along its fence, which never crosses itself. How large is the field?\n\nInput: the number "
        "n of corners (3 to 10000), then n lines with the coordinates of a corner, whole numbers "
        "from -10^6 to 10^6.\nOutput: the area.",
        solution="""\
count = int(input())
corners = [tuple(map(int, input().split())) for _ in range(count)]
twice = sum(
    ax * by - bx * ay for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1])
)
print(abs(twice) / 2)
""",
        brute=_field,
        inputs=lambda rng: (
            ["3\n0 0\n1 0\n0 1\n", "3\n0 0\n0 2\n2 0\n", "4\n0 0\n4 0\n4 3\n0 3\n"]
            + ["4\n0 0\n4 0\n1 1\n0 4\n", "6\n0 0\n3 0\n3 1\n1 1\n1 3\n0 3\n"]
            + [_star(rng, n) for n in (5, 8, 20, 60, 120)]
        ),
        compare="float",
    ),
    Problem(
        name="nearest-pair",
        topic="measures",
        level="hard",
        text="How far apart are the two points that are nearest to each other?\n\nInput: the "
        "number n of points (2 to 50000), then n lines with the coordinates of a point, whole "
        "numbers from -10^6 to 10^6.\nOutput: the distance; an error of up to 0.000001 is allowed.",
        solution="""\
from bisect import insort, bisect_left
from math import dist, inf

count = int(input())
points = sorted(tuple(map(int, input().split())) for _ in range(count))
best, oldest, near = inf, 0, []
for x, y in points:
    while near and points[oldest][0] < x - best:
        old = points[oldest]
        near.pop(bisect_left(near, (old[1], old[0])))
        oldest += 1
    place = bisect_left(near, (y - best, -inf))
    while place < len(near) and near[place][0] <= y + best:
        best = min(best, dist((x, y), near[place][::-1]))
        place += 1
    insort(near, (y, x))
print(best)
""",
        brute=_nearest,
        inputs=lambda rng: (
            ["2\n0 0\n3 4\n", "2\n5 5\n5 5\n", "3\n0 0\n10 0\n0 1\n"]
            + [
                _points(rng, n, reach)
                for n, reach in ((5, 20), (20, 50), (60, 10**6), (120, 10**4))
            ]
        ),
        large=lambda rng: [
            _points(rng, 300, 10**6),
            joined(200, *[(0, 3 * n) for n in range(200)]),
        ],
        compare="float",
    ),
    Problem(
        name="sum-of-dice",
        topic="measures",
        level="medium",
        text="How likely is it that n fair dice, each with faces 1 to s, show s faces that add up "
        "to exactly t?\n\nInput: n (1 to 50), s (1 to 20) and t (0 to 2000) in one line.\n"
        "Output: the probability; an error of up to 0.000001 is allowed.",
        solution="""\
count, sides, wanted = map(int, input().split())
ways = {0: 1}
for _ in range(count):
    more = {}
    for total, number in ways.items():
        for face in range(1, sides + 1):
            more[total + face] = more.get(total + face, 0) + number
    ways = more
print(ways.get(wanted, 0) / sides**count)
""",
        brute=_dice,
        inputs=lambda rng: (
            ["1 6 3\n", "1 1 1\n", "2 6 7\n", "2 6 13\n", "3 6 2\n", "1 6 0\n"]
            + [joined([n, s, rng.randint(n, n * s)]) for n, s in ((3, 8), (4, 6), (5, 5), (6, 4))]
        ),
        large=lambda _: ["50 20 525\n", "30 6 105\n"],
        compare="float",
    ),
    Problem(
        name="paying-off",
        topic="measures",
        level="medium",
        text="A debt bears interest of p percent a year. At the end of each month first a twelfth "
        "of p percent of what is still owed is added, then a rate is paid, the same each month. "
        "How large must it be for the debt to be gone after n months?\n\nInput: the debt (1 to "
        "10^7), p (0 to 30) and n (1 to 480), whole numbers in one line.\nOutput: the rate; an "
        "error of up to 0.000001 times its size is allowed.",
        solution="""\
debt, percent, months = map(int, input().split())
interest = percent / 1200
if interest:
    print(debt * interest / (1 - (1 + interest) ** -months))
else:
    print(debt / months)
""",
        brute=_mortgage,
        inputs=lambda rng: (
            ["100 0 1\n", "100 0 7\n", "1 30 1\n", "1200 12 2\n", "5000 5 12\n"]
            + [joined([rng.randint(1, 10**7), rng.randint(1, 30), n]) for n in (3, 9, 18)]
        ),
        large=lambda _: ["10000000 30 480\n", "250000 4 360\n", "1 1 480\n"],
        compare="float",
    ),
    Problem(
        name="waiting-for-the-bus",
        topic="measures",
        level="medium",
        text="You come to a bus stop at a random moment between time 0 and the time of the last "
        "bus, all moments being equally likely, and take the next bus. How long do you wait on "
        "average?\n\nInput: the number n of buses (1 to 1000), then their times in one line, whole "
        "numbers of minutes from 1 to 10^6, going up.\nOutput: the average in minutes; an error "
        "of up to 0.000001 is allowed.",
        solution="""\
input()
times = [0, *map(int, input().split())]
gaps = [later - earlier for earlier, later in zip(times, times[1:])]
print(sum(gap * gap for gap in gaps) / 2 / times[-1])
""",
        brute=_mean_wait,
        inputs=lambda rng: (
            ["1\n1\n", "1\n10\n", "2\n5 10\n", "2\n1 10\n", "3\n7 8 9\n"]
            + [_timetable(rng, n, last) for n, last in ((3, 30), (5, 60), (10, 60), (30, 200))]
        ),
        large=lambda rng: [_timetable(rng, 300, 10**6)],
        compare="float",
    ),
]
