"""WikiGame."""

from gem.envs.game_env.wikigame.wikigame import WikiGameEnv

__all__ = ["WikiGameEnv"]
