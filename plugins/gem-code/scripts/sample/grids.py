"""Grids: areas, paths, cellular automata."""

import itertools
import random
from collections.abc import Iterator

from sample.problem import Problem, joined, table

__all__ = ["PROBLEMS"]

Square = tuple[int, int]


def _map(text: str) -> dict[Square, str]:
    lines = text.split("\n")[1:]
    return {(i, j): sign for i, line in enumerate(lines) for j, sign in enumerate(line)}


def _beside(square: Square) -> Iterator[Square]:
    i, j = square
    yield from ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1))


def _maps(rng: random.Random, sizes: tuple[int, ...], cells: str) -> list[str]:
    return [joined((n, n + 1), *table(rng, n, n + 1, cells)) for n in sizes]


def _islands(text: str) -> str:
    """Spread the smallest number of an island until nothing changes."""
    land = {square: n for n, (square, sign) in enumerate(_map(text).items()) if sign == "#"}
    changed = True
    while changed:
        changed = False
        for square, number in land.items():
            least = min(land.get(other, number) for other in (square, *_beside(square)))
            changed |= least < number
            land[square] = least
    sizes = [list(land.values()).count(number) for number in set(land.values())]
    return joined((len(sizes), max(sizes, default=0)))


def _maze(text: str) -> str:
    cells = _map(text)
    steps = {square: 0 if sign == "S" else 10**9 for square, sign in cells.items() if sign != "#"}
    for _ in steps:
        for square, known in steps.items():
            near = [steps[other] + 1 for other in _beside(square) if other in steps]
            steps[square] = min([known, *near])
    end = next(square for square, sign in cells.items() if sign == "E")
    return str(steps[end] if steps[end] < 10**9 else -1)


def _mazes(rng: random.Random, sizes: tuple[int, ...]) -> list[str]:
    made = []
    for size in sizes:
        cells = [list(line) for line in table(rng, size, size + 1, "...#")]
        cells[rng.randrange(size)][0], cells[rng.randrange(size)][size] = "S", "E"
        made.append(joined((size, size + 1), *map("".join, cells)))
    return made


def _life(text: str) -> str:
    rows, columns, steps = map(int, text.split("\n", maxsplit=1)[0].split())
    cells = [[sign == "#" for sign in line] for line in text.split("\n")[1 : rows + 1]]
    for _ in range(steps):
        around = [
            [
                sum(
                    cells[a][b]
                    for a in range(max(i - 1, 0), min(i + 2, rows))
                    for b in range(max(j - 1, 0), min(j + 2, columns))
                )
                - cells[i][j]
                for j in range(columns)
            ]
            for i in range(rows)
        ]
        cells = [
            [around[i][j] == 3 or (cells[i][j] and around[i][j] == 2) for j in range(columns)]
            for i in range(rows)
        ]
    return joined(*["".join(".#"[cell] for cell in row) for row in cells])


def _spiral(text: str) -> str:
    rows = [line.split() for line in text.strip().split("\n")[1:]]
    seen: list[str] = []
    while rows:
        seen += rows[0]
        rows = [list(line) for line in zip(*rows[1:], strict=True)][::-1]
    return joined(seen)


def _spirals(rng: random.Random) -> list[str]:
    sizes = ((1, 1), (1, 4), (4, 1), (2, 2), (3, 3), (3, 5), (6, 2), (9, 9), (12, 20), (20, 7))
    return [
        joined((n, m), *[[rng.randint(-99, 99) for _ in range(m)] for _ in range(n)])
        for n, m in sizes
    ]


def _square(text: str) -> str:
    free = {square for square, sign in _map(text).items() if sign == "."}
    best = 0
    for i, j in free:
        side = 1
        while all((i + a, j + b) in free for a, b in itertools.product(range(side), repeat=2)):
            best = max(best, side)
            side += 1
    return str(best)


def _fire(text: str) -> str:
    cells = _map(text)
    minutes = 0
    while True:
        caught = [
            square
            for square, sign in cells.items()
            if sign == "T" and any(cells.get(other) == "F" for other in _beside(square))
        ]
        if not caught:
            return str(-1 if "T" in cells.values() else minutes)
        cells |= dict.fromkeys(caught, "F")
        minutes += 1


