"""Sokoban: push every box onto a goal; the rules are in ``gem_games.sokoban``."""

from collections.abc import Sequence
from typing import Any

from gem.envs.game_env.adapter import GameAdapter
from gem.requirements import needs

with needs("gem-games"):
    from gem_games import sokoban as games

__all__ = ["SokobanEnv"]


class SokobanEnv(GameAdapter, games.SokobanEnv):
    """Sokoban of gem-games as gem-llm has it."""

    def __init__(
        self,
        dim_room: Sequence[int] | None = (6, 6),
        max_turns: int | None = 100,
        num_boxes: int | None = 3,
        **others: Any,
    ) -> None:
        super().__init__(
            others,
            dim_room=dim_room,
            max_turns=max_turns,
            num_boxes=num_boxes,
        )
