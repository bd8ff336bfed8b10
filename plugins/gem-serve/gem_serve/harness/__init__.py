"""Agent programs that play episodes: a program on a machine, whose only network is the gateway."""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_serve.harness.player import Player
    from gem_serve.harness.recipe import HARNESSES, Recipe, find_recipe
    from gem_serve.harness.runner import play_episodes

__all__ = ["HARNESSES", "Player", "Recipe", "find_recipe", "play_episodes"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "player": ["Player"],
        "recipe": ["HARNESSES", "Recipe", "find_recipe"],
        "runner": ["play_episodes"],
    },
)
