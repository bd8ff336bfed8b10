"""Game2048: merge equal tiles until one reaches the target."""

import functools
import re
from itertools import pairwise
from math import log2

from gem_core import Action, BaseAgent, Info, Observation, visible_text
from gem_core.errors import ConfigError
from gem_games.base import Game, Outcome, boxed, check_range

__all__ = ["Game2048Env", "Game2048Oracle", "legal_moves", "slide"]

_RULES = """\
You are playing 2048.
The board has {size} rows and {size} columns of cells; . is empty, a number is a tile. Make a tile \
of {target} by merging tiles within {max_turns} turns, or else as large a tile as you can: every \
doubling of your largest tile by a merge counts.
Each turn you slide all tiles as far as they go up, down, left or right. Two equal tiles that meet \
merge into one of twice the number; each tile merges at most once per turn, pairs nearest the side \
you slide to first. Then a new tile appears in a random empty cell: a 2, or sometimes a 4. A slide \
that moves nothing is not allowed; it brings no new tile, but uses up a turn. You lose when no \
slide can move anything.
Write your move inside \\boxed{{}}: \\boxed{{up}}, \\boxed{{down}}, \\boxed{{left}} or \
\\boxed{{right}}. You may reason before it; if there are several boxes, the last one counts. A \
reply without a valid box ends the game.
The history of your moves and the current board will follow here.
Make your first move."""
_STYLES = {
    r"\.": "dim",
    r"\b[24]\b": "bold",
    r"\b(?:8|16)\b": "bold yellow",
    r"\b(?:32|64)\b": "bold red",
    r"\d{3,}": "bold magenta",
}

_DIRECTIONS = ("up", "down", "left", "right")
_TURNS = {16: 20, 32: 30, 64: 50}
_LARGEST = 131_072

Line = tuple[int, ...]
Board = tuple[Line, ...]
"""The rows of tiles; 0 is an empty cell."""


