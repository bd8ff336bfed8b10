"""The methods of gem-llm's games that other people's subclasses override or call.

Each class here has the methods of one game, with gem-llm's names, parameters and results. They act
on the game of gem-games, which calls them in turn: ``_is_solved`` is asked after each move, for
example. ``sync`` computes what the game derives from attributes that may have been set.
"""

from typing import Any

from gem.envs.game_env.board_hooks import (
    FifteenPuzzleHooks,
    Game2048Hooks,
    MinesweeperHooks,
    SokobanHooks,
    SudokuHooks,
    TowerOfHanoiHooks,
)
from gem.envs.game_env.word_hooks import (
    CrosswordsHooks,
    GuessTheNumberHooks,
    HangmanHooks,
    MastermindHooks,
    WordleHooks,
    WordSearchHooks,
)

__all__ = ["HOOKS"]

HOOKS: dict[str, type[Any]] = {
    "crosswords": CrosswordsHooks,
    "fifteen_puzzle": FifteenPuzzleHooks,
    "game_2048": Game2048Hooks,
    "guess_the_number": GuessTheNumberHooks,
    "hangman": HangmanHooks,
    "mastermind": MastermindHooks,
    "minesweeper": MinesweeperHooks,
    "sokoban": SokobanHooks,
    "sudoku": SudokuHooks,
    "tower_of_hanoi": TowerOfHanoiHooks,
    "word_search": WordSearchHooks,
    "wordle": WordleHooks,
}
"""The base of each game, by its module."""
