"""Graphs: components, paths, orders, trees."""

import itertools
import random

from sample.problem import Problem, integers, joined

__all__ = ["PROBLEMS"]

FAR = 10**15


def _edges(text: str, width: int) -> tuple[list[int], list[list[int]]]:
    """Return the numbers of the first line, and those of the other lines."""
    first, *rest = text.strip().split("\n")
    return integers(first), [integers(line)[:width] for line in rest]


def _graphs(rng: random.Random, sizes: tuple[tuple[int, int], ...], weight: int = 0) -> list[str]:
    made = []
    for count, edges in sizes:
        pairs = [rng.sample(range(1, count + 1), 2) for _ in range(edges)]
        made.append(
            joined(
                (count, edges), *[p + ([rng.randint(1, weight)] if weight else []) for p in pairs]
            )
        )
    return made


def _distances(count: int, edges: list[list[int]]) -> list[list[int]]:
    """Compute all shortest paths (Floyd-Warshall)."""
    far = [[0 if i == j else FAR for j in range(count + 1)] for i in range(count + 1)]
    for a, b, *weight in edges:
        far[a][b] = far[b][a] = min(far[a][b], *(weight or [1]))
    for k, i, j in itertools.product(range(1, count + 1), repeat=3):
        far[i][j] = min(far[i][j], far[i][k] + far[k][j])
    return far


def _teams(text: str) -> str:
    (count, _), edges = _edges(text, 2)
    far = _distances(count, edges)
    teams = {tuple(j for j in range(1, count + 1) if far[i][j] < FAR) for i in range(1, count + 1)}
    return joined((len(teams), max(map(len, teams))))


def _way(text: str) -> str:
    (count, _), edges = _edges(text, 3)
    found = _distances(count, edges)[1][count]
    return str(found if found < FAR else -1)


def _order(text: str) -> str:
    (count, _), edges = _edges(text, 2)
    for order in itertools.permutations(range(1, count + 1)):
        if all(order.index(a) < order.index(b) for a, b in edges):
            return joined(order)
    return "impossible"


def _cable(text: str) -> str:
    (count, _), edges = _edges(text, 3)
    inside, total = {1}, 0
    while len(inside) < count:
        out = [(w, a, b) for a, b, w in edges if (a in inside) != (b in inside)]
        if not out:
            return "-1"
        weight, a, b = min(out)
        inside |= {a, b}
        total += weight
    return str(total)


def _sides(text: str) -> str:
    (count, _), edges = _edges(text, 2)
    for sides in itertools.product((0, 1), repeat=count):
        if all(sides[a - 1] != sides[b - 1] for a, b in edges):
            return "yes"
    return "no"


def _longest(text: str) -> str:
    (count,), edges = _edges(text, 3)
    far = _distances(count, edges)
    return str(max(far[i][j] for i in range(1, count + 1) for j in range(1, count + 1)))


def _tree(rng: random.Random, count: int, *, path: bool = False) -> str:
    lines = [
        (n, n - 1 if path else rng.randint(1, n - 1), rng.randint(1, 1000))
        for n in range(2, count + 1)
    ]
    rng.shuffle(lines)
    return joined(count, *lines)


