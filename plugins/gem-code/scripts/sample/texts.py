"""Texts: letters, words, brackets, patterns, expressions."""

import functools
import itertools
import random
import string
from collections import Counter

from sample.problem import Problem, joined

__all__ = ["PROBLEMS"]


def _word(rng: random.Random, letters: str, most: int) -> str:
    return "".join(rng.choices(letters, k=rng.randint(1, most)))


def _runs(text: str) -> str:
    said, rest = "", text.strip()
    while rest:
        kept = rest.lstrip(rest[0])
        said += f"{rest[0]}{len(rest) - len(kept)}"
        rest = kept
    return said


def _shift(text: str) -> str:
    shift, message = text.split("\n")[:2]
    for _ in range(int(shift) % 26):
        for alphabet in (string.ascii_lowercase, string.ascii_uppercase):
            following = alphabet[1:] + alphabet[0]
            message = message.translate(str.maketrans(alphabet, following))
    return message


def _mirror(text: str) -> str:
    word = text.strip()
    pieces = (word[i:j] for i in range(len(word)) for j in range(i + 1, len(word) + 1))
    return str(max(len(piece) for piece in pieces if piece == piece[::-1]))


def _anagrams(text: str) -> str:
    words = text.split()[1:]
    groups: list[list[str]] = []
    for word in words:
        for group in groups:
            if Counter(group[0]) == Counter(word):
                group.append(word)
                break
        else:
            groups.append([word])
    return joined((len(groups), max(map(len, groups))))


def _repair(text: str) -> str:
    """Find the longest balanced subsequence; each other bracket needs an insertion."""
    word = text.strip()
    for kept in range(len(word), -1, -1):
        for letters in itertools.combinations(word, kept):
            left = "".join(letters)
            while "()" in left or "[]" in left:
                left = left.replace("()", "").replace("[]", "")
            if not left:
                return str(len(word) - kept)
    raise AssertionError


_REPAIR = """\
word = input().strip()
size = len(word)
best = [[0] * (size + 1) for _ in range(size + 1)]
for start in range(size - 1, -1, -1):
    for end in range(start + 1, size + 1):
        fewest = 1 + best[start + 1][end]
        for other in range(start + 1, end):
            if word[start] + word[other] in ("()", "[]"):
                fewest = min(fewest, best[start + 1][other] + best[other + 1][end])
        best[start][end] = fewest
print(best[0][size])
"""


def _round_only(text: str) -> str:
    """Cancel neighbours until none are left."""
    word = text.strip()
    while "()" in word:
        word = word.replace("()", "")
    return str(len(word))


def _frequent(text: str) -> str:
    words = text.split()
    lines = []
    while words:
        first = min(words, key=lambda word: (-words.count(word), word))
        lines.append((first, words.count(first)))
        words = [word for word in words if word != first]
    return joined(*lines)


def _pattern(text: str) -> str:
    pattern, word = text.split("\n")[:2]

    @functools.cache
    def fits(i: int, j: int) -> bool:
        if i == len(pattern):
            return j == len(word)
        if pattern[i] == "*":
            return any(fits(i + 1, k) for k in range(j, len(word) + 1))
        return j < len(word) and pattern[i] in ("?", word[j]) and fits(i + 1, j + 1)

    return "yes" if fits(0, 0) else "no"


