"""Errors that end a training run early."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gem_core.errors import GemError
from gem_rollout import Trajectory
from gem_rollout.models.memory import is_out_of_memory

__all__ = [
    "DivergedError",
    "FailedEpisodesError",
    "FilteredOutError",
    "NoEpisodesError",
    "SamplerGapError",
    "TooLargeError",
    "TooManyErrorsError",
    "memory_limit",
]


class DivergedError(GemError, ArithmeticError):
    """A loss or a gradient is not finite."""


class SamplerGapError(GemError, ArithmeticError):
    """The sampler's probabilities are not those of the policy that learns."""


class TooLargeError(GemError, MemoryError):
    """A batch does not fit into memory."""


class FailedEpisodesError(GemError, RuntimeError):
    """Too many episodes of a step ended in an error.

    Args:
        message: The message.
        trajectories: The episodes.
    """

    def __init__(self, message: str, trajectories: Sequence[Trajectory] = ()) -> None:
        super().__init__(message)
        self.trajectories = list(trajectories)


class NoEpisodesError(FailedEpisodesError):
    """Every episode of a step ended in an error."""


class TooManyErrorsError(FailedEpisodesError):
    """A larger share of a step's episodes ended in an error than ``rollout.max_error_share``."""


class FilteredOutError(GemError, RuntimeError):
    """The episode filters keep too little of a step to learn from."""


@contextmanager
def memory_limit(advice: str) -> Iterator[None]:
    """Convert torch's out-of-memory errors to ``TooLargeError``.

    Args:
        advice: What to change; the end of the message.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        if isinstance(error, TooLargeError) or not is_out_of_memory(error):
            raise
        raise TooLargeError(f"Out of memory ({text}). {advice}") from error
