"""Minesweeper: reveal every cell without a mine; the rules are in ``gem_games.minesweeper``."""

from typing import Any

from gem.envs.game_env.adapter import GameAdapter
from gem.requirements import needs

with needs("gem-games"):
    from gem_games import minesweeper as games

__all__ = ["MinesweeperEnv"]


class MinesweeperEnv(GameAdapter, games.MinesweeperEnv):
    """Minesweeper of gem-games as gem-llm has it."""

    def __init__(
        self,
        rows: int | None = 8,
        cols: int | None = 8,
        num_mines: int | None = 10,
        max_turns: int | None = 20,
        **others: Any,
    ) -> None:
        super().__init__(
            others,
            rows=rows,
            cols=cols,
            num_mines=num_mines,
            max_turns=max_turns,
        )
