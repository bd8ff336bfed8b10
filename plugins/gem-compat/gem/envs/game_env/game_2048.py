"""Game2048: merge tiles up to a target; the rules are in ``gem_games.game_2048``."""

from typing import Any

from gem.envs.game_env.adapter import GameAdapter
from gem.requirements import needs

with needs("gem-games"):
    from gem_games import game_2048 as games

__all__ = ["Game2048Env"]


class Game2048Env(GameAdapter, games.Game2048Env):
    """Game2048 of gem-games as gem-llm has it."""

    def __init__(
        self,
        target_tile: int | None = 2048,
        max_turns: int | None = 1000,
        board_size: int = 4,
        **others: Any,
    ) -> None:
        super().__init__(
            others,
            target_tile=target_tile,
            max_turns=max_turns,
            board_size=board_size,
        )
