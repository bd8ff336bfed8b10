"""What turns a game of gem-games into one of gem-llm."""

import copy
import warnings
from typing import Any, Self

from gem.core import Env
from gem.requirements import needs

with needs("gem-games"):
    from gem_games.base import Game

__all__ = ["GameAdapter"]


class GameAdapter(Game, Env):
    """First base of the games: playable once constructed, both flags true at the turn limit.

    Args:
        others: What else the constructor was given. ``seed`` seeds the first episode and all that
            follow it; for anything else there is a warning.
        parameters: Those of the game.
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
                f"{type(self).__name__} takes no {', '.join(others)}: it makes no difference.",
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
        """Return a new game of the same parameters; in the same state if asked for."""
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
    """Say of a class's step that it is guarded, so that it may set both flags.

    The steps of gem-games, which it calls, do have the guard.
    """
    step = cls.__dict__.get("step")
    if step is not None:
        step.is_guarded = True
