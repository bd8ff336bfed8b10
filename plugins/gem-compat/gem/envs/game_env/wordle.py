"""Wordle: find a secret word from marks; the rules are in ``gem_games.wordle``."""

from typing import Any

from gem.envs.game_env.adapter import GameAdapter
from gem.requirements import needs

with needs("gem-games"):
    from gem_games import wordle as games

__all__ = ["WordleEnv"]


class WordleEnv(GameAdapter, games.WordleEnv):
    """Wordle of gem-games as gem-llm has it.

    Args:
        word_length: As in gem-games.
        only_real_words: Makes no difference, as in gem-llm: guesses may be any letters.
        max_turns: As in gem-games.
    """

    def __init__(
        self,
        word_length: int | None = 5,
        only_real_words: bool = True,
        max_turns: int | None = 20,
        **others: Any,
    ) -> None:
        super().__init__(
            others,
            word_length=word_length,
            max_turns=max_turns,
        )
