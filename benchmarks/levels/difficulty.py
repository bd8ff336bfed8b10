"""Difficulty of levels: the exact length of the shortest solution, and whether it is unique.

A level is a list of boards from ``compare/measures/levels.py``. The searches give up after a
number of positions that takes some seconds.
"""

import functools
import heapq
import itertools
import math
from collections import deque
from collections.abc import Iterator

from gem_games.sokoban_solver import solve

__all__ = ["Board", "Level", "count_solutions", "shortest_puzzle", "shortest_sokoban"]

Board = list[list[int]]
Level = list[Board]
State = tuple[int, ...]

_POSITIONS = 200_000
_ANY_LENGTH = 10_000
_FLOOR, _GOAL, _BOXES, _PLAYER = {1, 2, 3, 4, 5}, {2}, {3, 4}, {5}
"""Codes of Sokoban's cells."""


def shortest_sokoban(level: Level) -> int | None:
    """Return the fewest moves that solve a Sokoban level, None if no solution was found."""
    fixed, state = level
    solution = solve(
        _mask(fixed, _FLOOR),
        len(fixed[0]),
        _mask(fixed, _GOAL),
        (_mask(state, _BOXES), _mask(state, _PLAYER)),
        limit=_ANY_LENGTH,
        greed=1,
        max_positions=_POSITIONS,
    )
    return solution.moves if solution else None


def _mask(board: Board, codes: set[int]) -> int:
    cells = [code for row in board for code in row]
    return sum(1 << index for index, code in enumerate(cells) if code in codes)


def shortest_puzzle(level: Level) -> float | None:
    """Return the fewest moves that order a sliding puzzle.

    Returns:
        Infinity if the order can never be reached, None if no solution was found.
    """
    (board,) = level
    start, rows = tuple(tile for row in board for tile in row), len(board)
    if not _is_solvable(start, rows):
        return math.inf
    return _distances(rows)[start] if rows < 4 else _a_star(start, rows)


def _is_solvable(state: State, rows: int) -> bool:
    """Return whether a permutation and its gap have the parity that moves cannot change."""
    order = [tile or rows * rows for tile in state]
    swaps = sum(a > b for index, a in enumerate(order) for b in order[index + 1 :])
    return (swaps + sum(divmod(state.index(0), rows))) % 2 == 0


@functools.cache
def _distances(rows: int) -> dict[State, int]:
    """Return for every board how far it is from the ordered one: a search in breadth."""
    goal = (*range(1, rows * rows), 0)
    found, queue = {goal: 0}, deque([goal])
    while queue:
        state = queue.popleft()
        for after in _slides(state, rows):
            if after not in found:
                found[after] = found[state] + 1
                queue.append(after)
    return found


def _a_star(start: State, rows: int) -> int | None:
    """Search by the moves made and a lower bound of those left, down to 0."""
    left = _moves_left(start, rows)
    made, heap = {start: 0}, [(left, left, start)]
    while heap and len(made) < _POSITIONS:
        total, left, state = heapq.heappop(heap)
        if left == 0:
            return total
        moves = made[state] + 1
        for after in _slides(state, rows):
            if moves < made.get(after, _ANY_LENGTH):
                made[after] = moves
                left = _moves_left(after, rows)
                heapq.heappush(heap, (moves + left, left, after))
    return None


def _moves_left(state: State, rows: int) -> int:
    """Return the tiles' distances to their places, and what passing each other costs besides."""
    return sum(
        _moves_within(state[index * rows : (index + 1) * rows], index, 0)
        + _moves_within(state[index::rows], index, 1)
        for index in range(rows)
    )


@functools.cache
def _moves_within(line: State, index: int, axis: int) -> int:
    """Return the moves along a row (axis 0) or column (axis 1) that its tiles need at least.

    Tiles that belong to the line, but in another order, must step aside and back: two moves each.
    """
    homes = [(here, divmod(tile - 1, len(line))) for here, tile in enumerate(line) if tile]
    along = sum(abs(home[1 - axis] - here) for here, home in homes)
    own = [home[1 - axis] for _, home in homes if home[axis] == index]
    in_order = max(
        count
        for count in range(len(own) + 1)
        for some in itertools.combinations(own, count)
        if list(some) == sorted(some)
    )
    return along + 2 * (len(own) - in_order)


def _slides(state: State, rows: int) -> Iterator[State]:
    """Yield the boards one move on."""
    gap = state.index(0)
    for source in _neighbours(gap, rows):
        board = list(state)
        board[gap], board[source] = board[source], 0
        yield tuple(board)


@functools.cache
def _neighbours(cell: int, rows: int) -> list[int]:
    row, column = divmod(cell, rows)
    places = [(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
    return [r * rows + c for r, c in places if 0 <= r < rows and 0 <= c < rows]


def count_solutions(board: Board, *, most: int = 2) -> int:
    """Return how many ways there are to fill a Sudoku, counted up to ``most``."""
    empty = [
        (row, column) for row, line in enumerate(board) for column, n in enumerate(line) if not n
    ]
    options = {cell: _options(board, *cell) for cell in empty}
    if not options:
        return 1
    (row, column), numbers = min(options.items(), key=lambda item: len(item[1]))
    found = 0
    for number in numbers:
        board[row][column] = number
        found += count_solutions(board, most=most - found)
        if found >= most:
            break
    board[row][column] = 0
    return found


def _options(board: Board, row: int, column: int) -> set[int]:
    size = len(board)
    box = math.isqrt(size)
    top, left = row // box * box, column // box * box
    taken = {*board[row], *(line[column] for line in board)}
    for line in board[top : top + box]:
        taken.update(line[left : left + box])
    return set(range(1, size + 1)) - taken
