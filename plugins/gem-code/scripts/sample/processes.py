"""Simulations: machines, queues, walks."""

import itertools
import random
import statistics
from collections.abc import Callable

from sample.problem import Problem, integers, joined

__all__ = ["PROBLEMS"]


def _stack_machine(text: str) -> str:
    """Replace the first operation by its value until one number is left."""
    words: list[str] = text.split()
    work: dict[str, Callable[[int, int], int]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
    }
    while len(words) > 1:
        at = next(i for i, word in enumerate(words) if word in work)
        value = work[words[at]](int(words[at - 2]), int(words[at - 1]))
        words[at - 2 : at + 1] = [str(value)]
    return words[0]


def _formula(rng: random.Random, depth: int) -> list[str]:
    if depth == 0 or rng.random() < 0.1:
        return [str(rng.randint(-9, 9))]
    return [*_formula(rng, depth - 1), *_formula(rng, depth - 1), rng.choice("+-*")]


def _tills(text: str) -> str:
    tills, _, *minutes = integers(text)
    left = [0] * tills
    clock = 0
    waiting = list(minutes)
    while waiting or any(left):
        for till in range(tills):
            if left[till] == 0 and waiting:
                left[till] = waiting.pop(0)
        left = [max(0, minute - 1) for minute in left]
        clock += 1
    return str(clock)


def _last_one(text: str) -> str:
    count, step = integers(text)
    circle = list(range(1, count + 1))
    while len(circle) > 1:
        turn = (step - 1) % len(circle)
        circle = circle[turn + 1 :] + circle[:turn]
    return str(circle[0])


def _desk(text: str) -> str:
    size, _, *papers = integers(text)
    fetched = 0
    for place, paper in enumerate(papers):
        recent: list[int] = []
        for other in papers[:place][::-1]:
            if other not in recent:
                recent.append(other)
        fetched += paper not in recent[:size]
    return str(fetched)


def _editor(text: str) -> str:
    """Process the commands backwards: an undo cancels the next command that counts."""
    kept: list[str] = []
    undone = 0
    for line in text.strip().split("\n")[:0:-1]:
        if line == "undo":
            undone += 1
        elif undone:
            undone -= 1
        else:
            kept.append(line)
    said = ""
    for line in kept[::-1]:
        command, _, argument = line.partition(" ")
        said = said + argument if command == "type" else said[: len(said) - int(argument)]
    return said or "(empty)"


def _typing(rng: random.Random, count: int) -> str:
    lines, length = [], [0]
    while len(lines) < count:
        command = rng.choice(("type", "type", "delete", "undo"))
        if command == "undo" and len(length) > 1:
            length.pop()
            lines.append("undo")
        elif command == "delete" and length[-1]:
            removed = rng.randint(1, length[-1])
            length.append(length[-1] - removed)
            lines.append(f"delete {removed}")
        elif command == "type":
            word = "".join(rng.choices("abcxyz", k=rng.randint(1, 6)))
            length.append(length[-1] + len(word))
            lines.append(f"type {word}")
    return joined(count, *lines)


def _clock(text: str) -> str:
    time, minutes = text.split()
    hour, minute = map(int, time.split(":"))
    forward = 1 if int(minutes) > 0 else -1
    for _ in range(abs(int(minutes))):
        minute += forward
        if minute in (-1, 60):
            minute, hour = minute % 60, (hour + forward) % 24
    return f"{hour:02}:{minute:02}"


def _walk(text: str) -> str:
    moves = {"N": 1j, "S": -1j, "E": 1, "W": -1}
    places = list(itertools.accumulate((moves[step] for step in text.strip()), initial=0j))
    different: list[complex] = []
    for place in places:
        if place not in different:
            different.append(place)
    end = places[-1]
    return joined((len(different), int(abs(end.real) + abs(end.imag))))


def _medians(text: str) -> str:
    _, *numbers = integers(text)
    return joined([statistics.median_low(numbers[: n + 1]) for n in range(len(numbers))])


def _meetings(text: str) -> str:
    _, *numbers = integers(text)
    spans = list(zip(numbers[::2], numbers[1::2], strict=True))
    return str(max(sum(a <= t < b for a, b in spans) for t in range(max(numbers) + 1)))


def _spans(rng: random.Random, count: int, last: int) -> str:
    return joined(count, *[sorted(rng.sample(range(last + 1), 2)) for _ in range(count)])