class Game2048Env(Game):
    """Merge equal tiles until one reaches the target.

    A merge into a tile larger than any before earns
    ``(log2 new - log2 previous) / (log2 target - log2 largest tile at the start)``, so the rewards
    of a won game add up to 1.0. Every other move earns 0.0.

    A turn adds 2.2 to the sum of the tiles on average and at most 4, so some targets cannot be
    reached (512 in 50 turns, 2048 in 100); the return then measures the largest tile.

    Args:
        target_tile: A power of two, 8 to 131,072, and at most ``2 ** (board_size ** 2)``. None
            draws 16, 32 or 64 in each episode.
        max_turns: The number of moves, 1 to 100,000. None means 20, 30 and 50 for these targets,
            and about 0.8 times any other target.
        board_size: The number of rows and columns, 2 to 8.
    """

    pattern = boxed("(up|down|left|right)", re.IGNORECASE | re.ASCII)
    action_format = "\\boxed{up}, \\boxed{down}, \\boxed{left} or \\boxed{right}"
    board_styles = _STYLES

    def __init__(
        self,
        *,
        target_tile: int | None = 2048,
        max_turns: int | None = 1000,
        board_size: int = 4,
    ) -> None:
        if board_size is None:
            raise ConfigError("board_size must be a whole number from 2 to 8; got None.")
        check_range("board_size", board_size, 2, 8)
        largest = min(2 ** (board_size**2), _LARGEST)
        check_range("target_tile", target_tile, 8, largest)
        if target_tile is not None and target_tile.bit_count() != 1:
            raise ConfigError(f"target_tile must be a power of two; got {target_tile}.")
        check_range("max_turns", max_turns, 1, 100_000)
        self._targets = (
            [t for t in _TURNS if t <= largest] if target_tile is None else [target_tile]
        )
        self._max_turns = max_turns
        self.board_size = board_size

    def start(self) -> tuple[Observation, Info]:
        size = self.board_size
        target = self.target_tile = self.rng.choice(self._targets)
        self.max_turns = self._max_turns or _TURNS.get(target) or max(10, target * 4 // 5)
        self.board: Board = ((0,) * size,) * size
        self._add_tile()
        self._add_tile()
        self.init_max_tile_achieved = self.max_tile_achieved = max(map(max, self.board))
        self._doublings = log2(target) - log2(self.init_max_tile_achieved)
        return self.opening(_rules(size, target, self.max_turns))

    def _add_tile(self) -> bool:
        """Put a tile into an empty cell; return whether an empty cell is left."""
        board = self.board
        empty = [(r, c) for r, row in enumerate(board) for c, tile in enumerate(row) if not tile]
        row, column = self.rng.choice(empty)
        tile = 2 if self.rng.random() < 0.9 else 4
        line = (*board[row][:column], tile, *board[row][column + 1 :])
        self.board = (*board[:row], line, *board[row + 1 :])
        return len(empty) > 1

    def play(self, match: re.Match[str]) -> Outcome:
        direction, turn = match[1].lower(), self.turn_count
        moved, merged = slide(self.board, direction)
        if moved == self.board:
            return f"Turn {turn}: nothing can move {direction}.", 0.0, False
        self.board = moved
        reward = self._milestone(merged)
        room = self._add_tile()
        text = f"Turn {turn}: you moved the tiles {direction}"
        if merged:
            text += f"; the largest merge made {merged}"
        if self.max_tile_achieved >= self.target_tile:
            return f"{text}. You reached {self.target_tile}. You win!", reward, True
        if not room and not legal_moves(self.board):
            return f"{text}. No tile can move any more. You lose.", reward, True
        return f"{text}.", reward, False

    def _milestone(self, merged: int) -> float:
        """Return the reward for a merge; tiles that appear, even a 4, earn nothing."""
        reached = min(merged, self.target_tile)
        if reached <= self.max_tile_achieved:
            return 0.0
        gained = log2(reached) - log2(self.max_tile_achieved)
        self.max_tile_achieved = reached
        return gained / self._doublings

    def render(self) -> str:
        return "The board:\n" + "\n".join(map(_drawn, self.board)) + "\nYour next move:"

    def sample_random_action(self) -> Action:
        return f"\\boxed{{{self.action_rng.choice(legal_moves(self.board) or _DIRECTIONS)}}}"


@functools.lru_cache
def _rules(size: int, target: int, max_turns: int) -> str:
    return _RULES.format(size=size, target=target, max_turns=max_turns)


def slide(board: Board, direction: str) -> tuple[Board, int]:
    """Return the board after a slide, and the largest merged tile (0 if none)."""
    lines = board if direction in ("left", "right") else tuple(zip(*board, strict=True))
    if direction in ("left", "up"):
        slid = [_slide_line(line) for line in lines]
        moved = tuple([line for line, _ in slid])
    else:
        slid = [_slide_line(line[::-1]) for line in lines]
        moved = tuple([line[::-1] for line, _ in slid])
    if direction in ("up", "down"):
        moved = tuple(zip(*moved, strict=True))
    return moved, max([merged for _, merged in slid])


@functools.lru_cache(maxsize=2**17)
def _slide_line(line: Line) -> tuple[Line, int]:
    """Return a line after a slide towards its start, and the largest merged tile."""
    tiles = [tile for tile in line if tile]
    slid: list[int] = []
    largest = position = 0
    while position < len(tiles):
        tile = tiles[position]
        if tiles[position + 1 : position + 2] == [tile]:
            tile *= 2
            largest = max(largest, tile)
            position += 1
        slid.append(tile)
        position += 1
    return (*slid, *[0] * (len(line) - len(slid))), largest


@functools.lru_cache(maxsize=2**16)
def _drawn(line: Line) -> str:
    return " ".join([f"{tile or '.':>4}" for tile in line])


def legal_moves(board: Board) -> list[str]:
    """Return the directions in which something can move."""
    return [direction for direction in _DIRECTIONS if slide(board, direction)[0] != board]


_CELL = r" *(?:\d+|\.)"
_BOARD = re.compile(rf"(?:^{_CELL}(?:{_CELL})+$\n?)+", re.MULTILINE)


class Game2048Oracle(BaseAgent):
    """An agent that searches two moves ahead, averaging over the new tile between them."""

    def act(self, observation: Observation, info: Info) -> Action:
        boards = _BOARD.findall(visible_text(observation, info))
        if not boards:
            raise ValueError("Game2048Oracle found no board in the observation.")
        board = tuple(
            tuple(0 if cell == "." else int(cell) for cell in line.split())
            for line in boards[-1].splitlines()
        )
        moves = {name: slide(board, name)[0] for name in legal_moves(board)}
        best = max(moves, key=lambda name: _expected(moves[name]), default="up")
        return f"\\boxed{{{best}}}"


def _expected(board: Board) -> float:
    """Return the mean rating after the best move, over the cells where a 2 may appear."""
    total, count = 0.0, 0
    for index, row in enumerate(board):
        for column, tile in enumerate(row):
            if not tile:
                line = (*row[:column], 2, *row[column + 1 :])
                total += _best_rating((*board[:index], line, *board[index + 1 :]))
                count += 1
    return total / count


def _best_rating(board: Board) -> float:
    after = [slide(board, direction)[0] for direction in _DIRECTIONS]
    return max((_rating(moved) for moved in after if moved != board), default=-1000.0)


def _rating(board: Board) -> float:
    return sum(map(_line_rating, board)) + sum(map(_line_rating, zip(*board, strict=True)))


@functools.lru_cache(maxsize=2**17)
def _line_rating(line: Line) -> float:
    """Rate a line: empty cells, few and large tiles, and tiles in order of size are good."""
    powers = [log2(tile) if tile else 0.0 for tile in line]
    falls = sum(max(0.0, a - b) * max(a, b) ** 2 for a, b in pairwise(powers))
    rises = sum(max(0.0, b - a) * max(a, b) ** 2 for a, b in pairwise(powers))
    room = line.count(0)
    tiles = [tile for tile in line if tile]
    pairs = sum(a == b for a, b in pairwise(tiles))
    return 20.0 * room + 20.0 * pairs - min(falls, rises) - 0.2 * sum(power**3 for power in powers)
