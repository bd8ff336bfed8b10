"""Sokoban levels, generated backwards, so that each can be solved in a known number of moves.

A set of cells is an int with the bits ``row * width + column``. The outermost cells are walls, so a
shift by one cell never wraps around onto the floor. Generation starts from the solved level, with
all boxes on goals; a beam search then *pulls* the boxes as far away as it can. The reversed pulls
are the pushes that solve the level. The search counts all moves, including walks, so
``Level.moves`` is an upper bound of the shortest solution and never exceeds the budget.
"""

import random
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

__all__ = ["Level", "cells", "generate", "pull_distances", "shift", "walk_layers", "walk_length"]

_SEARCH_STEPS = 100  # per level; the search of the last room may exceed it
_ROOM_STEPS = 200
_BEAM_WIDTH = 3
_TURN_CHANCE = 0.35
_SPREADS = (0, 2, 5)
_COVERED = -4  # the score of a box on a goal, from which every box must leave


class Level(NamedTuple):
    """One level.

    Args:
        floor: All cells that are not walls.
        goals: The goals, a subset of the floor.
        boxes: The boxes, none of them on a goal.
        player: The cell of the player, not on a goal.
        moves: The length of a known solution, including walks.
        origins: The cell of each box, by the goal onto which the known solution pushes it.
    """

    floor: int
    goals: int
    boxes: int
    player: int
    moves: int
    origins: dict[int, int]


class _Node(NamedTuple):
    """A position in the backward search; ``player`` is one cell, or a region at the start."""

    rank: float
    score: float
    moves: int
    boxes: int
    player: int
    pulled: int
    parent: "_Node | None"


_Fields = tuple[float, float, int, int, int, int, _Node]


def shift(mask: int, offset: int) -> int:
    """Shift all cells of a set by an offset in bit positions, which may be negative."""
    return mask << offset if offset > 0 else mask >> -offset


def cells(mask: int) -> Iterator[int]:
    """Yield each cell of a set, as a set with one cell."""
    while mask:
        cell = mask & -mask
        mask ^= cell
        yield cell


def walk_layers(start: int, free: int, width: int) -> list[int]:
    """Return the sets of cells that can be reached in at most 0, 1, 2, ... moves."""
    layers = [start]
    while True:
        reach = layers[-1]
        grown = (reach | reach << 1 | reach >> 1 | reach << width | reach >> width) & free
        if grown == reach:
            return layers
        layers.append(grown)


def walk_length(layers: list[int], cell: int) -> int:
    """Return the number of moves to a cell in the result of ``walk_layers``."""
    distance = 0
    while not layers[distance] & cell:
        distance += 1
    return distance


def pull_distances(floor: int, width: int, goals: int) -> dict[int, int]:
    """Return the number of pulls from the nearest goal to each cell, without other boxes.

    A box on a cell that is missing from the result can never be pushed onto a goal.
    """
    distances, frontier, distance = dict.fromkeys(cells(goals), 0), goals, 0
    seen = goals
    while frontier:
        distance += 1
        pulled = 0
        for offset in (1, -1, width, -width):
            room = shift(floor, -offset) & shift(floor, -2 * offset)
            pulled |= shift(frontier & room, offset)
        frontier = pulled & ~seen
        seen |= frontier
        distances.update(dict.fromkeys(cells(frontier), distance))
    return distances


def generate(rng: random.Random, height: int, width: int, num_boxes: int, budget: int) -> Level:
    """Return a level whose known solution takes at most ``budget`` moves.

    It tries several rooms and returns the level that needs the most work: necessary pushes, and
    changes from one box to another.

    Args:
        rng: The random generator.
        height: The number of rows, including two of wall.
        width: The number of columns, including two of wall.
        num_boxes: The number of boxes and goals, at most a fifth of the inner cells.
        budget: The maximum number of moves, at least 6 per box.
    """
    best: tuple[_Node, int, int] | None = None
    steps, tries = _SEARCH_STEPS, 0
    while steps > 0 or best is None:
        tries += 1
        floor = _carve(rng, height, width, num_boxes)
        spread = rng.choice(_SPREADS) + tries // 16
        goals = _place_goals(rng, floor, width, num_boxes, spread)
        if goals is None:
            steps -= 1
            continue
        node, used = _pull_away(rng, floor, width, goals, budget)
        steps -= used
        if node is not None and (best is None or node.score > best[0].score):
            best = node, floor, goals
    return _finish(rng, width, *best, budget)


