"""Placement of words across and down a square grid, for Crosswords and WordSearch.

The longest word is placed first, in the middle. Each further word crosses an earlier one at random,
or has a random free position if no crossing is legal. In a *crossword*, words touch only where they
cross, so that the grid contains exactly these words.
"""

import functools
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["Cells", "Placement", "cells_of", "column_header", "place_words"]

Cell = tuple[int, int]
Cells = dict[Cell, str]
"""The letters by (row, column), both 0-based; missing cells are empty."""
_DRAWS = 8
"""The number of random positions to try before listing all that fit."""


class Placement(NamedTuple):
    """The cell of the first letter of a word, and its direction: ``"across"`` or ``"down"``."""

    row: int
    column: int
    direction: str


def cells_of(length: int, placement: Placement) -> list[Cell]:
    """Return the cells of a placed word of ``length`` letters, in order."""
    row, column, direction = placement
    if direction == "across":
        return [(row, column + i) for i in range(length)]
    return [(row + i, column) for i in range(length)]


@functools.lru_cache(maxsize=64)
def column_header(side: int) -> str:
    """Return the header of a board, ``C00 C01 ...``, above cells of four characters."""
    return "    " + " ".join(f"C{column:02}" for column in range(side))


def place_words(
    rng: random.Random, words: Sequence[str], side: int, *, crossword: bool
) -> tuple[dict[str, Placement], Cells] | None:
    """Place distinct words at random.

    Args:
        rng: The random generator.
        words: Distinct words in the same case, none contained in another.
        side: The number of rows and columns of the grid.
        crossword: Keep words apart except where they cross, and try crossings in both directions
            before a free position. Otherwise only one random direction is tried for each word.

    Returns:
        The placements by word and the letters, or None if a word did not fit.
    """
    cells: Cells = {}
    placed: dict[str, Placement] = {}
    for word in sorted(words, key=len, reverse=True):
        if len(word) > side:
            return None
        directions = ("across", "down") if rng.random() < 0.5 else ("down", "across")
        placement = _find(rng, word, directions, side, placed, cells, crossword)
        if placement is None:
            return None
        placed[word] = placement
        cells.update(zip(cells_of(len(word), placement), word, strict=True))
    return placed, cells


def _find(
    rng: random.Random,
    word: str,
    directions: Sequence[str],
    side: int,
    placed: dict[str, Placement],
    cells: Cells,
    crossword: bool,  # noqa: FBT001 - passed on
) -> Placement | None:
    if not placed:
        middle, start = side // 2, (side - len(word)) // 2
        across = directions[0] == "across"
        return Placement(*((middle, start) if across else (start, middle)), directions[0])
    for direction in directions if crossword else directions[:1]:
        crossings = list(_crossings(word, direction, placed))
        while crossings:
            place = crossings.pop(int(rng.random() * len(crossings)))
            if _fits(word, place, side, cells, crossword):
                return place
    for direction in directions:
        free = _find_anywhere(rng, word, direction, side, cells, crossword)
        if free is not None:
            return free
    return None


def _crossings(word: str, direction: str, placed: dict[str, Placement]) -> Iterator[Placement]:
    for other, where in placed.items():
        if where.direction == direction:
            continue
        for (row, column), letter in zip(cells_of(len(other), where), other, strict=True):
            if letter not in word:
                continue
            for index, own in enumerate(word):
                if own == letter and direction == "across":
                    yield Placement(row, column - index, direction)
                elif own == letter:
                    yield Placement(row - index, column, direction)


def _find_anywhere(
    rng: random.Random,
    word: str,
    direction: str,
    side: int,
    cells: Cells,
    crossword: bool,  # noqa: FBT001 - passed on
) -> Placement | None:
    """Return a uniformly random position that fits, or None if there is none."""
    last = side - len(word) + 1
    rows, columns = (side, last) if direction == "across" else (last, side)
    for _ in range(_DRAWS):
        row, column = int(rng.random() * rows), int(rng.random() * columns)
        place = Placement(row, column, direction)
        if _fits(word, place, side, cells, crossword):
            return place
    every = [Placement(row, column, direction) for row in range(rows) for column in range(columns)]
    fitting = [place for place in every if _fits(word, place, side, cells, crossword)]
    return rng.choice(fitting) if fitting else None


def _fits(word: str, place: Placement, side: int, cells: Cells, crossword: bool) -> bool:  # noqa: FBT001 - passed on
    row, column, direction = place
    end = (column if direction == "across" else row) + len(word)
    if row < 0 or column < 0 or end > side:
        return False
    own = cells_of(len(word), place)
    for cell, letter in zip(own, word, strict=True):
        if cells.get(cell, letter) != letter:
            return False
    return not crossword or _is_apart(own, direction, cells)


def _is_apart(own: list[Cell], direction: str, cells: Cells) -> bool:
    down, right = (0, 1) if direction == "across" else (1, 0)
    (first_row, first_column), (last_row, last_column) = own[0], own[-1]
    if (first_row - down, first_column - right) in cells:
        return False
    if (last_row + down, last_column + right) in cells:
        return False
    # A new cell must not touch a parallel word; a cell with a letter is a crossing.
    for row, column in own:
        if (row, column) not in cells and (
            (row - right, column - down) in cells or (row + right, column + down) in cells
        ):
            return False
    return True
