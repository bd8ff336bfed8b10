"""Sokoban levels as arrays."""

from typing import Any

import numpy as np

from gem.envs.game_env.sokoban.sokoban import SokobanEnv
from gem_core.errors import ConfigError

__all__ = ["generate_room"]


def generate_room(
    dim: tuple[int, int] = (13, 13),
    p_change_directions: float = 0.35,
    num_steps: int = 25,
    num_boxes: int = 3,
    tries: int = 1000,
    second_player: bool = False,
    seed: int | None = None,
) -> tuple[Any, Any, dict[tuple[int, int], tuple[int, int]]]:
    """Make a level that can be solved.

    Cells are 0 wall, 1 floor, 2 goal, 3 box on a goal, 4 box, 5 player.

    Args:
        dim: Rows and columns.
        p_change_directions: Makes no difference: levels of gem-games are made in another way.
        num_steps: Likewise.
        num_boxes: Boxes.
        tries: Makes no difference either.
        second_player: False; there is no second player.
        seed: The same seed makes the same level.

    Returns:
        The room without what moves, the room as it starts, and the box of each goal.

    Raises:
        ConfigError: A second player, or a room that cannot be.
    """
    if second_player:
        raise ConfigError("second_player=True: there is no Sokoban for two players.")
    env = SokobanEnv(dim, 1000, num_boxes, seed=seed)
    return np.array(env.room_fixed), np.array(env.room_state), dict(env.box_mapping)
