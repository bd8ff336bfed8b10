"""Makes a game of gem-llm from one of gem-games: its class, constructor, resets and flags."""

import copy
import functools
import importlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any, Self

from gem import modules
from gem.core import Env
from gem.requirements import needs

with needs("gem-games"):
    from gem_games.base import Game

__all__ = ["GameAdapter", "game_class"]


class GameAdapter(Game, Env):
    """First base of the games: playable once constructed, both flags true at the turn limit.

    Args:
        others: Further arguments that the constructor was given. ``seed`` seeds the first episode
            and all that follow it; any other causes a warning.
        parameters: Parameters of the game.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        _unguard(cls)
        super().__init_subclass__(**kwargs)

    def __init__(self, others: dict[str, Any], **parameters: Any) -> None:
        game: Any = super()
        game.__init__(**parameters)
        seed = others.pop("seed", None)
        if others:
            warnings.warn(
                f"{type(self).__name__} takes no {', '.join(others)}: it is ignored.",
                stacklevel=3,
            )
        if seed is not None:
            self.seed(seed)
        self.reset()

    def reset(self, seed: int | None = None, **options: Any) -> Any:  # gem-llm's order
        """Start an episode; the same seed starts the same one."""
        return super().reset(seed=seed, **options)

    def step(self, action: Any) -> Any:
        """Take one action.

        Raises:
            EpisodeEndedError: The episode is over.
        """
        step = super().step(action)
        if step.truncated:
            return step._replace(terminated=True)
        if step.terminated and "format_error" in step.info:
            return step._replace(truncated=self.turn_count == self.max_turns)
        return step

    step.is_guarded = True  # type: ignore[attr-defined]  # see _unguard

    def spawn(self, same_state: bool = False, *, seed: int | None = None) -> Self:  # type: ignore[override]
        """Return a new game with the same parameters, and with the same state if asked for."""
        twin = super().spawn(seed=seed, same_state=same_state)
        if not same_state:
            twin.reset()
        return twin

    def get_state(self) -> dict[str, Any]:
        """Return a copy of all attributes that make up the state."""
        return copy.deepcopy(super().get_state())

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state from ``get_state``."""
        super().set_state(copy.deepcopy(state))


def _unguard(cls: type) -> None:
    """Mark a class's step as guarded, so that it may set both flags.

    The steps of gem-games, which it calls, do have the guard.
    """
    step = cls.__dict__.get("step")
    if step is not None:
        step.is_guarded = True


@functools.cache
def game_class(name: str) -> Any:
    """Return the class of a game, a subclass of the one in ``gem_games``.

    Args:
        name: Its module, such as ``wordle``; see ``gem.modules.GAMES``.
    """
    game = modules.GAMES[name]
    base = getattr(importlib.import_module(f"gem_games.{name}"), game.cls)
    members = {
        "__module__": modules.home_of(name),
        "__qualname__": game.cls,
        "__doc__": f"``gem_games.{name}.{game.cls}`` with the interface of gem-llm.",
        "__init__": _constructor(game),
    }
    return type(game.cls, (GameAdapter, base), members)


def _constructor(game: modules.Game) -> Callable[..., None]:
    """Return a constructor with gem-llm's parameters, by position or by name."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    given = [inspect.Parameter(key, kind, default=value) for key, value in game.parameters.items()]
    self_ = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    others = inspect.Parameter("others", inspect.Parameter.VAR_KEYWORD)
    signature = inspect.Signature([self_, *given, others])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes one
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        names = {key: game.renamed.get(key, key) for key in game.parameters}
        parameters = {theirs: bound.arguments[key] for key, theirs in names.items() if theirs}
        GameAdapter.__init__(self, bound.arguments["others"], **parameters)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__
