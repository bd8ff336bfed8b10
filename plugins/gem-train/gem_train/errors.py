"""Errors that end a training run early."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gem_core.errors import GemError
from gem_rollout import Trajectory

__all__ = ["DivergedError", "NoEpisodesError", "TooLargeError", "memory_limit"]


class DivergedError(GemError, ArithmeticError):
    """A loss or a gradient is not finite."""


class TooLargeError(GemError, MemoryError):
    """A batch does not fit into memory."""


class NoEpisodesError(GemError, RuntimeError):
    """Every episode of a step ended in an error.

    Args:
        message: The message.
        trajectories: The episodes.
    """

    def __init__(self, message: str, trajectories: Sequence[Trajectory] = ()) -> None:
        super().__init__(message)
        self.trajectories = list(trajectories)


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
        # torch.OutOfMemoryError is a RuntimeError, and the CPU's allocator raises a bare one.
        if isinstance(error, TooLargeError) or not _is_of_memory(error, text):
            raise
        raise TooLargeError(f"Out of memory ({text}). {advice}") from error


def _is_of_memory(error: Exception, text: str) -> bool:
    is_named = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return is_named or "can't allocate memory" in text or "out of memory" in text
