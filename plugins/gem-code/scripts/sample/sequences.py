"""Lists of numbers: sums, orders, windows."""

import itertools
import random
from collections.abc import Sequence

from sample.problem import Problem, integers, joined

__all__ = ["PROBLEMS"]


def _listed(numbers: Sequence[int]) -> str:
    return joined(len(numbers), numbers)


def _drawn(rng: random.Random, count: int, low: int, high: int) -> list[int]:
    return [rng.randint(low, high) for _ in range(count)]


def _lists(rng: random.Random, sizes: Sequence[int], low: int, high: int) -> list[str]:
    return [_listed(_drawn(rng, size, low, high)) for size in sizes]


def _with(first: int, numbers: Sequence[int]) -> str:
    return joined((len(numbers), first), numbers)


def _best_stretch(text: str) -> str:
    _, *numbers = integers(text)
    places = range(len(numbers) + 1)
    return str(max(sum(numbers[i:j]) for i, j in itertools.combinations(places, 2)))


def _climb(text: str) -> str:
    _, *numbers = integers(text)
    for size in range(len(numbers), 0, -1):
        for chosen in itertools.combinations(numbers, size):
            if all(a < b for a, b in itertools.pairwise(chosen)):
                return str(size)
    raise AssertionError


def _pairs(text: str) -> str:
    _, target, *numbers = integers(text)
    return str(sum(a + b == target for a, b in itertools.combinations(numbers, 2)))


def _window(text: str) -> str:
    count, width, *numbers = integers(text)
    return joined([max(numbers[i : i + width]) for i in range(count - width + 1)])


def _swaps(text: str) -> str:
    """Count the swaps of bubble sort."""
    _, *numbers = integers(text)
    swaps = 0
    while numbers != sorted(numbers):
        for i in range(len(numbers) - 1):
            if numbers[i] > numbers[i + 1]:
                numbers[i], numbers[i + 1] = numbers[i + 1], numbers[i]
                swaps += 1
    return str(swaps)


def _missing(text: str) -> str:
    _, *numbers = integers(text)
    return str(next(n for n in itertools.count(1) if n not in numbers))


def _turned(text: str) -> str:
    _, turns, *numbers = integers(text)
    for _ in range(turns % len(numbers)):
        numbers = [numbers[-1], *numbers[:-1]]
    return joined(numbers)


def _kth_sum(text: str) -> str:
    count, place, *numbers = integers(text)
    sums = sorted(a + b for a in numbers[:count] for b in numbers[count:])
    return str(sums[place - 1])


