"""Sokoban."""

from gem.envs.game_env.sokoban.sokoban import SokobanEnv

__all__ = ["SokobanEnv"]
