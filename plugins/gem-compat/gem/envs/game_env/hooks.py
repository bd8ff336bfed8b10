"""The methods of gem-llm's games that other people's subclasses override or call.

Each class here has the methods of one game, with gem-llm's names, parameters and results. They act
on the game of gem-games, which calls them in turn: ``_is_solved`` is asked after each move, for
example. ``sync`` computes what the game derives from attributes that may have been set.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from gem.envs.game_env.adapter import GameAdapter
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
from gem.games import GAMES, Interface, home_of

__all__ = ["game_class"]

_HOOKS: dict[str, type[Any]] = {
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


@functools.cache
def game_class(name: str) -> Any:
    """Return the class of a game, a subclass of the one in ``gem_games``.

    Args:
        name: Its module, such as ``wordle``; see ``gem.games.GAMES``.
    """
    game = GAMES[name]
    members = {
        "__module__": home_of(name),
        "__qualname__": game.cls,
        "__doc__": f"``gem_games.{name}.{game.cls}`` with the interface of gem-llm.",
        "__init__": _constructor(game),
        "interface": game,
    }
    cls = type(game.cls, (_HOOKS[name],), members)
    cls.original = cls  # type: ignore[attr-defined]
    return cls


def _constructor(game: Interface) -> Callable[..., None]:
    """Return a constructor with gem-llm's parameters, by position or by name."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    given = [inspect.Parameter(key, kind, default=value) for key, value in game.parameters.items()]
    self_ = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    others = inspect.Parameter("others", inspect.Parameter.VAR_KEYWORD)
    signature = inspect.Signature([self_, *given, others])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes one
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        parameters = {key: bound.arguments[key] for key in game.parameters}
        GameAdapter.__init__(self, bound.arguments["others"], parameters)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__