def _carve(rng: random.Random, height: int, width: int, num_boxes: int) -> int:
    """Return a connected floor, carved in small shapes by a random walk."""
    area = (height - 2) * (width - 2)
    inside = sum((1 << width - 2) - 1 << row * width + 1 for row in range(1, height - 1))
    size = max(3 * num_boxes + 4, int(area * rng.uniform(0.55, 0.9)))
    below = 1 << width
    shapes = (3, 1 | below, 3 | below, 1 | below | below << 1, 3 | below << 1)
    offsets = (1, -1, width, -width)
    cell = 1 << rng.randrange(1, height - 1) * width + rng.randrange(1, width - 1)
    floor, offset = cell, rng.choice(offsets)
    while floor.bit_count() < size:
        ahead = shift(cell, offset) & inside
        if not ahead or rng.random() < _TURN_CHANCE:
            offset = offsets[int(rng.random() * 4)]
            ahead = shift(cell, offset) & inside
        cell = ahead or cell
        floor |= cell * shapes[int(rng.random() * 5)] & inside
    return floor


def _place_goals(
    rng: random.Random, floor: int, width: int, num_boxes: int, spread: int
) -> int | None:
    """Return goals close together on cells from which boxes can be pulled, or None.

    ``spread`` is the number of additional cells to choose from; 0 gives the tightest cluster.
    """
    usable = 0
    for offset in (1, -1, width, -width):
        usable |= floor & shift(floor, -offset) & shift(floor, -2 * offset)
    if usable.bit_count() <= num_boxes:
        return None
    seed = rng.choice(list(cells(usable)))
    wanted = min(num_boxes + spread, usable.bit_count())
    layers = walk_layers(seed, floor, width)
    area = next(layer for layer in layers if (layer & usable).bit_count() >= wanted)
    return sum(rng.sample(list(cells(area & usable)), num_boxes))


def _pull_away(
    rng: random.Random, floor: int, width: int, goals: int, budget: int
) -> tuple[_Node | None, int]:
    """Search backwards from the goals; return the best start position and the number of steps."""
    distances = pull_distances(floor, width, goals)
    distances.update(dict.fromkeys(cells(goals), _COVERED))
    beam = [_Node(0.0, 0.0, 0, goals, region, 0, None) for region in _regions(floor ^ goals, width)]
    seen: set[int] = set()
    best: _Node | None = None
    steps = 0
    while beam and steps < _ROOM_STEPS:
        steps += len(beam)
        children: list[_Fields] = []
        for node in beam:
            children += _pulls(rng, floor, width, node, distances, budget, seen)
        children.sort(key=itemgetter(0), reverse=True)
        beam = [_Node(*child) for child in children[:_BEAM_WIDTH]]
        for node in beam:
            covered = (node.boxes | node.player) & goals
            if not covered and (best is None or node.score > best.score):
                best = node
    return best, steps


def _regions(free: int, width: int) -> Iterator[int]:
    while free:
        region = walk_layers(free & -free, free, width)[-1]
        free ^= region
        yield region


def _pulls(
    rng: random.Random,
    floor: int,
    width: int,
    node: _Node,
    distances: dict[int, int],
    budget: int,
    seen: set[int],
) -> Iterator[_Fields]:
    """Yield the positions after a walk to a box and one pull."""
    _, score, moves, boxes, player, pulled, _ = node
    free = floor & ~boxes
    layers = walk_layers(player, free, width)
    reach, below = layers[-1], 2 * width
    # Boxes that the player can reach and pull, for each direction.
    movable = (
        (1, boxes & reach >> 1 & free >> 2),
        (-1, boxes & reach << 1 & free << 2),
        (width, boxes & reach >> width & free >> below),
        (-width, boxes & reach << width & free << below),
    )
    for offset, candidates in movable:
        for box in cells(candidates) if candidates else ():
            to = shift(box, offset)
            after = boxes ^ box ^ to
            if after in seen:
                continue
            cost = moves + walk_length(layers, to) + 1
            if cost > budget:
                continue
            # Skip the same boxes with another position of the player.
            seen.add(after)
            # A necessary push counts 1, a change of box 0.5.
            gain = score + distances[to] - distances[box] + (0.5 if box != pulled else 0.0)
            # Long walks use up the budget for pulls.
            rank = gain - cost + rng.random()
            yield rank, gain, cost, after, shift(to, offset), to, node


def _finish(
    rng: random.Random, width: int, node: _Node, floor: int, goals: int, budget: int
) -> Level:
    """Move the player away, so that it does not always start next to the first box."""
    layers = walk_layers(node.player, floor & ~node.boxes, width)
    most = min(rng.randint(0, len(layers) - 1), budget - node.moves)
    player = rng.choice(list(cells(layers[most] & ~goals)))
    moves = node.moves + walk_length(layers, player)
    return Level(floor, goals, node.boxes, player, moves, _origins(node))


def _origins(node: _Node) -> dict[int, int]:
    """Follow each box back from its start to its goal."""
    goal_side = {box: box for box in cells(node.boxes)}
    while node.parent is not None:
        before, after = node.parent.boxes & ~node.boxes, node.boxes & ~node.parent.boxes
        goal_side[before] = goal_side.pop(after)
        node = node.parent
    return goal_side
