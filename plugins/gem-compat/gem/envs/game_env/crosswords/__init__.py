"""Crosswords."""

from gem.envs.game_env.crosswords.crosswords import CrosswordsEnv

__all__ = ["CrosswordsEnv"]
