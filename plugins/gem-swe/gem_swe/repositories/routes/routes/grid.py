"""Maps drawn as text, and the cheapest walks across them."""

from collections.abc import Iterator
from typing import NamedTuple

from routes.errors import NoPath, ParseError, UnknownNode
from routes.heap import Heap


class Cell(NamedTuple):
    """A square of the map; rows count from the top and columns from the left, from 0."""

    row: int
    column: int


class GridMap(NamedTuple):
    """The cost of entering each open cell, and the cells that have a letter."""

    costs: dict[Cell, int]
    places: dict[str, Cell]

    def moves(self, cell: Cell) -> Iterator[tuple[int, Cell]]:
        """The open cells beside a cell: 0 north, 1 east, 2 south, 3 west of it."""
        row, column = cell
        beside = [(row - 1, column), (row, column + 1), (row + 1, column), (row, column - 1)]
        for direction, target in enumerate(beside):
            if target in self.costs:
                yield direction, Cell(*target)


class Walk(NamedTuple):
    """A walk and its moves; `settled` counts the cells whose cost was found on the way."""

    cost: int
    moves: str
    settled: int


def parse_map(text: str) -> GridMap:
    """Read a map: `.` costs 1 to enter, `1` to `9` cost that much, `#` and space are walls.

    A capital letter from A to Z is a place and costs 1; to use one twice is a ParseError, and
    so is any other character. Newlines before and after the map do not count.
    """
    costs: dict[Cell, int] = {}
    places: dict[str, Cell] = {}
    for row, line in enumerate(text.strip("\n").split("\n")):
        for column, sign in enumerate(line):
            if sign in "# ":
                continue
            costs[Cell(row, column)] = int(sign) if sign.isdecimal() else 1
            if "A" <= sign <= "Z" and sign not in places:
                places[sign] = Cell(row, column)
            elif sign not in ".123456789":
                raise ParseError(row + 1, f"{sign!r} in column {column}")
    return GridMap(costs, places)


def distance(one: Cell, other: Cell) -> int:
    """The fewest moves from one cell to another on a map without walls."""
    return abs(one.row - other.row) + abs(one.column - other.column)


def find_walk(grid: GridMap, start: str, goal: str) -> Walk:
    """The cheapest walk between two places; of several the one with the fewest moves.

    If there are still several, the first move in which they differ decides, in the order N,
    E, S, W. The next cell to settle is always the one with the best trail to it, by its cost
    plus its distance to the goal, then by the same rules; the walk is found when the goal is
    settled. UnknownNode if a place is not on the map, NoPath if no walk joins them.
    """
    if not {start, goal} <= grid.places.keys():
        raise UnknownNode(f"{start} or {goal}")
    source, target = grid.places[start], grid.places[goal]
    heap: Heap[tuple[int, int, tuple[int, ...], int, Cell]] = Heap()
    heap.push((0, 0, (), 0, source))
    settled: set[Cell] = set()
    while trail := heap.pop():
        _, _, ranks, paid, here = trail
        if here in settled:
            continue
        settled.add(here)
        if here == target:
            return Walk(paid, "".join("NESW"[rank] for rank in ranks), len(settled))
        for rank, cell in grid.moves(here):
            cost = paid + grid.costs[cell]
            longer = (*ranks, rank)
            heap.push((cost + distance(cell, target), len(longer), longer, cost, cell))
    raise NoPath(f"from {start} to {goal}")