PROBLEMS = [
    Problem(
        name="circles-of-friends",
        topic="graphs",
        level="medium",
        text="People are numbered from 1 to n, and some pairs are friends. Friends, friends of "
        "friends and so on form a circle; who has no friends is a circle alone. How many circles "
        "are there, and how many people has the largest?\n\nInput: n (1 to 100000) and the number "
        "m of pairs (0 to 200000) in one line, then m lines with a pair each; a pair may come "
        "twice.\nOutput: the two numbers, separated by a space.",
        solution="""\
from collections import Counter

count, pairs = map(int, input().split())
leader = list(range(count + 1))


def find(person):
    while leader[person] != person:
        leader[person] = leader[leader[person]]
        person = leader[person]
    return person


for _ in range(pairs):
    a, b = map(int, input().split())
    leader[find(a)] = find(b)
circles = Counter(find(person) for person in range(1, count + 1))
print(len(circles), max(circles.values()))
""",
        brute=_teams,
        inputs=lambda rng: (
            [
                "1 0\n",
                "2 0\n",
                "2 1\n1 2\n",
                "3 2\n1 2\n2 1\n",
                *_graphs(rng, ((5, 3), (8, 5), (12, 8), (20, 15), (30, 40))),
            ]
        ),
        large=lambda rng: _graphs(rng, ((400, 300), (900, 300))),
    ),
    Problem(
        name="cheapest-way",
        topic="graphs",
        level="hard",
        text="Towns are numbered from 1 to n. Roads lead both ways between two towns and each "
        "costs a toll. What does the cheapest way from town 1 to town n cost?\n\nInput: n (1 to "
        "50000) and the number m of roads (0 to 200000) in one line, then m lines with two "
        "different towns and a toll from 1 to 10^6.\nOutput: the cost; -1 if there is no way.",
        solution="""\
import heapq
import sys

count, roads, *numbers = map(int, sys.stdin.read().split())
near = [[] for _ in range(count + 1)]
for a, b, toll in zip(numbers[::3], numbers[1::3], numbers[2::3]):
    near[a].append((b, toll))
    near[b].append((a, toll))
best, queue, answer = {}, [(0, 1)], -1
while queue:
    cost, town = heapq.heappop(queue)
    if town in best:
        continue
    best[town] = cost
    if town == count:
        answer = cost
        break
    for other, toll in near[town]:
        if other not in best:
            heapq.heappush(queue, (cost + toll, other))
print(answer)
""",
        brute=_way,
        inputs=lambda rng: (
            [
                "1 0\n",
                "2 0\n",
                "2 2\n1 2 9\n2 1 4\n",
                "3 3\n1 2 1\n2 3 1\n1 3 3\n",
                *_graphs(rng, ((4, 3), (6, 10), (10, 15), (15, 40), (25, 60)), 100),
            ]
        ),
        large=lambda rng: _graphs(rng, ((150, 400), (60, 600)), 10**6),
    ),
    Problem(
        name="first-things-first",
        topic="graphs",
        level="hard",
        text="Jobs are numbered from 1 to n, and some must be done before others. Put all jobs in "
        "a line that keeps these rules. Of all such lines, print the one whose first job has the "
        "smallest number; if there are several, the second job decides, and so on.\n\nInput: n (1 "
        "to 50000) and the number m of rules (0 to 100000) in one line, then m lines with two "
        "different jobs each, the first of which is to be done first.\nOutput: the jobs in one "
        "line, or the word impossible.",
        solution="""\
import heapq

count, rules = map(int, input().split())
after = [[] for _ in range(count + 1)]
waits = [0] * (count + 1)
for _ in range(rules):
    a, b = map(int, input().split())
    after[a].append(b)
    waits[b] += 1
ready = [job for job in range(1, count + 1) if not waits[job]]
order = []
while ready:
    job = heapq.heappop(ready)
    order.append(job)
    for other in after[job]:
        waits[other] -= 1
        if not waits[other]:
            heapq.heappush(ready, other)
print(*order if len(order) == count else ["impossible"])
""",
        brute=_order,
        inputs=lambda rng: (
            [
                "1 0\n",
                "3 0\n",
                "2 1\n2 1\n",
                "2 2\n1 2\n2 1\n",
                "3 2\n3 1\n3 1\n",
                *_graphs(rng, ((5, 3), (6, 4), (7, 4), (7, 9))),
            ]
        ),
        large=lambda rng: [
            joined((300, 400), *[sorted(rng.sample(range(1, 301), 2))[::-1] for _ in range(400)]),
            *_graphs(rng, ((300, 60),)),
        ],
    ),
    Problem(
        name="cables",
        topic="graphs",
        level="medium",
        text="Houses are numbered from 1 to n. For some pairs it is known what a cable between "
        "them costs. Every house is to be connected with every other, directly or by way of "
        "others, as cheaply as possible.\n\nInput: n (1 to 50000) and the number m of possible "
        "cables (0 to 200000) in one line, then m lines with two different houses and a cost from "
        "1 to 10^6.\nOutput: the smallest total cost; -1 if it cannot be done.",
        solution="""\
count, cables = map(int, input().split())
offers = sorted((tuple(map(int, input().split())) for _ in range(cables)), key=lambda o: o[2])
group = list(range(count + 1))


def find(house):
    while group[house] != house:
        group[house] = group[group[house]]
        house = group[house]
    return house


total, parts = 0, count
for a, b, cost in offers:
    a, b = find(a), find(b)
    if a != b:
        group[a] = b
        total += cost
        parts -= 1
print(total if parts == 1 else -1)
""",
        brute=_cable,
        inputs=lambda rng: (
            [
                "1 0\n",
                "2 0\n",
                "2 2\n1 2 9\n2 1 4\n",
                "3 3\n1 2 1\n2 3 1\n1 3 1\n",
                *_graphs(rng, ((4, 8), (6, 10), (9, 30), (15, 50), (20, 20)), 50),
            ]
        ),
        large=lambda rng: _graphs(rng, ((120, 600), (200, 500)), 10**6),
    ),
    Problem(
        name="two-tables",
        topic="graphs",
        level="medium",
        text="Guests are numbered from 1 to n, and some pairs cannot stand each other. Can they be "
        "seated at two tables so that no such pair shares a table? A table may stay empty.\n\n"
        "Input: n (1 to 100000) and the number m of pairs (0 to 200000) in one line, then m lines "
        "with two different guests each.\nOutput: yes or no.",
        solution="""\
count, pairs = map(int, input().split())
enemies = [[] for _ in range(count + 1)]
for _ in range(pairs):
    a, b = map(int, input().split())
    enemies[a].append(b)
    enemies[b].append(a)
seat, possible = {}, True
for first in range(1, count + 1):
    if first in seat:
        continue
    seat[first] = 0
    todo = [first]
    while todo:
        guest = todo.pop()
        for enemy in enemies[guest]:
            if enemy not in seat:
                seat[enemy] = 1 - seat[guest]
                todo.append(enemy)
            elif seat[enemy] == seat[guest]:
                possible = False
print("yes" if possible else "no")
""",
        brute=_sides,
        inputs=lambda rng: (
            [
                "1 0\n",
                "2 1\n1 2\n",
                "3 3\n1 2\n2 3\n3 1\n",
                "4 4\n1 2\n2 3\n3 4\n4 1\n",
                "5 5\n1 2\n2 3\n3 4\n4 5\n5 1\n",
                *_graphs(rng, ((6, 4), (8, 6), (10, 7), (12, 9))),
            ]
        ),
        large=lambda _: [
            joined((n, n), *[(i, i % n + 1) for i in range(1, n + 1)]) for n in (300, 301)
        ],
    ),
    Problem(
        name="longest-trip",
        topic="graphs",
        level="hard",
        text="A country has n towns and n - 1 roads, each with a length, so that there is exactly "
        "one way between any two towns. How far apart are the two towns that are farthest from "
        "each other?\n\nInput: n (1 to 100000) in the first line, then n - 1 lines with two towns "
        "and the length of the road between them, from 1 to 1000.\nOutput: the length of the way; "
        "0 for a single town.",
        solution="""\
count = int(input())
near = [[] for _ in range(count + 1)]
for _ in range(count - 1):
    a, b, length = map(int, input().split())
    near[a].append((b, length))
    near[b].append((a, length))


def farthest(start):
    best = (0, start)
    todo = [(0, start, 0)]
    while todo:
        distance, town, origin = todo.pop()
        best = max(best, (distance, town))
        for other, length in near[town]:
            if other != origin:
                todo.append((distance + length, other, town))
    return best


print(farthest(farthest(1)[1])[0])
""",
        brute=_longest,
        inputs=lambda rng: (
            ["1\n", "2\n1 2 7\n", "3\n1 2 5\n1 3 6\n", "4\n1 2 9\n1 3 1\n1 4 1\n"]
            + [_tree(rng, n) for n in (5, 8, 12, 20, 30)]
        ),
        large=lambda rng: [_tree(rng, 400), _tree(rng, 400, path=True)],
    ),
]
