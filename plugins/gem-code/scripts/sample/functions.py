"""Problems that ask for a function instead of a program."""

import itertools
import random
import re
from typing import Any

from sample.problem import Problem

__all__ = ["PROBLEMS"]


def _merged(spans: list[list[int]]) -> list[list[int]]:
    covered = {point for first, last in spans for point in range(2 * first, 2 * last + 1)}
    starts = sorted(point for point in covered if point - 1 not in covered)
    ends = sorted(point for point in covered if point + 1 not in covered)
    return [[a // 2, b // 2] for a, b in zip(starts, ends, strict=True)]


def _spans(rng: random.Random, count: int, reach: int) -> list[list[int]]:
    return [sorted(rng.choices(range(-reach, reach), k=2)) for _ in range(count)]


def _roman(text: str) -> int:
    """Convert all numbers until one is written like this."""
    ones = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"]
    tens = [word.translate(str.maketrans("IVX", "XLC")) for word in ones]
    hundreds = [word.translate(str.maketrans("IVX", "CDM")) for word in ones]
    for number in range(1, 4000):
        digits = f"{number:04}"
        written = "M" * int(digits[0]) + hundreds[int(digits[1])]
        if written + tens[int(digits[2])] + ones[int(digits[3])] == text:
            return number
    raise ValueError(text)


def _quarter_turn(rows: list[list[int]]) -> list[list[int]]:
    height = len(rows)
    return [[rows[height - 1 - i][j] for i in range(height)] for j in range(len(rows[0]))]


def _reachable(weights: list[int]) -> list[int]:
    sums = (
        sum(chosen)
        for size in range(len(weights) + 1)
        for chosen in itertools.combinations(weights, size)
    )
    return sorted(set(sums))


def _flat(nested: list[Any]) -> list[int]:
    return [int(number) for number in re.findall(r"-?\d+", repr(nested))]


def _nested(rng: random.Random, depth: int) -> list[Any]:
    return [
        _nested(rng, depth - 1) if depth and rng.random() < 0.5 else rng.randint(-9, 99)
        for _ in range(rng.randint(0, 4))
    ]


def _rain(heights: list[int]) -> int:
    return sum(
        max(0, min(max(heights[: i + 1]), max(heights[i:])) - height)
        for i, height in enumerate(heights)
    )


def _rank(word: str) -> int:
    return sorted({"".join(letters) for letters in itertools.permutations(word)}).index(word)


def _grade(marks: dict[str, list[int]]) -> list[str]:
    best: list[str] = []
    for name, own in marks.items():
        beaten = any(
            sum(other) * len(own) > sum(own) * len(other) for other in marks.values() if other
        )
        if own and not beaten:
            best.append(name)
    return sorted(best)


def _marks(rng: random.Random, count: int) -> dict[str, list[int]]:
    names = rng.sample(["Ada", "Bo", "Cem", "Dora", "Eli", "Fay", "Gus", "Hal"], count)
    return {name: [rng.randint(1, 6) for _ in range(rng.randint(0, 4))] for name in names}


def _balance(values: list[float], weights: list[float]) -> float:
    total, mean = 0.0, 0.0
    for value, weight in zip(values, weights, strict=True):
        total += weight
        mean += (value - mean) * weight / total
    return mean


def _weighed(rng: random.Random, count: int) -> list[list[float]]:
    values = [round(rng.uniform(-50, 50), 2) for _ in range(count)]
    return [values, [round(rng.uniform(0.1, 9), 2) for _ in range(count)]]


def _ladder(start: str, end: str, words: list[str]) -> int:
    """Try all ladders by length, never using a word twice."""
    known = {*words, end}

    def apart(one: str, other: str) -> int:
        return sum(a != b for a, b in zip(one, other, strict=True))

    ladders = [[start]]
    while ladders:
        if any(ladder[-1] == end for ladder in ladders):
            return len(ladders[0]) - 1
        ladders = [
            [*ladder, word]
            for ladder in ladders
            for word in known
            if apart(word, ladder[-1]) == 1 and word not in ladder
        ]
    return -1


def _words(rng: random.Random, count: int, letters: str) -> list[Any]:
    words = ["".join(rng.choices(letters, k=3)) for _ in range(count)]
    return [words[0], words[1], sorted(set(words[1:]))]


PROBLEMS = [
    Problem(
        name="joined-spans",
        topic="functions",
        level="medium",
        text="Write a function joined_spans(spans). Each span is a list [first, last] with first "
        "<= last and stands for all numbers from first to last. Spans that overlap or touch in a "
        "number become one. Return the resulting spans as lists, in ascending order.",
        solution="""\
def joined_spans(spans):
    result = []
    for first, last in sorted(spans):
        if result and first <= result[-1][1]:
            result[-1][1] = max(result[-1][1], last)
        else:
            result.append([first, last])
    return result
""",
        brute=_merged,
        inputs=lambda rng: (
            [[[]], [[[1, 1]]], [[[1, 2], [2, 3]]], [[[1, 2], [3, 4]]]]
            + [[[[5, 9], [1, 20]]], [[[0, 0], [0, 0]]]]
            + [[_spans(rng, n, reach)] for n, reach in ((3, 9), (6, 30), (10, 60), (20, 200))]
        ),
        function="joined_spans",
    ),
    Problem(
        name="roman-value",
        topic="functions",
        level="easy",
        text="Write a function roman_value(text) that returns the whole number from 1 to 3999 that "
        "the Roman numeral text stands for. Numerals are written in the usual way: IV, IX, XL, XC, "
        "CD and CM, and no sign more than three times in a row.",
        solution="""\
def roman_value(text):
    values = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}[c] for c in text]
    return sum(
        -value if value < following else value
        for value, following in zip(values, values[1:] + [0])
    )
""",
        brute=_roman,
        inputs=lambda _: [
            [numeral]
            for numeral in (
                *("I", "IV", "IX", "XIV", "XL", "XCIX", "CD", "CMXCIV", "MCMLXXXIV"),
                *("MMXXVI", "MMMCMXCIX", "DCCCLXXXVIII"),
            )
        ],
        function="roman_value",
    ),
    Problem(
        name="quarter-turn",
        topic="functions",
        level="easy",
        text="Write a function quarter_turn(rows) that turns a table, given as a list of rows of "
        "equal length, by 90 degrees clockwise, and returns it as a list of rows. There is at "
        "least one row and one column.",
        solution="""\
def quarter_turn(rows):
    return [list(column) for column in zip(*rows[::-1])]
""",
        brute=_quarter_turn,
        inputs=lambda rng: (
            [[[[1]]], [[[1, 2]]], [[[1], [2]]], [[[1, 2], [3, 4]]]]
            + [
                [[[rng.randint(-9, 9) for _ in range(m)] for _ in range(n)]]
                for n, m in ((2, 3), (3, 3), (4, 2), (1, 6), (5, 5), (7, 4))
            ]
        ),
        function="quarter_turn",
    ),
    Problem(
        name="weighable",
        topic="functions",
        level="medium",
        text="Write a function weighable(weights) that returns, in ascending order and each once, "
        "all weights that can be put together from a given list of weights, each of which can be "
        "used once. Using none gives 0. The list holds up to 40 whole numbers from 1 to 100.",
        solution="""\
def weighable(weights):
    sums = {0}
    for weight in weights:
        sums |= {total + weight for total in sums}
    return sorted(sums)
""",
        brute=_reachable,
        inputs=lambda rng: (
            [[[]], [[5]], [[5, 5]], [[1, 2, 4]], [[10, 1, 10]]]
            + [[[rng.randint(1, 100) for _ in range(n)]] for n in (3, 5, 7, 9, 10)]
        ),
        large=lambda rng: [[[rng.randint(1, 100) for _ in range(40)]]],
        function="weighable",
    ),
    Problem(
        name="flat-list",
        topic="functions",
        level="easy",
        text="Write a function flat_list(nested). Its argument is a list of whole numbers and of "
        "lists, which again hold numbers and lists, and so on. Return all numbers in one list, in "
        "the order in which they are written.",
        solution="""\
def flat_list(nested):
    result = []
    for item in nested:
        if isinstance(item, list):
            result.extend(flat_list(item))
        else:
            result.append(item)
    return result
""",
        brute=_flat,
        inputs=lambda rng: (
            [[[]], [[1]], [[[]]], [[[[[-7]]]]], [[1, [2, [3, [4]]], 5]]]
            + [[[rng.randint(0, 9), _nested(rng, depth)]] for depth in (1, 2, 3, 3, 4, 5)]
        ),
        function="flat_list",
    ),
    Problem(
        name="rain-water",
        topic="functions",
        level="hard",
        text="Write a function rain_water(heights). Walls of width 1 stand side by side, their "
        "heights given as whole numbers from 0 to 10^6. After heavy rain, water stands wherever "
        "there is a higher wall on both sides. Return how many squares of water there are, seen "
        "from the front. There are 1 to 100000 walls.",
        solution="""\
def rain_water(heights):
    left, right = 0, len(heights) - 1
    level = water = 0
    while left < right:
        if heights[left] <= heights[right]:
            lower, left = heights[left], left + 1
        else:
            lower, right = heights[right], right - 1
        level = max(level, lower)
        water += level - lower
    return water
""",
        brute=_rain,
        inputs=lambda rng: (
            [[[0]], [[5, 5]], [[2, 0, 2]], [[0, 4, 0]], [[5, 3, 1]], [[3, 0, 1, 2]]]
            + [
                [[rng.randint(0, high) for _ in range(n)]]
                for n, high in ((6, 5), (15, 9), (60, 30))
            ]
        ),
        large=lambda rng: [[[rng.randint(0, 10**6) for _ in range(n)]] for n in (300, 500)],
        function="rain_water",
    ),
    Problem(
        name="word-rank",
        topic="functions",
        level="hard",
        text="All words that use exactly the letters of a given word, each as often as there, are "
        "listed in alphabetical order. Write a function word_rank(word) that returns at which "
        "place the word itself stands, the first place being 0. The word has 1 to 20 small "
        "letters; letters may come more than once.",
        solution="""\
from collections import Counter
from math import factorial


def word_rank(word):
    rank, left = 0, Counter(word)
    for place, letter in enumerate(word):
        for smaller in sorted(left):
            if smaller >= letter:
                break
            if left[smaller]:
                left[smaller] -= 1
                words = factorial(len(word) - place - 1)
                for count in left.values():
                    words //= factorial(count)
                rank += words
                left[smaller] += 1
        left[letter] -= 1
    return rank
""",
        brute=_rank,
        inputs=lambda rng: (
            [["a"], ["ab"], ["ba"], ["aaa"], ["cba"], ["abab"]]
            + [["".join(rng.choices("abcde", k=k))] for k in (5, 6, 7)]
        ),
        large=lambda _: [["mississippi"], ["zyxwvutsrqponmlkjihg"], ["abcdefghijabcdefghij"]],
        function="word_rank",
    ),
    Problem(
        name="best-marks",
        topic="functions",
        level="easy",
        text="Write a function best_marks(marks). Its argument is a dictionary from a name to a "
        "list of marks, whole numbers of which larger ones are better. Return the names of those "
        "whose marks have the largest mean, as a list in alphabetical order. Whoever has no marks "
        "does not count; if nobody has, the list is empty.",
        solution="""\
from fractions import Fraction


def best_marks(marks):
    means = {name: Fraction(sum(own), len(own)) for name, own in marks.items() if own}
    return sorted(name for name in means if means[name] == max(means.values()))
""",
        brute=_grade,
        inputs=lambda rng: (
            [[{}], [{"Ada": []}], [{"Bo": [1], "Ada": [1]}]]
            + [[{"Ada": [3, 3, 4], "Bo": [10, 10, 11], "Cem": [11, 10, 10]}]]
            + [[_marks(rng, n)] for n in (2, 3, 4, 5, 6, 8)]
        ),
        function="best_marks",
    ),
    Problem(
        name="weighted-mean",
        topic="functions",
        level="easy",
        text="Write a function weighted_mean(values, weights) that returns the mean of the values, "
        "each counted with its weight. Both lists have the same length, at least 1, and all "
        "weights are positive. An error of up to 0.000001 is allowed.",
        solution="""\
def weighted_mean(values, weights):
    return sum(value * weight for value, weight in zip(values, weights)) / sum(weights)
""",
        brute=_balance,
        inputs=lambda rng: (
            [[[5.0], [2.0]], [[1, 2], [1, 1]], [[0, 0, 0], [1, 2, 3]]]
            + [_weighed(rng, n) for n in (2, 3, 5, 8, 13, 21)]
        ),
        function="weighted_mean",
        compare="float",
    ),
    Problem(
        name="word-ladder",
        topic="functions",
        level="hard",
        text="A step changes one letter of a word, and every word on the way must be known. Write "
        "a function word_ladder(start, end, words) that returns the smallest number of steps from "
        "start to end, or -1 if there is no way. All words have the same length; the list words "
        "(up to 2000) holds the known ones, end is known too, and start need not be.",
        solution="""\
def word_ladder(start, end, words):
    unused, edge, steps = set(words) | {end}, {start}, 0
    while edge:
        if end in edge:
            return steps
        unused -= edge
        edge = {
            word
            for word in unused
            for other in edge
            if sum(a != b for a, b in zip(word, other)) == 1
        }
        steps += 1
    return -1
""",
        brute=_ladder,
        inputs=lambda rng: (
            [["cat", "cat", []], ["cat", "cot", []], ["cat", "dog", ["dot", "cot"]]]
            + [["cat", "dog", ["cot", "dig"]], ["ab", "ba", ["aa", "bb", "ba"]]]
            + [_words(rng, n, "abc") for n in (4, 6, 7, 8)]
            + [_words(rng, n, "abcdef") for n in (12, 20)]
        ),
        large=lambda rng: [_words(rng, 150, "abcdefgh")],
        function="word_ladder",
    ),
]