def _expression(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return str(rng.randrange(20))
    left, right = _expression(rng, depth - 1), _expression(rng, depth - 1)
    made = f"{left}{rng.choice([' ', ''])}{rng.choice('+-*')}{rng.choice([' ', ''])}{right}"
    return f"({made})" if rng.random() < 0.5 else made


def _words(rng: random.Random, letters: str, count: int) -> list[str]:
    return [_word(rng, letters, 3) for _ in range(count)]


PROBLEMS = [
    Problem(
        name="runs-of-letters",
        topic="text",
        level="easy",
        text="Shorten a word by its runs: each longest stretch of one letter becomes that letter "
        "and the length of the stretch.\n\nInput: a word of 1 to 1000 small letters.\n"
        "Output: the shortened word; aaab becomes a3b1.",
        solution="""\
word = input().strip()
said, start = [], 0
for place in range(1, len(word) + 1):
    if place == len(word) or word[place] != word[start]:
        said.append(f"{word[start]}{place - start}")
        start = place
print("".join(said))
""",
        brute=_runs,
        inputs=lambda rng: (
            ["a\n", "ab\n", "aaab\n", "abba\n", "z" * 1000 + "\n"]
            + [_word(rng, letters, 60) + "\n" for letters in ("ab", "abc", "ab", "xyz", "aab")]
        ),
    ),
    Problem(
        name="shifted-message",
        topic="text",
        level="easy",
        text="Move every letter of a message k places on in the alphabet, from z on to a again; "
        "small letters stay small, capitals stay capitals, and all else stays as it is. A negative "
        "k moves letters back.\n\nInput: k (from -10^9 to 10^9) in the first line, the message (1 "
        "to 200 characters) in the second.\nOutput: the new message.",
        solution="""\
shift = int(input())
said = ""
for letter in input():
    if "a" <= letter <= "z":
        letter = chr((ord(letter) - 97 + shift) % 26 + 97)
    elif "A" <= letter <= "Z":
        letter = chr((ord(letter) - 65 + shift) % 26 + 65)
    said += letter
print(said)
""",
        brute=_shift,
        inputs=lambda rng: (
            ["3\nxyz XYZ\n", "0\nStay!\n", "26\nAround\n", "-1\nabc ABC 123\n"]
            + [
                joined(rng.randint(-(10**9), 10**9), "x" + _word(rng, "abzAZ ,.!?09", 80) + ".")
                for _ in range(7)
            ]
        ),
    ),
    Problem(
        name="longest-mirror",
        topic="text",
        level="medium",
        text="A stretch of a word is a mirror if it reads the same from both sides. How long is "
        "the longest mirror in a word?\n\nInput: a word of 1 to 2000 small letters.\n"
        "Output: the length.",
        solution="""\
word = input().strip()
best = 1
for middle in range(len(word)):
    for start, end in ((middle, middle), (middle, middle + 1)):
        while start >= 0 and end < len(word) and word[start] == word[end]:
            best = max(best, end - start + 1)
            start, end = start - 1, end + 1
print(best)
""",
        brute=_mirror,
        inputs=lambda rng: (
            ["a\n", "ab\n", "aa\n", "abcba\n", "abccba\n", "xabay\n"]
            + [_word(rng, letters, 40) + "\n" for letters in ("ab", "ab", "abc", "abcd")]
        ),
        large=lambda _: ["a" * 300 + "b" + "a" * 300 + "\n", "ab" * 400 + "\n"],
    ),
    Problem(
        name="same-letters",
        topic="text",
        level="easy",
        text="Words belong together if one can be had from the other by moving letters around. "
        "Into how many groups do the given words fall, and how large is the largest?\n\nInput: the "
        "number n of words (1 to 1000) in the first line, then n words of small letters, one a "
        "line.\nOutput: the two numbers, separated by a space.",
        solution="""\
from collections import Counter

count = int(input())
groups = Counter("".join(sorted(input().strip())) for _ in range(count))
print(len(groups), max(groups.values()))
""",
        brute=_anagrams,
        inputs=lambda rng: (
            ["1\nsun\n", "3\ntea\neat\nate\n", "4\nab\nba\naab\nb\n", "2\na\na\n"]
            + [joined(count, *_words(rng, "abc", count)) for count in (5, 10, 20, 40, 80, 150)]
        ),
    ),
    Problem(
        name="round-brackets",
        topic="text",
        level="easy",
        text="A line of round brackets is balanced if they can be paired up, each pair opening "
        "before it closes, and pairs never cross. How many brackets must be added, anywhere, to "
        "balance the line?\n\nInput: a line of 1 to 100000 characters ( and ).\n"
        "Output: the smallest number of brackets to add.",
        solution="""\
depth = missing = 0
for bracket in input().strip():
    if bracket == "(":
        depth += 1
    elif depth:
        depth -= 1
    else:
        missing += 1
print(depth + missing)
""",
        brute=_round_only,
        inputs=lambda rng: (
            ["(\n", ")\n", "()\n", ")(\n", "((()))\n", "())(()\n"]
            + [_word(rng, "()", 60) + "\n" for _ in range(5)]
        ),
        large=lambda _: ["(" * 2000 + ")" * 1500 + "\n"],
    ),
    Problem(
        name="two-kinds-of-brackets",
        topic="text",
        level="hard",
        text="A line of round and square brackets is balanced if they can be paired up, each pair "
        "of one kind and opening before it closes, and pairs never cross. How many brackets must "
        "be added, anywhere, to balance the line?\n\nInput: a line of 1 to 60 characters of "
        "()[].\nOutput: the smallest number of brackets to add.",
        solution=_REPAIR,
        brute=_repair,
        inputs=lambda rng: (
            ["(\n", "]\n", "()\n", "([)]\n", "][\n", "([])\n", "[[((\n"]
            + [_word(rng, "()[]", 12) + "\n" for _ in range(3)]
        ),
        large=lambda rng: ["".join(rng.choices("()[]", k=60)) + "\n" for _ in range(2)],
    ),
    Problem(
        name="frequent-words",
        topic="text",
        level="easy",
        text="List the words of a text with how often each occurs: frequent words first, words "
        "that are equally frequent in alphabetical order.\n\nInput: lines with words of small "
        "letters, separated by spaces; up to 1000 words, at least one.\nOutput: for each word a "
        "line with the word, a space, and the number.",
        solution="""\
import sys
from collections import Counter

counts = Counter(sys.stdin.read().split())
for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
    print(word, count)
""",
        brute=_frequent,
        inputs=lambda rng: (
            ["a\n", "b a\n", "x x y\nx y z\n", "one  two\n\n two\n"]
            + [
                joined(*[_words(rng, "ab", n), _words(rng, "abc", n)])
                for n in (3, 5, 9, 20, 40, 80)
            ]
        ),
    ),
    Problem(
        name="pattern-with-gaps",
        topic="text",
        level="medium",
        text="In a pattern, ? stands for any one letter and * for any number of letters, none "
        "included; a letter stands for itself. Does the pattern fit the whole word?\n\nInput: the "
        "pattern (1 to 200 characters) in the first line, the word (0 to 200 small letters) in "
        "the second.\nOutput: yes or no.",
        solution="""\
import sys

pattern, word = (sys.stdin.read().split("\\n") + [""])[:2]
fits = [True] + [False] * len(word)
for sign in pattern:
    if sign == "*":
        for end in range(1, len(word) + 1):
            fits[end] = fits[end] or fits[end - 1]
    else:
        follows = [False] * (len(word) + 1)
        for end in range(1, len(word) + 1):
            follows[end] = fits[end - 1] and sign in ("?", word[end - 1])
        fits = follows
print("yes" if fits[-1] else "no")
""",
        brute=_pattern,
        inputs=lambda rng: (
            ["*\n\n", "?\n\n", "a*\na\n", "a?c\nabc\n", "a?c\nac\n", "*b*\naab\n"]
            + ["a*b*a\nabbba\n", "a*b*a\nabbb\n", "*" * 20 + "\n" + "ab" * 40 + "\n"]
            + [joined(_word(rng, "ab?*", 9), _word(rng, "ab", 9)) for _ in range(3)]
        ),
    ),
    Problem(
        name="sums-and-products",
        topic="text",
        level="hard",
        text="Work out an expression of whole numbers, +, -, * and round brackets. Products come "
        "before sums and differences; else it goes from left to right. There may be spaces "
        "anywhere but inside a number, and no sign in front of a number or bracket.\n\nInput: the "
        "expression, 1 to 2000 characters.\nOutput: its value.",
        solution="""\
import re

tokens = re.findall(r"\\d+|[-+*()]", input())
place = 0


def take():
    global place
    place += 1
    return tokens[place - 1]


def factor():
    token = take()
    if token != "(":
        return int(token)
    value = total()
    take()
    return value


def product():
    value = factor()
    while place < len(tokens) and tokens[place] == "*":
        take()
        value *= factor()
    return value


def total():
    value = product()
    while place < len(tokens) and tokens[place] in "+-":
        if take() == "+":
            value += product()
        else:
            value -= product()
    return value


print(total())
""",
        brute=lambda text: str(eval(text)),  # noqa: S307 - expressions that are made below
        inputs=lambda rng: (
            ["7\n", "1 - 2 - 3\n", "2+3*4\n", "(2+3)*4\n", "((8))\n"]
            + [_expression(rng, depth) + "\n" for depth in (2, 3, 4, 4, 5, 5)]
        ),
    ),
]
