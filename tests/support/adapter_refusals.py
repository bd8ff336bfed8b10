"""Options and rows that every adapter refuses, with what the error says."""

from typing import Any

GAME = "game:GuessTheNumber-v0-easy"
CONFIGS: list[tuple[dict[str, Any], str]] = [
    ({"config": "tools=[python]"}, "list of strings"),
    ({"config": ["tools=[pyton]"]}, "pyton"),
]
ROWS: list[tuple[dict[str, Any], str]] = [
    ({}, "has no env and no seed"),
    ({"env": GAME}, "has no seed"),
    ({"env": GAME + "y", "seed": 1}, "Did you mean"),
    ({"env": GAME, "seed": 1, "env_kwargs": '{"max_turn": 3}'}, "max_turns"),
]
