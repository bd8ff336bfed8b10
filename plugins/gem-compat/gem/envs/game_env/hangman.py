"""Hangman: find a secret word letter by letter; the rules are in ``gem_games.hangman``."""

from typing import Any

from gem.envs.game_env.adapter import GameAdapter
from gem.requirements import needs

with needs("gem-games"):
    from gem_games import hangman as games

__all__ = ["HangmanEnv"]


class HangmanEnv(GameAdapter, games.HangmanEnv):
    """Hangman of gem-games as gem-llm has it."""

    def __init__(
        self,
        word_length: int | None = 5,
        hardcore: bool = False,
        max_turns: int | None = 20,
        **others: Any,
    ) -> None:
        super().__init__(
            others,
            word_length=word_length,
            hardcore=hardcore,
            max_turns=max_turns,
        )
