"""WordSearch: find words in a grid of letters; the rules are in ``gem_games.word_search``."""

from typing import Any

from gem.envs.game_env.adapter import GameAdapter
from gem.requirements import needs

with needs("gem-games"):
    from gem_games import word_search as games

__all__ = ["WordSearchEnv"]


class WordSearchEnv(GameAdapter, games.WordSearchEnv):
    """WordSearch of gem-games as gem-llm has it."""

    def __init__(
        self,
        hardcore: bool | None = False,
        max_turns: int | None = 20,
        num_words: int | None = 5,
        **others: Any,
    ) -> None:
        super().__init__(
            others,
            hardcore=hardcore,
            max_turns=max_turns,
            num_words=num_words,
        )
