"""The colours of boards in a terminal."""

import re

import pytest
from rich.text import Text

import gem_core
from gem_games.plugin import GAMES


def boards(game, moves=100):
    """Yield the suffixes of three episodes on every level, two random and one of the oracle."""
    for level in game.levels:
        for player, seed in (("random", 1), ("random", 2), ("oracle", 1)):
            env = gem_core.make(f"game:{game.name}{level}")
            agent = gem_core.make_agent(player)
            observation, info = env.reset(seed=seed)
            agent.reset(env)
            for _ in range(moves):
                yield info["suffix"]
                action = agent.act(observation, info)
                observation, _, terminated, truncated, info = env.step(action)
                if terminated or truncated:
                    break
            yield info["suffix"]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_every_style_matches_something_on_the_boards(game):
    unmet = set(gem_core.make(f"game:{game.name}{next(iter(game.levels))}").board_styles)
    for board in boards(game):
        unmet = {pattern for pattern in unmet if not re.search(pattern, board)}
        if not unmet:
            return
    assert not unmet


MINES = "The board:\n    0  1  2\n 0  .  1  0 \n 1  F  2  1 \n 2  8  3  . \nYour next move:"
WORDS = (
    "Grid:\n    C00 C01 C02\nR00  .   .   .\nR01  C   _   T\nR02  .   .   .\n\n"
    "Clues:\n1. Across from row 1, column 0, 3 letters: A _ pet. It purrs: 3 letters: C\n\n"
    "Your next letter:"
)
SUDOKU = (
    "Current board:\n    C1 C2   C3 C4\nR1   1  . |  3  4\nR2   3  4 |  1  2\n"
    "-----------------\nR3   2  1 |  4  3\nR4   4  3 |  2  1\n\nYour next move:"
)


@pytest.mark.parametrize(
    ("env_id", "board", "style", "coloured"),
    [
        ("game:Minesweeper-v0", MINES, "bright_blue", ["1", "1"]),
        ("game:Minesweeper-v0", MINES, "green", ["2"]),
        ("game:Minesweeper-v0", MINES, "bold red", ["F"]),
        ("game:Crosswords-v0-easy", WORDS, "bold green", ["C", "T"]),
        ("game:Crosswords-v0-easy", WORDS, "yellow", ["_"]),
        (
            "game:Crosswords-v0-easy",
            WORDS,
            "cyan",
            ["1. Across from row 1, column 0, 3 letters:"],
        ),
        ("game:Sudoku-v0-easy", SUDOKU, "bold cyan", list("134341221434321")),
    ],
)
def test_styles_distinguish_cells_from_labels_and_clues(env_id, board, style, coloured):
    text = Text(board)
    for pattern, own in gem_core.make(env_id).board_styles.items():
        text.highlight_regex(pattern, own)
    spans = [board[span.start : span.end] for span in text.spans if span.style == style]
    assert spans == coloured
