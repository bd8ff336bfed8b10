"""Sokoban solver: A* over pushes, for short or shortest solutions.

Sets of cells are ints, as in ``sokoban_levels``. A position is the set of boxes and the cell of the
player; a step is the walk to a box and one push. The cheapest assignment of boxes to goals is a
lower bound of the remaining pushes. By default the bound is doubled, as each push costs about one
move of walking: the search is then fast, and its solutions are at most a few moves longer than the
shortest. Without doubling they are the shortest.
"""

import heapq
from typing import NamedTuple

from gem_games.sokoban_levels import cells, pull_distances, shift, walk_layers, walk_length

__all__ = ["Position", "Solution", "solve"]

Position = tuple[int, int]
"""The boxes, and the cell of the player."""

_NEVER = 10**6
_MATCHED_BOXES = 6


class Solution(NamedTuple):
    """A solution, which pushes all boxes onto goals.

    Args:
        moves: The number of moves, including walks.
        positions: The positions after each push.
    """

    moves: int
    positions: list[Position]


def solve(
    floor: int,
    width: int,
    goals: int,
    start: Position,
    *,
    limit: int,
    greed: int = 2,
    max_positions: int = 30_000,
) -> Solution | None:
    """Return a solution, or None if none was found.

    Args:
        floor: All cells that are not walls; none of them is at the edge.
        width: The number of columns.
        goals: The goals, as many as boxes.
        start: The boxes and the player.
        limit: The maximum number of moves.
        greed: The factor of the bound; 1 gives a shortest solution.
        max_positions: The number of positions after which to give up; the default takes about 1 s.
    """
    bound = _Bound(floor, width, goals)
    best, parents = {start: 0}, {start: start}
    heap = [(greed * bound.of(start[0]), 0, 0, start)]
    while heap and len(parents) < max_positions:
        _, _, moves, position = heapq.heappop(heap)
        if position[0] == goals:
            return Solution(moves, _path(parents, position))
        if moves > best[position]:
            continue
        for after, cost in _pushes(bound, position):
            total = moves + cost
            left = bound.of(after[0])
            if total + left <= limit and total < best.get(after, _NEVER):
                best[after], parents[after] = total, position
                # Prefer the latest of equal positions, as depth-first search finishes sooner.
                heapq.heappush(heap, (total + greed * left, -len(parents), total, after))
    return None


def _path(parents: dict[Position, Position], position: Position) -> list[Position]:
    path = []
    while parents[position] != position:
        path.append(position)
        position = parents[position]
    return path[::-1]


class _Bound:
    """A level, with a lower bound of the pushes that a set of boxes needs."""

    def __init__(self, floor: int, width: int, goals: int) -> None:
        self.floor, self.width, self.goals = floor, width, goals
        tables = [pull_distances(floor, width, goal) for goal in cells(goals)]
        self.rows = {cell: [table.get(cell, _NEVER) for table in tables] for cell in cells(floor)}
        self.alive = sum(cell for cell, row in self.rows.items() if min(row) < _NEVER)
        self._known: dict[int, int] = {}

    def of(self, boxes: int) -> int:
        """Return the bound; ``_NEVER`` or more if the boxes cannot reach the goals."""
        bound = self._known.get(boxes)
        if bound is None:
            rows = [self.rows[box] for box in cells(boxes)]
            matched = len(rows) <= _MATCHED_BOXES
            bound = _matching(rows) if matched else sum(min(row) for row in rows)
            self._known[boxes] = bound
        return bound


def _matching(rows: list[list[int]]) -> int:
    """Return the cost of the cheapest assignment of a different column to each row."""
    costs = {0: 0}
    for row in rows:
        extended: dict[int, int] = {}
        for used, cost in costs.items():
            for column, extra in enumerate(row):
                key = used | 1 << column
                if key != used and cost + extra < extended.get(key, _NEVER):
                    extended[key] = cost + extra
        costs = extended
    return min(costs.values(), default=_NEVER)


def _pushes(level: _Bound, position: Position) -> list[tuple[Position, int]]:
    """Return the positions after one push, each with its number of moves."""
    boxes, player = position
    width, goals = level.width, level.goals
    free = level.floor & ~boxes
    layers = walk_layers(player, free, width)
    found = []
    for offset in (1, -1, width, -width):
        room = free & level.alive
        for box in cells(boxes & shift(layers[-1], offset) & shift(room, -offset)):
            to = shift(box, offset)
            after = boxes ^ box ^ to
            if not to & goals and _blocks(after, to, level):
                continue
            walk = walk_length(layers, shift(box, -offset))
            found.append(((after, box), walk + 1))
    return found


def _blocks(boxes: int, box: int, level: _Bound) -> bool:
    """Return whether a box is in a 2x2 square of walls and boxes, and so can never move."""
    solid = boxes | ~level.floor
    for across in (1, -1):
        pair = box | shift(box, across)
        for along in (level.width, -level.width):
            square = pair | shift(pair, along)
            if square & solid == square:
                return True
    return False
