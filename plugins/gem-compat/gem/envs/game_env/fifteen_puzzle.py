"""FifteenPuzzle: slide tiles into order; the rules are in ``gem_games.fifteen_puzzle``."""

from typing import Any

from gem.envs.game_env.adapter import GameAdapter
from gem.requirements import needs

with needs("gem-games"):
    from gem_games import fifteen_puzzle as games

__all__ = ["FifteenPuzzleEnv"]


class FifteenPuzzleEnv(GameAdapter, games.FifteenPuzzleEnv):
    """FifteenPuzzle of gem-games as gem-llm has it."""

    def __init__(
        self,
        max_turns: int | None = 20,
        num_rows: int | None = 2,
        init_algo: Any = "monte_carlo",
        mc_rand_moves: int = 100,
        **others: Any,
    ) -> None:
        super().__init__(
            others,
            max_turns=max_turns,
            num_rows=num_rows,
            init_algo=init_algo,
            mc_rand_moves=mc_rand_moves,
        )
