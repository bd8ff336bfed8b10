"""Dynamic programming: best choices, and numbers of possibilities."""

import functools
import itertools
import random

from sample.problem import Problem, integers, joined

__all__ = ["PROBLEMS"]


def _drawn(rng: random.Random, count: int, low: int, high: int) -> list[int]:
    return [rng.randint(low, high) for _ in range(count)]


def _stairs(text: str) -> str:
    count, _, *broken = integers(text)

    def ways(step: int) -> int:
        if step == count:
            return 1
        return sum(ways(n) for n in range(step + 1, min(step + 3, count) + 1) if n not in broken)

    return str(ways(0) % (10**9 + 7))


def _staircases(rng: random.Random, sizes: tuple[int, ...]) -> list[str]:
    made = []
    for size in sizes:
        broken = sorted(rng.sample(range(1, size), rng.randint(0, size // 4)))
        made.append(joined((size, len(broken)), broken))
    return made


def _fewest(text: str) -> str:
    amount, _, *coins = integers(text)
    reached, count = {0}, 0
    while amount not in reached:
        count += 1
        more = reached | {a + coin for a in reached for coin in coins if a + coin <= amount}
        if more == reached:
            return "-1"
        reached = more
    return str(count)


def _change(text: str) -> str:
    amount, _, *coins = integers(text)

    @functools.cache
    def ways(left: int, kinds: int) -> int:
        if kinds == 0:
            return int(left == 0)
        coin = coins[kinds - 1]
        return sum(ways(left - n * coin, kinds - 1) for n in range(left // coin + 1))

    return str(ways(amount, len(coins)))


def _purses(rng: random.Random, amounts: tuple[int, ...]) -> list[str]:
    made = []
    for amount in amounts:
        coins = rng.sample(range(1, 30), rng.randint(1, 5))
        made.append(joined((amount, len(coins)), coins))
    return made


def _rucksack(text: str) -> str:
    limit, count, *numbers = integers(text)
    things = list(zip(numbers[::2], numbers[1::2], strict=True))
    return str(
        max(
            sum(worth for _, worth in chosen)
            for size in range(count + 1)
            for chosen in itertools.combinations(things, size)
            if sum(weight for weight, _ in chosen) <= limit
        )
    )


def _rucksacks(rng: random.Random, sizes: tuple[int, ...], heaviest: int) -> list[str]:
    return [
        joined(
            (rng.randint(heaviest, size * heaviest // 2 + heaviest), size),
            *[(rng.randint(1, heaviest), rng.randint(1, 100)) for _ in range(size)],
        )
        for size in sizes
    ]


def _edits(text: str) -> str:
    first, second = text.split("\n")[:2]

    @functools.cache
    def edits(i: int, j: int) -> int:
        if i == len(first) or j == len(second):
            return len(first) - i + len(second) - j
        if first[i] == second[j]:
            return edits(i + 1, j + 1)
        return 1 + min(edits(i + 1, j), edits(i, j + 1), edits(i + 1, j + 1))

    return str(edits(0, 0))


def _common(text: str) -> str:
    first, second = text.split("\n")[:2]
    for size in range(len(first), 0, -1):
        for letters in itertools.combinations(first, size):
            rest = iter(second)
            if all(letter in rest for letter in letters):
                return str(size)
    return "0"


def _two_words(rng: random.Random, sizes: tuple[tuple[int, int], ...], letters: str) -> list[str]:
    return [joined(*["".join(rng.choices(letters, k=n)) for n in pair]) for pair in sizes]


def _halves(text: str) -> str:
    _, *weights = integers(text)
    signs = itertools.product((1, -1), repeat=len(weights))
    return str(min(abs(sum(s * w for s, w in zip(one, weights, strict=True))) for one in signs))


def _cuts(text: str) -> str:
    length, _, *marks = integers(text)
    best = None
    for order in itertools.permutations(marks):
        cost, ends = 0, [0, length]
        for mark in order:
            low = max(end for end in ends if end < mark)
            high = min(end for end in ends if end > mark)
            cost += high - low
            ends.append(mark)
        best = cost if best is None else min(best, cost)
    return str(best)


def _beams(rng: random.Random, sizes: tuple[int, ...], length: int) -> list[str]:
    return [joined((length, n), sorted(rng.sample(range(1, length), n))) for n in sizes]


PROBLEMS = [
    Problem(
        name="broken-stairs",
        topic="choices",
        level="medium",
        text="You climb n stairs, one, two or three at a time. Some stairs are broken and must not "
        "be stepped on. In how many ways can you get from the ground to the last stair?\n\nInput: "
        "n (1 to 10^5) and the number of broken stairs in one line, then the numbers of the broken "
        "stairs, from 1 to n - 1 (an empty line if there are none).\nOutput: the number of ways, "
        "divided by 10^9 + 7, of which the remainder is printed.",
        solution="""\
import sys

count, _, *broken = map(int, sys.stdin.read().split())
broken = set(broken)
ways = [1]
for stair in range(1, count + 1):
    ways.append(0 if stair in broken else sum(ways[-3:]) % (10**9 + 7))
print(ways[count])
""",
        brute=_stairs,
        inputs=lambda rng: (
            [
                "1 0\n\n",
                "2 1\n1\n",
                "4 3\n1 2 3\n",
                "5 0\n\n",
                "7 2\n3 4\n",
                *_staircases(rng, (6, 10, 14, 17)),
            ]
        ),
        large=lambda rng: [*_staircases(rng, (1000, 2000)), "100000 1\n50000\n"],
    ),
    Problem(
        name="fewest-coins",
        topic="choices",
        level="medium",
        text="Pay an amount exactly with as few coins as possible. There are as many coins of each "
        "kind as you like.\n\nInput: the amount (0 to 100000) and the number of kinds (1 to 50) in "
        "one line, then the values of the kinds, from 1 to 10^6.\nOutput: the number of coins; -1 "
        "if the amount cannot be paid.",
        solution="""\
amount, _ = map(int, input().split())
coins = list(map(int, input().split()))
fewest = [0]
for value in range(1, amount + 1):
    best = [fewest[value - coin] for coin in coins if coin <= value]
    best = [number for number in best if number is not None]
    fewest.append(min(best) + 1 if best else None)
print(-1 if fewest[amount] is None else fewest[amount])
""",
        brute=_fewest,
        inputs=lambda rng: (
            [
                "0 1\n5\n",
                "3 1\n5\n",
                "5 1\n5\n",
                "6 3\n1 3 4\n",
                "7 2\n2 4\n",
                *_purses(rng, (10, 23, 60, 99, 150)),
            ]
        ),
        large=lambda _: ["50000 3\n7 33 101\n", "9999 2\n6 10\n"],
    ),
    Problem(
        name="ways-to-pay",
        topic="choices",
        level="medium",
        text="In how many ways can an amount be paid with coins of given kinds? There are as many "
        "of each kind as you like, and only how many of each are used makes a difference, not "
        "their order.\n\nInput: the amount (0 to 10000) and the number of kinds (1 to 50) in one "
        "line, then the values of the kinds, all different, from 1 to 10000.\nOutput: the number "
        "of ways.",
        solution="""\
amount, _ = map(int, input().split())
ways = [1] + [0] * amount
for coin in map(int, input().split()):
    for value in range(coin, amount + 1):
        ways[value] += ways[value - coin]
print(ways[amount])
""",
        brute=_change,
        inputs=lambda rng: (
            [
                "0 1\n3\n",
                "2 1\n3\n",
                "4 2\n1 2\n",
                "5 2\n2 4\n",
                "100 3\n1 5 10\n",
                *_purses(rng, (12, 30, 60, 100, 150)),
            ]
        ),
        large=lambda _: ["5000 6\n1 2 5 10 20 50\n"],
    ),
    Problem(
        name="rucksack",
        topic="choices",
        level="medium",
        text="A rucksack carries a limited weight. Each thing can be taken once or left. What is "
        "the largest total worth that can be carried?\n\nInput: the limit (1 to 10000) and the "
        "number n of things (1 to 200) in one line, then n lines with the weight and the worth of "
        "a thing, from 1 to 10^6 each.\nOutput: the largest total worth.",
        solution="""\
limit, count = map(int, input().split())
worth = [0] * (limit + 1)
for _ in range(count):
    weight, gain = map(int, input().split())
    for carried in range(limit, weight - 1, -1):
        worth[carried] = max(worth[carried], worth[carried - weight] + gain)
print(worth[limit])
""",
        brute=_rucksack,
        inputs=lambda rng: (
            [
                "1 1\n2 5\n",
                "2 1\n2 5\n",
                "5 3\n3 4\n3 5\n2 3\n",
                "9 2\n5 9\n5 9\n",
                *_rucksacks(rng, (3, 5, 8, 10, 12), 20),
            ]
        ),
        large=lambda rng: _rucksacks(rng, (60, 100), 90),
    ),
    Problem(
        name="edits",
        topic="choices",
        level="medium",
        text="An edit puts a letter into a word, takes one out, or replaces one. How many edits "
        "does it take at least to make the second word of the first?\n\nInput: two words of 1 to "
        "1000 small letters, a line each.\nOutput: the number of edits.",
        solution="""\
first, second = input().strip(), input().strip()
row = list(range(len(second) + 1))
for i, letter in enumerate(first, 1):
    previous, row[0] = row[0], i
    for j, other in enumerate(second, 1):
        change = previous + (letter != other)
        previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, change)
print(row[-1])
""",
        brute=_edits,
        inputs=lambda rng: (
            [
                "a\na\n",
                "a\nb\n",
                "ab\nba\n",
                "sun\nsunday\n",
                "aaaa\nb\n",
                *_two_words(rng, ((5, 8), (9, 9), (20, 12), (30, 30)), "abc"),
            ]
        ),
        large=lambda rng: _two_words(rng, ((200, 250),), "abcd"),
    ),
    Problem(
        name="common-letters",
        topic="choices",
        level="medium",
        text="Strike out letters of two words until the same is left of both. How many letters can "
        "be left at most?\n\nInput: two words of 1 to 1000 small letters, a line each.\nOutput: "
        "the number of letters left.",
        solution="""\
first, second = input().strip(), input().strip()
best = [0] * (len(second) + 1)
for letter in first:
    before = best[:]
    for j, other in enumerate(second, 1):
        best[j] = before[j - 1] + 1 if letter == other else max(before[j], best[j - 1])
print(best[-1])
""",
        brute=_common,
        inputs=lambda rng: (
            [
                "a\na\n",
                "a\nb\n",
                "ab\nba\n",
                "abcde\nace\n",
                "aab\nbaa\n",
                *_two_words(rng, ((6, 9), (9, 9), (11, 20), (12, 12)), "abc"),
            ]
        ),
        large=lambda rng: _two_words(rng, ((200, 250),), "abcd"),
    ),
    Problem(
        name="even-loads",
        topic="choices",
        level="hard",
        text="Boxes are put on two carts. The loads shall differ as little as possible in weight; "
        "no box may be left behind.\n\nInput: the number n of boxes (1 to 100), then their weights "
        "from 1 to 1000 in one line.\nOutput: the smallest difference.",
        solution="""\
input()
weights = list(map(int, input().split()))
sums = 1
for weight in weights:
    sums |= sums << weight
total = sum(weights)
print(min(abs(total - 2 * load) for load in range(total + 1) if sums >> load & 1))
""",
        brute=_halves,
        inputs=lambda rng: (
            ["1\n7\n", "2\n4 4\n", "2\n1 9\n", "3\n1 2 3\n", "4\n1 1 1 6\n"]
            + [joined(n, _drawn(rng, n, 1, 1000)) for n in (4, 6, 9, 12)]
        ),
        large=lambda rng: [joined(n, _drawn(rng, n, 1, 1000)) for n in (60, 100)],
    ),
    Problem(
        name="sawing",
        topic="choices",
        level="hard",
        text="A beam is to be sawn at all of its marks, one after the other in any order. A cut "
        "costs as much as the piece is long that is being cut. What is the smallest total cost?\n\n"
        "Input: the length of the beam (2 to 10^6) and the number of marks (1 to 100) in one line, "
        "then the distances of the marks from the left end, going up.\nOutput: the smallest total "
        "cost.",
        solution="""\
length, count = map(int, input().split())
ends = [0, *map(int, input().split()), length]
cost = [[0] * (count + 2) for _ in range(count + 2)]
for width in range(2, count + 2):
    for left in range(count + 2 - width):
        right = left + width
        cheapest = min(cost[left][cut] + cost[cut][right] for cut in range(left + 1, right))
        cost[left][right] = cheapest + ends[right] - ends[left]
print(cost[0][count + 1])
""",
        brute=_cuts,
        inputs=lambda rng: (
            [
                "2 1\n1\n",
                "10 1\n9\n",
                "10 3\n2 4 7\n",
                "100 4\n1 2 3 4\n",
                *_beams(rng, (2, 4, 5, 6, 7), 1000),
            ]
        ),
        large=lambda rng: _beams(rng, (50, 70), 10**6),
    ),
]
