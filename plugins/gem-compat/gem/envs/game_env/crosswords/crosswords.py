"""Crosswords: fill in crossing words from clues; the rules are in ``gem_games.crosswords``."""

from typing import Any

from gem.envs.game_env.adapter import GameAdapter
from gem.requirements import needs

with needs("gem-games"):
    from gem_games import crosswords as games

__all__ = ["CrosswordsEnv"]


class CrosswordsEnv(GameAdapter, games.CrosswordsEnv):
    """Crosswords of gem-games as gem-llm has it."""

    def __init__(
        self,
        hardcore: bool | None = False,
        max_turns: int | None = 100,
        num_words: int | None = 5,
        **others: Any,
    ) -> None:
        super().__init__(
            others,
            hardcore=hardcore,
            max_turns=max_turns,
            num_words=num_words,
        )
