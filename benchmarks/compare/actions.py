"""Well-formed actions for each game, from one seeded stream, the same on both sides."""

import random
import re
import string
from collections.abc import Callable

__all__ = ["NoActionsError", "make_actions"]


class NoActionsError(KeyError):
    """This game has no writer of actions."""


def _numbers(*ranges: tuple[int, int]) -> Callable[[random.Random], str]:
    return lambda rng: " ".join(str(rng.randint(low, high)) for low, high in ranges)


def _distinct(count: int, highest: int) -> Callable[[random.Random], str]:
    return lambda rng: " ".join(map(str, rng.sample(range(1, highest + 1), count)))


def _letters(count: int) -> Callable[[random.Random], str]:
    return lambda rng: "".join(rng.choices(string.ascii_lowercase, k=count))


def _reveal(size: int) -> Callable[[random.Random], str]:
    return lambda rng: f"reveal {rng.randrange(size)} {rng.randrange(size)}"


def _direction(rng: random.Random) -> str:
    return rng.choice(["up", "down", "left", "right"])


def _pegs(rng: random.Random) -> str:
    return " ".join(rng.sample("ABC", 2))


def _cell_and_letter(rng: random.Random) -> str:
    return f"{rng.randrange(14)} {rng.randrange(14)} {rng.choice(string.ascii_lowercase)}"


def _line(rng: random.Random) -> str:
    row, column = rng.randrange(14), rng.randrange(6)
    return f"{row} {column} {row} {column + rng.randint(2, 8)}"


_ACTIONS: dict[str, dict[str, Callable[[random.Random], str]]] = {
    "GuessTheNumber": {"easy": _numbers((1, 10)), "": _numbers((1, 50))},
    "Mastermind": {"easy": _distinct(2, 6), "hard": _distinct(4, 8), "": _distinct(4, 6)},
    "Minesweeper": {"easy": _reveal(5), "hard": _reveal(8), "": _reveal(5)},
    "Wordle": {"easy": _letters(3), "hard": _letters(5), "": _letters(4)},
    "FifteenPuzzle": {"": _direction},
    "Hangman": {"": _letters(1)},
    "Sudoku": {
        "easy": _numbers((1, 4), (1, 4), (1, 4)),
        "": _numbers((1, 9), (1, 9), (1, 9)),
    },
    "TowerofHanoi": {"": _pegs},
    "Game2048": {"": _direction},
    "Sokoban": {"": _direction},
    "Crosswords": {"": _cell_and_letter},
    "WordSearch": {"": _line},
}
"""Writers of the text in the box, by game and level; the level "" means all others."""


def make_actions(env_id: str, *, count: int, seed: int = 0) -> list[str]:
    r"""Return ``count`` actions such as ``\boxed{up}``.

    Raises:
        NoActionsError: There is no entry for the game.
    """
    parts = re.fullmatch(r"game:(\w+)-v\d+-?(.*)", env_id)
    levels = _ACTIONS.get(parts[1]) if parts else None
    if parts is None or levels is None:
        raise NoActionsError(f"no actions are known for {env_id}: add it to actions.py")
    write, rng = levels.get(parts[2], levels[""]), random.Random(seed)
    return [f"\\boxed{{{write(rng)}}}" for _ in range(count)]
