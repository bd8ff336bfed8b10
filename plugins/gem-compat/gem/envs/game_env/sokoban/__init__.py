"""Sokoban."""

from gem.envs.game_env.hooks import game_class

__all__ = ["SokobanEnv"]

SokobanEnv = game_class("sokoban")