PROBLEMS = [
    Problem(
        name="best-stretch",
        topic="sequences",
        level="medium",
        text="Choose a stretch of neighbouring numbers, at least one, so that their sum is as "
        "large as possible.\n\nInput: the number n (1 to 100000), then n whole numbers from -10^6 "
        "to 10^6 in one line.\nOutput: the largest sum.",
        solution="""\
input()
best = None
ending = 0
for number in map(int, input().split()):
    ending = max(ending + number, number)
    best = ending if best is None else max(best, ending)
print(best)
""",
        brute=_best_stretch,
        inputs=lambda rng: (
            [
                "1\n-5\n",
                "1\n0\n",
                "3\n-2 -1 -3\n",
                "5\n1 2 3 4 5\n",
                "4\n3 -9 4 1\n",
                *_lists(rng, (10, 20, 30, 40), -20, 20),
            ]
        ),
        large=lambda rng: _lists(rng, (900, 1000), -(10**6), 10**6),
    ),
    Problem(
        name="longest-climb",
        topic="sequences",
        level="medium",
        text="Strike out numbers of a list so that those left, in their order, go up strictly. "
        "How many can be left at most?\n\nInput: the number n (1 to 100000), then n whole numbers "
        "from -10^9 to 10^9 in one line.\nOutput: the largest count.",
        solution="""\
from bisect import bisect_left

input()
ends = []
for number in map(int, input().split()):
    place = bisect_left(ends, number)
    ends[place : place + 1] = [number]
print(len(ends))
""",
        brute=_climb,
        inputs=lambda rng: (
            [
                "1\n7\n",
                "3\n2 2 2\n",
                "4\n4 3 2 1\n",
                "5\n1 2 3 4 5\n",
                *_lists(rng, (8, 10, 12, 12), -9, 9),
            ]
        ),
        large=lambda rng: _lists(rng, (600, 900), -(10**9), 10**9),
    ),
    Problem(
        name="pairs-with-a-sum",
        topic="sequences",
        level="easy",
        text="In how many ways can two numbers at different places of a list be chosen so that "
        "their sum is t? The order within a pair does not matter; equal numbers at different "
        "places are different choices.\n\nInput: the number n (1 to 100000) and t in one line, "
        "then n whole numbers from -10^9 to 10^9 in one line.\nOutput: the number of pairs.",
        solution="""\
from collections import Counter

_, target = map(int, input().split())
seen = Counter()
pairs = 0
for number in map(int, input().split()):
    pairs += seen[target - number]
    seen[number] += 1
print(pairs)
""",
        brute=_pairs,
        inputs=lambda rng: (
            ["1 2\n1\n", "2 2\n1 1\n", "4 0\n0 0 0 0\n", "3 -4\n-1 -3 -1\n"]
            + [_with(rng.randint(-5, 5), _drawn(rng, n, -9, 9)) for n in (5, 20, 60, 100)]
        ),
        large=lambda rng: [_with(100, _drawn(rng, 900, 0, 100)), _with(0, [0] * 1000)],
    ),
    Problem(
        name="window-peaks",
        topic="sequences",
        level="hard",
        text="A window of width k moves along a list of numbers, one place at a time. Print the "
        "largest number that is seen at each position of the window.\n\nInput: n and k in one line "
        "(1 <= k <= n <= 200000), then n whole numbers from -10^9 to 10^9 in one line.\nOutput: "
        "n - k + 1 numbers in one line, separated by spaces.",
        solution="""\
from collections import deque

count, width = map(int, input().split())
numbers = list(map(int, input().split()))
candidates, peaks = deque(), []
for place, number in enumerate(numbers):
    while candidates and numbers[candidates[-1]] <= number:
        candidates.pop()
    candidates.append(place)
    if candidates[0] <= place - width:
        candidates.popleft()
    if place >= width - 1:
        peaks.append(numbers[candidates[0]])
print(*peaks)
""",
        brute=_window,
        inputs=lambda rng: (
            ["1 1\n-3\n", "3 3\n1 2 1\n", "4 1\n4 3 2 1\n", "5 2\n5 5 5 5 5\n"]
            + [_with(rng.randint(1, n), _drawn(rng, n, -50, 50)) for n in (6, 15, 30, 70, 120)]
        ),
        large=lambda rng: [_with(100, _drawn(rng, 500, -(10**9), 10**9))],
    ),
    Problem(
        name="neighbour-swaps",
        topic="sequences",
        level="hard",
        text="A shelf of books, each with a number, is to be sorted from small to large. The only "
        "move is to swap two neighbours. How many moves are needed at least?\n\nInput: the number "
        "n (1 to 100000), then n whole numbers from 0 to 10^9 in one line.\nOutput: the number of "
        "moves.",
        solution="""\
def count(numbers):
    if len(numbers) < 2:
        return 0, numbers
    middle = len(numbers) // 2
    swaps, left = count(numbers[:middle])
    more, right = count(numbers[middle:])
    swaps += more
    merged, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            swaps += len(left) - i
            j += 1
    return swaps, merged + left[i:] + right[j:]


input()
print(count(list(map(int, input().split())))[0])
""",
        brute=_swaps,
        inputs=lambda rng: (
            [
                "1\n4\n",
                "2\n2 1\n",
                "4\n7 7 7 7\n",
                "5\n5 4 3 2 1\n",
                "3\n1 2 3\n",
                *_lists(rng, (6, 15, 30, 60), 0, 40),
            ]
        ),
        large=lambda rng: [_listed([*range(800, 0, -1)]), *_lists(rng, (800,), 0, 10**9)],
    ),
    Problem(
        name="first-free-number",
        topic="sequences",
        level="easy",
        text="Seats are numbered 1, 2, 3, ... Given the numbers on sold tickets, name the smallest "
        "seat that is free. By mistake some tickets were sold twice, and some show numbers that "
        "are no seats, such as 0 or -3.\n\nInput: the number n of tickets (1 to 100000), then n "
        "whole numbers from -10^9 to 10^9 in one line.\nOutput: the number of the seat.",
        solution="""\
input()
taken = set(map(int, input().split()))
seat = 1
while seat in taken:
    seat += 1
print(seat)
""",
        brute=_missing,
        inputs=lambda rng: (
            [
                "1\n1\n",
                "1\n2\n",
                "2\n0 -3\n",
                "4\n3 1 2 2\n",
                "3\n-1 2 1\n",
                *_lists(rng, (5, 10, 20, 50, 100), -5, 30),
                _listed(random.Random(1).sample(range(1, 501), 500)),
            ]
        ),
    ),
    Problem(
        name="turned-list",
        topic="sequences",
        level="easy",
        text="Turn a list k times: each turn takes the last number and puts it in front.\n\n"
        "Input: n and k in one line (1 <= n <= 100000, 0 <= k <= 10^18), then n whole numbers in "
        "one line.\nOutput: the list after the turns, in one line.",
        solution="""\
count, turns = map(int, input().split())
numbers = input().split()
place = count - turns % count
print(*numbers[place:], *numbers[:place])
""",
        brute=_turned,
        inputs=lambda rng: (
            ["1 5\n8\n", "3 0\n1 2 3\n", "3 3\n1 2 3\n", "3 1\n1 2 3\n"]
            + [_with(rng.randrange(10**18), _drawn(rng, n, -99, 99)) for n in (2, 7, 30, 100, 200)]
        ),
    ),
    Problem(
        name="kth-cheapest-menu",
        topic="sequences",
        level="hard",
        text="A menu is one of n starters with one of n main courses. Sort all n * n menus by "
        "price, the cheapest first: what does the k-th one cost? (Menus of equal price all "
        "count.)\n\nInput: n and k in one line (1 <= n <= 20000, 1 <= k <= n * n), then the "
        "prices of the starters and the prices of the main courses, a line each, whole numbers "
        "from 0 to 10^6.\nOutput: the price of the k-th menu.",
        solution="""\
count, wanted = map(int, input().split())
starters = sorted(map(int, input().split()))
mains = sorted(map(int, input().split()))


def menus_up_to(price):
    total, reach = 0, count
    for starter in starters:
        while reach and starter + mains[reach - 1] > price:
            reach -= 1
        total += reach
    return total


low, high = starters[0] + mains[0], starters[-1] + mains[-1]
while low < high:
    middle = (low + high) // 2
    if menus_up_to(middle) >= wanted:
        high = middle
    else:
        low = middle + 1
print(low)
""",
        brute=_kth_sum,
        inputs=lambda rng: (
            ["1 1\n0\n0\n", "2 1\n5 1\n7 2\n", "2 4\n5 1\n7 2\n", "2 3\n1 1\n1 1\n"]
            + [
                joined((n, rng.randint(1, n * n)), _drawn(rng, n, 0, 60), _drawn(rng, n, 0, 60))
                for n in (3, 5, 9, 20, 40, 80)
            ]
        ),
        large=lambda rng: [
            joined((400, 90000), _drawn(rng, 400, 0, 10**6), _drawn(rng, 400, 0, 10**6))
        ],
    ),
]
