"""Solvers of the tasks whose items have no gold answer in reasoning_gym.

Each solver yields candidate answers from the metadata of an item, the most likely first; the
scorer of the task selects the best.
"""

import itertools
import json
import string
from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = ["SOLVERS"]

_SIDE = 6
"""The width and height of a board of Rush Hour."""


def _graph_color(metadata: Mapping[str, Any]) -> Iterator[str]:
    yield json.dumps(metadata["possible_answer"])


def _propositional_logic(metadata: Mapping[str, Any]) -> Iterator[str]:
    yield metadata["example_answer"]
    yield from metadata["premises"]  # premises follow from themselves


def _rubiks_cube(metadata: Mapping[str, Any]) -> Iterator[str]:
    yield metadata["example_correct_answer"]


def _boxnet(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Move one box after another to a target of its colour."""
    squares = metadata["initial_state"]
    targets = [(square, item) for square, items in squares.items() for item in items]
    plan: list[dict[str, str]] = []
    for start, items in squares.items():
        for box in (item for item in items if item.startswith("box_")):
            target = "target_" + box.removeprefix("box_")
            goal = next(place for place in targets if place[1] == target)
            targets.remove(goal)
            path = list(_path(_coordinates(start), _coordinates(goal[0])))
            for here, there in itertools.pairwise(path):
                plan.append(_move(here, box, f"square[{there[0]}, {there[1]}]"))
            plan.append(_move(path[-1], box, target))
    yield json.dumps(plan)


def _coordinates(square: str) -> tuple[float, float]:
    row, column = square.split("_")
    return float(row), float(column)


def _path(start: tuple[float, float], goal: tuple[float, float]) -> Iterator[tuple[float, float]]:
    """Yield the squares from ``start`` to ``goal``, first along the column, then along the row."""
    row, column = start
    yield row, column
    while (row, column) != goal:
        if row != goal[0]:
            row += 1 if row < goal[0] else -1
        else:
            column += 1 if column < goal[1] else -1
        yield row, column


def _move(square: tuple[float, float], box: str, destination: str) -> dict[str, str]:
    return {f"Agent[{square[0]}, {square[1]}]": f"move({box}, {destination})"}


def _rush_hour(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Search breadth-first over single steps of cars until the first car is at the exit."""
    board: str = metadata["board_config"]
    cars = sorted(set(board) - {"o", "x"})
    names = string.ascii_uppercase  # the question renames the cars to consecutive letters
    walls = sum(1 << cell for cell, label in enumerate(board) if label == "x")
    cells = [[cell for cell, label in enumerate(board) if label == car] for car in cars]
    strides = [places[1] - places[0] for places in cells]
    lengths = [len(places) for places in cells]
    start = tuple(places[0] for places in cells)
    came_from: dict[tuple[int, ...], tuple[tuple[int, ...], str]] = {start: (start, "")}
    reached = [start]
    for state in reached:
        if state[0] % _SIDE == _SIDE - lengths[0]:
            yield " ".join(reversed(list(_trace(came_from, state))))
            return
        masks = [
            sum(1 << place + step * stride for step in range(length))
            for place, stride, length in zip(state, strides, lengths, strict=True)
        ]
        taken = walls | sum(masks)
        for car, (place, stride, length) in enumerate(zip(state, strides, lengths, strict=True)):
            for sign, cell in (("-", place - stride), ("+", place + length * stride)):
                if not _is_free(cell, place, stride, taken):
                    continue
                step = stride if sign == "+" else -stride
                after = (*state[:car], place + step, *state[car + 1 :])
                if after not in came_from:
                    came_from[after] = (state, f"{names[car]}{sign}1")
                    reached.append(after)


def _is_free(cell: int, place: int, stride: int, taken: int) -> bool:
    """Return whether a cell is free, on the board and, for a horizontal car, in the same row."""
    inside = 0 <= cell < _SIDE * _SIDE and (stride > 1 or cell // _SIDE == place // _SIDE)
    return inside and not taken >> cell & 1


def _trace(
    came_from: Mapping[tuple[int, ...], tuple[tuple[int, ...], str]], state: tuple[int, ...]
) -> Iterator[str]:
    """Yield the moves that led to a state, in reverse order."""
    before, move = came_from[state]
    while move:
        yield move
        before, move = came_from[before]


SOLVERS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "boxnet": _boxnet,
    "graph_color": _graph_color,
    "propositional_logic": _propositional_logic,
    "rubiks_cube": _rubiks_cube,
    "rush_hour": _rush_hour,
}
"""The solvers by task."""
