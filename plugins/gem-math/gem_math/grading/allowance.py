"""The processor time that comparisons in workers may take."""

from typing import Literal

from gem_core.errors import ConfigError, DeadlineError, GemError

__all__ = ["Allowance", "check_deadlines"]

Decided = Literal["algebra", "deadline", "failure"]
_MODULE = "gem_math.grading.algebra"
_PATIENCE = 5.0
"""How many times its processor time a comparison may take: the machine may have other work."""


def check_deadlines(deadline: float, answer_deadline: float) -> None:
    """Raise ``ConfigError`` unless both are positive."""
    for name, value in {"deadline": deadline, "answer_deadline": answer_deadline}.items():
        if not value > 0:
            raise ConfigError(f"{name} must be a positive number of seconds; got {value!r}.")


class Allowance:
    """Processor time that is left, in seconds.

    A worker measures what a comparison takes, so that a busy machine makes no answer wrong. One
    that is not interrupted by its limit is ended after five times as much wall time, all of which
    counts.

    Args:
        seconds: What there is.
        whole: Another allowance, from which the time is taken too.
    """

    def __init__(self, seconds: float, whole: "Allowance | None" = None) -> None:
        self.left: float = seconds if whole is None else min(seconds, whole.left)
        self._whole = whole

    def compare(self, comparison: str, answer: str, gold: str) -> tuple[bool, Decided]:
        """Compare an answer with a gold answer in a worker.

        Args:
            comparison: The name of a function of ``gem_math.grading.algebra``.
            answer: The answer.
            gold: The gold answer.

        Returns:
            Whether they are equal, and what decided.
        """
        if self.left <= 0:
            return False, "deadline"
        from gem_workers import shared_pool  # noqa: PLC0415 - needed by few answers

        pool = shared_pool(preload=(_MODULE,), memory_mib=2048)
        arguments = comparison, answer, gold, self.left
        try:
            correct, decided_by, seconds = pool.call(
                f"{_MODULE}:timed", *arguments, deadline=_PATIENCE * self.left
            )
        except DeadlineError:
            correct, decided_by, seconds = False, "deadline", _PATIENCE * self.left
        except GemError:  # it has crashed, or used up the memory
            correct, decided_by, seconds = False, "failure", self.left
        self._spend(seconds)
        return correct, decided_by

    def _spend(self, seconds: float) -> None:
        self.left -= seconds
        if self._whole is not None:
            self._whole._spend(seconds)  # noqa: SLF001 - its own class
