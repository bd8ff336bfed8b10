"""The levels that a game makes, as its environment holds them."""

import time
from typing import Any

from compare.sides import load_side

__all__ = ["measure"]

_ATTRIBUTES = {
    "Sokoban": ("room_fixed", "room_state"),
    "FifteenPuzzle": ("board",),
    "Sudoku": ("board",),
}
"""Documented attributes that hold a level, by game."""


def measure(side: str, *, env_id: str, count: int, seconds: float) -> dict[str, Any]:
    """Reset with the seeds 0, 1, 2, ... until ``count`` levels are made or ``seconds`` are over.

    Returns:
        ``levels``, each a list of boards; a board is a list of rows of numbers, 0 for an empty
        cell.
    """
    env = load_side(side).make(env_id)
    names = _ATTRIBUTES[env_id.removeprefix("game:").split("-")[0]]
    levels: list[list[list[list[int]]]] = []
    began = time.perf_counter()
    while len(levels) < count and time.perf_counter() - began < seconds:
        env.reset(seed=len(levels))
        levels.append([_numbers(getattr(env.unwrapped, name)) for name in names])
    return {"levels": levels}


def _numbers(board: Any) -> list[list[int]]:
    return [[int(cell or 0) for cell in row] for row in board]
