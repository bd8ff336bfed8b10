"""Sudoku: complete a grid of numbers; the rules are in ``gem_games.sudoku``."""

from typing import Any

from gem.envs.game_env.adapter import GameAdapter
from gem.requirements import needs

with needs("gem-games"):
    from gem_games import sudoku as games

__all__ = ["SudokuEnv"]


class SudokuEnv(GameAdapter, games.SudokuEnv):
    """Sudoku of gem-games as gem-llm has it.

    Args:
        clues: How many cells are empty at the start, which is what gem-llm makes of it.
        max_turns: As in gem-games.
        scale: As in gem-games.
    """

    def __init__(
        self,
        clues: int | None = 30,
        max_turns: int | None = 100,
        scale: int | None = 9,
        **others: Any,
    ) -> None:
        super().__init__(
            others,
            empty_cells=clues,
            max_turns=max_turns,
            scale=scale,
        )