PROBLEMS = [
    Problem(
        name="stack-machine",
        topic="processes",
        level="easy",
        text="A machine reads words from left to right. A whole number is put on a stack. A +, - "
        "or * takes the two topmost numbers off, applies itself to them (the one that was put "
        "there earlier stands on the left), and puts the result on the stack. What is on the "
        "stack in the end?\n\nInput: up to 10000 words in one line, after which exactly one number "
        "is on the stack.\nOutput: that number.",
        solution="""\
stack = []
for word in input().split():
    if word in ("+", "-", "*"):
        right, left = stack.pop(), stack.pop()
        stack.append(left + right if word == "+" else left - right if word == "-" else left * right)
    else:
        stack.append(int(word))
print(stack[0])
""",
        brute=_stack_machine,
        inputs=lambda rng: (
            ["7\n", "-3\n", "1 2 -\n", "2 3 4 * +\n", "5 1 2 + 4 * + 3 -\n"]
            + [joined(_formula(rng, depth)) for depth in (2, 3, 4, 5, 6)]
        ),
    ),
    Problem(
        name="tills",
        topic="processes",
        level="medium",
        text="Customers queue in one line before several tills. Whenever a till is free, the first "
        "of the line goes there. For each customer it is known how many minutes it takes. After "
        "how many minutes is everybody done?\n\nInput: the number of tills (1 to 1000) and the "
        "number n of customers (0 to 100000) in one line, then the minutes of the customers in "
        "one line, from 1 to 1000.\nOutput: the number of minutes.",
        solution="""\
import heapq
import sys

tills, _, *minutes = map(int, sys.stdin.read().split())
free = [0] * tills
for minute in minutes:
    heapq.heapreplace(free, free[0] + minute)
print(max(free))
""",
        brute=_tills,
        inputs=lambda rng: (
            ["1 0\n\n", "1 3\n2 3 4\n", "5 2\n9 4\n", "2 4\n1 9 1 1\n"]
            + [
                joined((tills, n), [rng.randint(1, 60) for _ in range(n)])
                for tills, n in ((2, 5), (3, 20), (4, 60), (10, 100))
            ]
        ),
        large=lambda rng: [joined((7, 900), [rng.randint(1, 1000) for _ in range(900)])],
    ),
    Problem(
        name="last-one-left",
        topic="processes",
        level="medium",
        text="Children numbered from 1 to n stand in a circle. Starting at child 1, they count "
        "from 1 to k, and who says k leaves the circle; the next child starts again with 1. Who "
        "is left in the end?\n\nInput: n (1 to 10^6) and k (1 to 10^9) in one line.\nOutput: the "
        "number of the last child.",
        solution="""\
count, step = map(int, input().split())
place = 0
for size in range(2, count + 1):
    place = (place + step) % size
print(place + 1)
""",
        brute=_last_one,
        inputs=lambda rng: (
            ["1 1\n", "1 9\n", "5 1\n", "5 2\n", "7 3\n", "2 1000000000\n"]
            + [joined([rng.randint(3, 200), rng.randint(1, 300)]) for _ in range(4)]
        ),
        large=lambda _: ["200000 7\n", "100000 999999937\n"],
    ),
    Problem(
        name="small-desk",
        topic="processes",
        level="medium",
        text="On a desk there is room for k papers; all others are in the archive. At first the "
        "desk is empty. Whenever a paper is needed that is not on the desk, it is fetched; if "
        "there is no room, the paper that has not been needed for the longest time goes back "
        "first. How often is a paper fetched?\n\nInput: k (1 to 1000) and the number n of needs "
        "(1 to 100000) in one line, then the numbers of the papers in the order in which they are "
        "needed, from 1 to 10^6, in one line.\nOutput: how often a paper is fetched.",
        solution="""\
from collections import OrderedDict

room, _ = map(int, input().split())
desk, fetched = OrderedDict(), 0
for paper in input().split():
    if paper in desk:
        desk.move_to_end(paper)
        continue
    fetched += 1
    if len(desk) == room:
        desk.popitem(last=False)
    desk[paper] = True
print(fetched)
""",
        brute=_desk,
        inputs=lambda rng: (
            ["1 1\n5\n", "1 4\n1 2 1 2\n", "2 5\n1 2 1 3 2\n", "9 3\n4 4 4\n"]
            + [
                joined((size, n), [rng.randint(1, size * 2 + 1) for _ in range(n)])
                for size, n in ((2, 12), (3, 30), (5, 60), (8, 100))
            ]
        ),
        large=lambda rng: [joined((40, 900), [rng.randint(1, 60) for _ in range(900)])],
    ),
    Problem(
        name="undo",
        topic="processes",
        level="medium",
        text="An editor starts with an empty text and obeys three commands: type W puts the word W "
        "at the end of the text, delete K takes off the last K letters, and undo takes back the "
        "latest type or delete that has not been taken back yet.\n\nInput: the number n of "
        "commands (1 to 10000), then the commands, a line each. Deletes never ask for more letters "
        "than there are, and there is always something to take back.\nOutput: the text, or "
        "(empty) if there is none.",
        solution="""\
states = [""]
for _ in range(int(input())):
    command, *argument = input().split()
    if command == "type":
        states.append(states[-1] + argument[0])
    elif command == "delete":
        states.append(states[-1][: len(states[-1]) - int(argument[0])])
    else:
        states.pop()
print(states[-1] or "(empty)")
""",
        brute=_editor,
        inputs=lambda rng: (
            ["1\ntype a\n", "2\ntype a\nundo\n", "2\ntype ab\ndelete 2\n"]
            + ["3\ntype ab\ndelete 1\nundo\n", "5\ntype ab\ntype cd\nundo\nundo\ntype x\n"]
            + [_typing(rng, n) for n in (6, 12, 30, 60, 120)]
        ),
    ),
    Problem(
        name="clock-ahead",
        topic="processes",
        level="easy",
        text="What does a clock show m minutes after a given time? With a negative m, before.\n\n"
        "Input: a time as hh:mm from 00:00 to 23:59, a space, and m from -10^9 to 10^9.\nOutput: "
        "the time in the same form.",
        solution="""\
time, minutes = input().split()
hour, minute = map(int, time.split(":"))
minute = (hour * 60 + minute + int(minutes)) % 1440
print(f"{minute // 60:02}:{minute % 60:02}")
""",
        brute=_clock,
        inputs=lambda rng: (
            ["00:00 0\n", "23:59 1\n", "00:00 -1\n", "12:30 1440\n", "07:05 -425\n"]
            + [
                f"{rng.randrange(24):02}:{rng.randrange(60):02} {rng.randint(-20000, 20000)}\n"
                for _ in range(5)
            ]
        ),
        large=lambda _: ["09:41 1000000000\n", "18:07 -999999999\n"],
    ),
    Problem(
        name="walk",
        topic="processes",
        level="easy",
        text="A walker takes steps of equal length, N, S, E or W. How many different places does "
        "the walk touch, the first and the last included, and how many steps is the last from "
        "the first by the shortest way?\n\nInput: a line of 1 to 100000 letters.\nOutput: the two "
        "numbers, separated by a space.",
        solution="""\
x = y = 0
places = {(0, 0)}
for step in input().strip():
    x += (step == "E") - (step == "W")
    y += (step == "N") - (step == "S")
    places.add((x, y))
print(len(places), abs(x) + abs(y))
""",
        brute=_walk,
        inputs=lambda rng: (
            ["N\n", "NS\n", "NESW\n", "NNNN\n", "EWEWEW\n", "NEENWWSS\n"]
            + ["".join(rng.choices("NSEW", k=k)) + "\n" for k in (10, 40, 100, 300)]
        ),
        large=lambda rng: ["".join(rng.choices("NNSEEW", k=2000)) + "\n"],
    ),
    Problem(
        name="medians-so-far",
        topic="processes",
        level="hard",
        text="Numbers come in one by one. After each, print the median of all so far: the middle "
        "one in order of size; of an even count, the smaller of the two in the middle.\n\nInput: "
        "the number n (1 to 100000), then n whole numbers from -10^9 to 10^9 in one line.\n"
        "Output: the n medians in one line.",
        solution="""\
import heapq

input()
low, high, medians = [], [], []
for number in map(int, input().split()):
    heapq.heappush(low, -heapq.heappushpop(high, number))
    if len(low) > len(high) + 1:
        heapq.heappush(high, -heapq.heappop(low))
    medians.append(-low[0])
print(*medians)
""",
        brute=_medians,
        inputs=lambda rng: (
            ["1\n-4\n", "2\n2 1\n", "3\n1 1 1\n", "5\n5 4 3 2 1\n", "4\n1 2 3 4\n"]
            + [joined(n, [rng.randint(-50, 50) for _ in range(n)]) for n in (6, 15, 40, 100, 250)]
        ),
        large=lambda rng: [joined(800, [rng.randint(-(10**9), 10**9) for _ in range(800)])],
    ),
    Problem(
        name="meeting-rooms",
        topic="processes",
        level="medium",
        text="Each meeting needs a room from its first minute up to, but not including, its last. "
        "How many rooms are enough for all meetings?\n\nInput: the number n of meetings (1 to "
        "100000), then n lines with first and last minute, from 0 to 10^9, the first being "
        "smaller.\nOutput: the smallest number of rooms.",
        solution="""\
changes = []
for _ in range(int(input())):
    first, last = map(int, input().split())
    changes += [(first, 1), (last, -1)]
rooms = most = 0
for _, change in sorted(changes):
    rooms += change
    most = max(most, rooms)
print(most)
""",
        brute=_meetings,
        inputs=lambda rng: (
            ["1\n0 1\n", "2\n0 5\n5 9\n", "2\n0 5\n4 9\n", "3\n1 9\n2 8\n3 7\n"]
            + [_spans(rng, n, last) for n, last in ((4, 10), (8, 20), (20, 100), (60, 500))]
        ),
        large=lambda rng: [_spans(rng, 150, 10**9)],
    ),
]
