"""The games of gem-llm: their classes, and the parameters of their constructors."""

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["GAMES", "GAME_ENV", "Interface", "home_of"]

GAME_ENV = "gem.envs.game_env"
_GAME_PACKAGES = ("crosswords", "sokoban")
"""Games that gem-llm has as packages, with the class in a module of the same name."""


class Interface(NamedTuple):
    """The interface of a game in gem-llm.

    Args:
        cls: Name of its class, here and in ``gem_games``.
        parameters: Parameters of its constructor with their defaults, in order.
        renamed: Parameters that have another name in ``gem_games``; None drops the parameter.
        first: The parameter that limits the others.
    """

    cls: str
    parameters: Mapping[str, Any]
    renamed: Mapping[str, str | None] = {}
    first: str = ""


GAMES = {
    "crosswords": Interface("CrosswordsEnv", {"hardcore": False, "max_turns": 100, "num_words": 5}),
    "fifteen_puzzle": Interface(
        "FifteenPuzzleEnv",
        {"max_turns": 20, "num_rows": 2, "init_algo": "monte_carlo", "mc_rand_moves": 100},
    ),
    "game_2048": Interface(
        "Game2048Env", {"target_tile": 2048, "max_turns": 1000, "board_size": 4}
    ),
    "guess_the_number": Interface(
        "GuessTheNumberEnv", {"min_number": 1, "max_number": 20, "max_turns": 20}
    ),
    "hangman": Interface("HangmanEnv", {"word_length": 5, "hardcore": False, "max_turns": 20}),
    "mastermind": Interface(
        "MastermindEnv",
        {"code_length": 4, "num_numbers": 6, "duplicate_numbers": False, "max_turns": 20},
    ),
    "minesweeper": Interface(
        "MinesweeperEnv", {"rows": 8, "cols": 8, "num_mines": 10, "max_turns": 20}
    ),
    "sokoban": Interface("SokobanEnv", {"dim_room": (6, 6), "max_turns": 100, "num_boxes": 3}),
    # gem-llm's clues are the number of empty cells at the start.
    "sudoku": Interface(
        "SudokuEnv", {"clues": 30, "max_turns": 100, "scale": 9}, {"clues": "empty_cells"}, "scale"
    ),
    "tower_of_hanoi": Interface("TowerofHanoiEnv", {"num_disks": 3, "max_turns": 100}),
    "word_search": Interface("WordSearchEnv", {"hardcore": False, "max_turns": 20, "num_words": 5}),
    # In gem-llm, only_real_words has no effect: guesses may be any letters.
    "wordle": Interface(
        "WordleEnv",
        {"word_length": 5, "only_real_words": True, "max_turns": 20},
        {"only_real_words": None},
    ),
}
"""The games by module name."""


def home_of(game: str) -> str:
    """Return the module in which gem-llm defines the class of a game."""
    return f"{GAME_ENV}.{game}.{game}" if game in _GAME_PACKAGES else f"{GAME_ENV}.{game}"
