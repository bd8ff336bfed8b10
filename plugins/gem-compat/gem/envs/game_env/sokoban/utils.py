"""Sokoban levels as arrays."""

from typing import Any

import numpy as np

from gem.envs.game_env.sokoban import SokobanEnv
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
    """Return a level that can be solved.

    Cells are 0 wall, 1 floor, 2 goal, 3 box on a goal, 4 box, 5 player.

    Args:
        dim: Rows and columns.
        p_change_directions: Ignored: gem-games makes levels in another way.
        num_steps: Ignored.
        num_boxes: Boxes.
        tries: Ignored.
        second_player: Must be False.
        seed: The same seed makes the same level.

    Returns:
        The room without boxes and player, the room at the start, and the box of each goal.

    Raises:
        ConfigError: ``second_player`` is True, or no such room is possible.
    """
    if second_player:
        raise ConfigError("second_player=True: there is no Sokoban for two players.")
    env = SokobanEnv(dim, 1000, num_boxes, seed=seed)
    return np.array(env.room_fixed), np.array(env.room_state), dict(env.box_mapping)
