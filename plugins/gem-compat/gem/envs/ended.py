"""Environments of gem-core that may be stepped after the end, as loops for gem-llm do."""

import warnings
from typing import Any

from gem.core import EnvWrapper
from gem_core.env import Step
from gem_core.errors import EpisodeEndedError

__all__ = ["RepeatsItsEnd"]


class RepeatsItsEnd(EnvWrapper):
    """A wrapper that repeats the last observation after the end, with a reward of 0."""

    _last: Step | None = None
    _has_warned = False

    def reset(self, seed: int | None = None, **kwargs: Any) -> Any:
        """Start an episode."""
        self._last = None
        return super().reset(seed, **kwargs)

    def step(self, action: Any) -> Any:
        """Take one action; after the end, with a warning.

        Raises:
            EpisodeEndedError: No episode has been started.
        """
        try:
            step = super().step(action)
        except EpisodeEndedError:
            if self._last is None:
                raise
            self._warn()
            return self._last._replace(reward=0.0)
        self._last = Step(*step)
        return step

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"{type(self.unwrapped).__name__}.step: the episode has ended. The last "
                "observation is repeated; call reset() to start another one.",
                stacklevel=3,
            )
