"""Sudoku grids: a solver on bit masks, and random puzzles with exactly one solution.

A set of cells is an int with one bit per cell, row by row. A position is a list with, for each
number, the set of cells that may contain it; a cell that is in only one set is decided. Operations
on sets process all cells together, which makes this fast in plain Python.

A grid is a flat list of the numbers 1 to ``size``, row by row; 0 is an empty cell.
"""

import functools
import math
import random
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["MOST_EMPTY", "make_puzzle", "solve"]

MOST_EMPTY = {4: 12, 9: 54, 16: 120}
"""The maximum number of empty cells by size. Nearly every grid allows this many (two in three for
size 4), and making a puzzle takes at most a few milliseconds."""

_NODES_PER_GRID = 200
_NODES_PER_CELL = 30


class _Geometry(NamedTuple):
    """The relations between the cells of a board."""

    every_cell: int
    units: list[tuple[int, int, int]]
    """The row, column and box of each cell."""
    strangers: list[int]
    """For each cell, the cells that share no row, column or box with it."""


@functools.cache
def _geometry(size: int) -> _Geometry:
    box = math.isqrt(size)
    rows, columns, boxes = [0] * size, [0] * size, [0] * size
    cells = [(r, c, r // box * box + c // box) for r in range(size) for c in range(size)]
    for cell, (r, c, b) in enumerate(cells):
        rows[r] |= 1 << cell
        columns[c] |= 1 << cell
        boxes[b] |= 1 << cell
    units = [(rows[r], columns[c], boxes[b]) for r, c, b in cells]
    every_cell = (1 << size * size) - 1
    strangers = [every_cell & ~(row | column | block) for row, column, block in units]
    return _Geometry(every_cell, units, strangers)


def make_puzzle(
    size: int, empty_cells: int, rng: random.Random
) -> tuple[Sequence[int], Sequence[int]]:
    """Return a random puzzle with one solution, and the solution.

    Args:
        size: 4, 9 or 16.
        empty_cells: The number of empty cells of the puzzle, 1 to ``MOST_EMPTY[size]``.
        rng: The random generator.
    """
    while True:
        solution = _full_grid(size, rng)
        digger = _Digger(solution, size)
        for cell in rng.sample(range(size * size), size * size):
            digger.empty_cell(cell)
            if digger.count == empty_cells:
                return digger.grid, solution


def solve(grid: Sequence[int], size: int, *, nodes: int = 100_000) -> list[int] | None:
    """Return a solution of a grid, or None if ``nodes`` branches do not lead to one."""
    numbers = range(1, size + 1)
    # All cells count as open, so that contradictory clues are detected.
    open_to = [sum(1 << c for c, n in enumerate(grid) if n in {0, number}) for number in numbers]
    position = _search(open_to, _geometry(size).every_cell, size, nodes)
    return _numbers(position, size) if position else None


def _full_grid(size: int, rng: random.Random) -> list[int]:
    """Return a random solved grid; every solved grid is possible.

    The boxes on the diagonal are independent, so they are filled at random; a search in random
    order fills the rest. It starts again if there is no completion or the search takes too long.
    """
    box = math.isqrt(size)
    while True:
        grid = [0] * (size * size)
        for corner in range(0, size, box):
            numbers = rng.sample(range(1, size + 1), size)
            for row in range(box):
                start = (corner + row) * size + corner
                grid[start : start + box] = numbers[row * box : (row + 1) * box]
        position = _search(*_position(grid, size), size, _NODES_PER_GRID, rng)
        if position:
            return _numbers(position, size)


def _position(grid: Sequence[int], size: int) -> tuple[list[int], int]:
    """Return the position of a grid, and its empty cells."""
    every_cell, _, strangers = _geometry(size)
    clues, allowed, empty = [0] * size, [every_cell] * size, 0
    for cell, number in enumerate(grid):
        if number:
            clues[number - 1] |= 1 << cell
            allowed[number - 1] &= strangers[cell]
        else:
            empty |= 1 << cell
    return [own | may & empty for own, may in zip(clues, allowed, strict=True)], empty


def _numbers(position: Sequence[int], size: int) -> list[int]:
    """Return the grid of a solved position."""
    grid = [0] * (size * size)
    for number, cells in enumerate(position, 1):
        for cell in _cells(cells):
            grid[cell] = number
    return grid


def _cells(cells: int) -> list[int]:
    """Return the indices of the cells in a set."""
    indices = []
    while cells:
        bit = cells & -cells
        indices.append(bit.bit_length() - 1)
        cells ^= bit
    return indices


def _search(
    position: list[int], empty: int, size: int, nodes: int, rng: random.Random | None = None
) -> list[int] | None:
    """Search depth-first for a solution; ``rng`` shuffles the order of the numbers of a cell.

    Returns:
        A solved position; ``[]`` if there is none; None if ``nodes`` branches do not decide.
    """
    geometry = _geometry(size)
    stack = [(position, empty)]
    for _ in range(nodes):
        if not stack:
            return []
        position, empty = stack.pop()
        decided = _decide_singles(position, empty, geometry)
        if decided is None:
            continue
        empty, bit = decided
        if not empty:
            return position
        branches = [index for index, cells in enumerate(position) if cells & bit]
        if rng is not None:
            rng.shuffle(branches)
        stranger = geometry.strangers[bit.bit_length() - 1]
        for index in branches:
            child = [cells & ~bit for cells in position]
            child[index] = position[index] & stranger | bit
            stack.append((child, empty ^ bit))
    return None


def _decide_singles(position: list[int], empty: int, geometry: _Geometry) -> tuple[int, int] | None:
    """Decide, in place, all cells that can contain only one number, until none is left.

    Returns:
        The cells that are still empty, and one of them to branch on, preferably with two possible
        numbers; None if a cell has no possible number.
    """
    every_cell, _, strangers = geometry
    while True:
        once = twice = thrice = 0
        for cells in position:
            thrice |= twice & cells
            twice |= once & cells
            once |= cells
        if once != every_cell:
            return None
        singles = empty & ~twice
        if not singles:
            choice = (twice & ~thrice) or empty
            return empty, choice & -choice
        empty ^= singles
        for index, cells in enumerate(position):
            left, found = cells, cells & singles
            while found:
                bit = found & -found
                stranger = strangers[bit.bit_length() - 1]
                left = left & stranger | bit
                found &= stranger
            position[index] = left


class _Digger:
    """A grid from which cells are removed, with the clues and allowed cells of each number."""

    def __init__(self, solution: Sequence[int], size: int) -> None:
        self.grid = list(solution)
        self.count = 0
        self._size = size
        self._every_cell, self._units, self._strangers = _geometry(size)
        self._clues, self._empty = _position(solution, size)
        self._allowed = [0] * size

    def empty_cell(self, cell: int) -> None:
        """Empty a cell if a short search proves that no other number fits there."""
        index, bit = self.grid[cell] - 1, 1 << cell
        clues = self._clues[index] ^ bit
        allowed = self._allowed_beside(clues)
        if not self._is_last_place(cell, allowed) and not self._excludes_others(
            cell, clues, allowed
        ):
            return
        self._clues[index], self._allowed[index] = clues, allowed
        self._empty |= bit
        self.grid[cell] = 0
        self.count += 1

    def _allowed_beside(self, clues: int) -> int:
        """Return the cells that share no row, column or box with any of the clues."""
        allowed = self._every_cell
        for cell in _cells(clues):
            allowed &= self._strangers[cell]
        return allowed

    def _is_last_place(self, cell: int, allowed: int) -> bool:
        """Return whether, in a row, column or box, the number fits in no other empty cell."""
        places = allowed & self._empty
        row, column, box = self._units[cell]
        return not (places & row and places & column and places & box)

    def _excludes_others(self, cell: int, clues: int, allowed: int) -> bool:
        """Return whether it is proven that no solution has another number in the cell."""
        index, bit = self.grid[cell] - 1, 1 << cell
        others = [i for i, cells in enumerate(self._allowed) if cells & bit and i != index]
        if not others:
            return True
        empty = self._empty
        pairs = zip(self._clues, self._allowed, strict=True)
        position = [own | may & empty for own, may in pairs]
        position[index] = clues | allowed & empty
        for other in others:
            position[other] |= bit
        return _search(position, empty | bit, self._size, _NODES_PER_CELL) == []
