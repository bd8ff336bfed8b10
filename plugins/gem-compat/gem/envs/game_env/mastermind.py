"""Mastermind: find a secret code; the rules are in ``gem_games.mastermind``."""

from typing import Any

from gem.envs.game_env.adapter import GameAdapter
from gem.requirements import needs

with needs("gem-games"):
    from gem_games import mastermind as games

__all__ = ["MastermindEnv"]


class MastermindEnv(GameAdapter, games.MastermindEnv):
    """Mastermind of gem-games as gem-llm has it."""

    def __init__(
        self,
        code_length: int | None = 4,
        num_numbers: int | None = 6,
        duplicate_numbers: bool = False,
        max_turns: int | None = 20,
        **others: Any,
    ) -> None:
        super().__init__(
            others,
            code_length=code_length,
            num_numbers=num_numbers,
            duplicate_numbers=duplicate_numbers,
            max_turns=max_turns,
        )