PROBLEMS = [
    Problem(
        name="islands",
        topic="grids",
        level="medium",
        text="On a map, # is land and . is water. Squares of land that share a side belong to one "
        "island. How many islands are there, and how many squares has the largest?\n\nInput: the "
        "numbers of rows and columns (1 to 500 each) in one line, then the rows.\nOutput: both "
        "numbers, separated by a space; 0 0 if there is no land.",
        solution="""\
rows, columns = map(int, input().split())
land = set()
for i in range(rows):
    land |= {(i, j) for j, sign in enumerate(input()) if sign == "#"}
count = largest = 0
while land:
    todo, size = [land.pop()], 0
    while todo:
        i, j = todo.pop()
        size += 1
        for square in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
            if square in land:
                land.remove(square)
                todo.append(square)
    count += 1
    largest = max(largest, size)
print(count, largest)
""",
        brute=_islands,
        inputs=lambda rng: (
            [
                "1 1\n.\n",
                "1 1\n#\n",
                "2 2\n#.\n.#\n",
                "3 3\n###\n#.#\n###\n",
                *_maps(rng, (4, 6, 9, 14, 20), "#."),
            ]
        ),
        large=lambda rng: [*_maps(rng, (40,), "##."), joined((50, 50), *(["#" * 50] * 50))],
    ),
    Problem(
        name="way-out",
        topic="grids",
        level="medium",
        text="In a maze, S is where you stand, E is the exit, . is free and # is a wall. A step "
        "goes up, down, left or right. How many steps is it to the exit?\n\nInput: the numbers of "
        "rows and columns (1 to 500 each) in one line, then the rows, with one S and one E.\n"
        "Output: the smallest number of steps; -1 if there is no way.",
        solution="""\
from collections import deque

rows, columns = map(int, input().split())
maze = [input() for _ in range(rows)]
start = next((i, line.index("S")) for i, line in enumerate(maze) if "S" in line)
steps, queue, answer = {start: 0}, deque([start]), -1
while queue:
    i, j = queue.popleft()
    if maze[i][j] == "E":
        answer = steps[i, j]
        break
    for a, b in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
        free = 0 <= a < rows and 0 <= b < columns and maze[a][b] != "#"
        if free and (a, b) not in steps:
            steps[a, b] = steps[i, j] + 1
            queue.append((a, b))
print(answer)
""",
        brute=_maze,
        inputs=lambda rng: (
            [
                "1 2\nSE\n",
                "1 3\nS#E\n",
                "2 3\nS#E\n...\n",
                "2 2\nE.\n#S\n",
                *_mazes(rng, (3, 4, 6, 8, 10)),
            ]
        ),
        large=lambda rng: _mazes(rng, (45, 50)),
    ),
    Problem(
        name="colony",
        topic="grids",
        level="medium",
        text="A colony of cells lives on a board, # alive and . not. Each square has up to eight "
        "neighbours, diagonal ones too. From one day to the next, all at once, a living cell stays "
        "alive with two or three living neighbours and else dies, and an empty square with exactly "
        "three living neighbours comes alive. Nothing lives beyond the edges.\n\nInput: rows, "
        "columns (1 to 100 each) and the number of days (0 to 100) in one line, then the rows.\n"
        "Output: the board after so many days.",
        solution="""\
from collections import Counter

rows, columns, days = map(int, input().split())
alive = set()
for i in range(rows):
    alive |= {(i, j) for j, sign in enumerate(input()) if sign == "#"}
for _ in range(days):
    around = Counter(
        (i + a, j + b) for i, j in alive for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b
    )
    alive = {
        (i, j)
        for (i, j), count in around.items()
        if 0 <= i < rows and 0 <= j < columns and (count == 3 or count == 2 and (i, j) in alive)
    }
for i in range(rows):
    print("".join(".#"[(i, j) in alive] for j in range(columns)))
""",
        brute=_life,
        inputs=lambda rng: (
            ["1 1 1\n#\n", "1 3 0\n#.#\n", "3 3 1\n.#.\n.#.\n.#.\n"]
            + ["4 4 3\n....\n.##.\n.##.\n....\n", "5 5 4\n.#...\n..#..\n###..\n.....\n.....\n"]
            + [
                joined((n, n + 2, k), *table(rng, n, n + 2, "#."))
                for n, k in ((3, 2), (6, 5), (9, 1))
            ]
            + [joined((n, n, k), *table(rng, n, n, "#..")) for n, k in ((12, 10), (20, 30))]
        ),
    ),
    Problem(
        name="snail-walk",
        topic="grids",
        level="easy",
        text="A snail starts at the top left of a table, goes right along the edge, and turns to "
        "its right whenever it would leave the table or come to a number that it has eaten. It "
        "eats all numbers. In which order?\n\nInput: the numbers of rows and columns (1 to 300 "
        "each) in one line, then the rows of whole numbers.\nOutput: the numbers in one line.",
        solution="""\
rows, columns = map(int, input().split())
numbers = [input().split() for _ in range(rows)]
i, j, down, right = 0, 0, 0, 1
eaten = []
for _ in range(rows * columns):
    eaten.append(numbers[i][j])
    numbers[i][j] = None
    a, b = i + down, j + right
    if not (0 <= a < rows and 0 <= b < columns) or numbers[a][b] is None:
        down, right = right, -down
    i, j = i + down, j + right
print(*eaten)
""",
        brute=_spiral,
        inputs=_spirals,
    ),
    Problem(
        name="largest-square",
        topic="grids",
        level="hard",
        text="A plot is divided into squares: . is free and # is a rock. A house has a square "
        "ground, stands on whole free squares, and is to be as large as possible. How long is its "
        "side?\n\nInput: the numbers of rows and columns (1 to 1000 each) in one line, then the "
        "rows.\nOutput: the side length; 0 if there is no free square.",
        solution="""\
rows, columns = map(int, input().split())
above = [0] * (columns + 1)
best = 0
for _ in range(rows):
    line = [0] * (columns + 1)
    for j, sign in enumerate(input()):
        if sign == ".":
            line[j + 1] = 1 + min(line[j], above[j], above[j + 1])
    best = max(best, *line)
    above = line
print(best)
""",
        brute=_square,
        inputs=lambda rng: (
            [
                "1 1\n#\n",
                "1 1\n.\n",
                "2 2\n..\n..\n",
                "3 3\n...\n.#.\n...\n",
                *_maps(rng, (5, 8, 12, 16), "....#"),
                *_maps(rng, (20,), "." * 12 + "#"),
            ]
        ),
        large=lambda rng: [*_maps(rng, (60,), "." * 30 + "#"), joined((1, 70), "." * 70)],
    ),
    Problem(
        name="forest-fire",
        topic="grids",
        level="medium",
        text="In a forest, T is a tree, F is a tree on fire and . is bare ground. Each minute the "
        "fire spreads from every burning tree to the trees above, below, left and right of it; "
        "burning trees burn on. After how many minutes do all trees burn?\n\nInput: the numbers of "
        "rows and columns (1 to 500 each) in one line, then the rows.\nOutput: the number of "
        "minutes; 0 if no tree is left that does not burn, -1 if some tree never does.",
        solution="""\
rows, columns = map(int, input().split())
trees, fire = set(), set()
for i in range(rows):
    for j, sign in enumerate(input()):
        if sign == "T":
            trees.add((i, j))
        elif sign == "F":
            fire.add((i, j))
minutes = 0
while fire:
    near = {
        square
        for i, j in fire
        for square in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1))
    }
    fire = near & trees
    trees -= fire
    minutes += bool(fire)
print(-1 if trees else minutes)
""",
        brute=_fire,
        inputs=lambda rng: (
            [
                "1 1\n.\n",
                "1 1\nT\n",
                "1 1\nF\n",
                "1 4\nFTTT\n",
                "1 3\nF.T\n",
                *_maps(rng, (4, 6, 9), "TTTTF."),
                *_maps(rng, (12, 20), "TTTTTTTTTTTTTTTTTTTF"),
            ]
        ),
        large=lambda _: [joined((30, 40), "F" + "T" * 39, *["T" * 40] * 29)],
    ),
]
