"""GuessTheNumber: find a secret number; the rules are in ``gem_games.guess_the_number``."""

from typing import Any

from gem.envs.game_env.adapter import GameAdapter
from gem.requirements import needs

with needs("gem-games"):
    from gem_games import guess_the_number as games

__all__ = ["GuessTheNumberEnv"]


class GuessTheNumberEnv(GameAdapter, games.GuessTheNumberEnv):
    """GuessTheNumber of gem-games as gem-llm has it."""

    def __init__(
        self,
        min_number: int | None = 1,
        max_number: int | None = 20,
        max_turns: int | None = 20,
        **others: Any,
    ) -> None:
        super().__init__(
            others,
            min_number=min_number,
            max_number=max_number,
            max_turns=max_turns,
        )
