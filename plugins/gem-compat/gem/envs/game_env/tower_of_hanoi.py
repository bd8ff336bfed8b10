"""TowerofHanoi: move a tower of disks; the rules are in ``gem_games.tower_of_hanoi``."""

from typing import Any

from gem.envs.game_env.adapter import GameAdapter
from gem.requirements import needs

with needs("gem-games"):
    from gem_games import tower_of_hanoi as games

__all__ = ["TowerofHanoiEnv"]


class TowerofHanoiEnv(GameAdapter, games.TowerofHanoiEnv):
    """TowerofHanoi of gem-games as gem-llm has it."""

    def __init__(
        self,
        num_disks: int | None = 3,
        max_turns: int | None = 100,
        **others: Any,
    ) -> None:
        super().__init__(
            others,
            num_disks=num_disks,
            max_turns=max_turns,
        )
