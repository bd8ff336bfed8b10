"""The graders ``math`` and ``math-verify``, for ``grader=`` and ``rewards=`` of any task."""

from gem_core.errors import ConfigError, DeadlineError, GemError
from gem_math.grading import grade
from gem_tasks import Attempt, Grade

__all__ = ["MathGrader", "MathVerify"]


class MathGrader:
    """The grader of ``gem_math.grading``.

    Args:
        deadline: The time in seconds for computer algebra, for each gold answer.

    Raises:
        ConfigError: The deadline is not positive.
    """

    blocking = True
    """A call may wait for a worker, up to the deadline."""

    def __init__(self, *, deadline: float = 1.0) -> None:
        self._deadline = _checked(deadline)

    def __call__(self, attempt: Attempt) -> Grade:
        """Grade the answer."""
        verdict = grade(attempt.answer or "", attempt.golds, deadline=self._deadline)
        return Grade(float(verdict.correct), verdict.correct, {"decided_by": verdict.decided_by})


class MathVerify:
    """math-verify (Kydlíček 2025) alone, in a worker, with its default settings.

    Its own time limits use signals, which only the main thread may set, so the deadline of the
    worker takes their place. ``info["decided_by"]`` is ``math-verify``, or ``deadline`` or
    ``failure`` if the worker took too long or could not decide: the answer then counts as wrong.

    Args:
        deadline: The time in seconds for each gold answer.

    Raises:
        ConfigError: The deadline is not positive.
    """

    blocking = True
    """A call may wait for a worker, up to the deadline."""

    def __init__(self, *, deadline: float = 3.0) -> None:
        self._deadline = _checked(deadline)

    def __call__(self, attempt: Attempt) -> Grade:
        """Grade the answer."""
        correct, decided_by = False, "math-verify"
        for gold in attempt.golds:
            correct, decided_by = self._compared(attempt.answer or "", gold)
            if correct:
                break
        return Grade(float(correct), correct, {"decided_by": decided_by})

    def _compared(self, answer: str, gold: str) -> tuple[bool, str]:
        from gem_workers import shared_pool  # noqa: PLC0415 - starts with the first answer

        module = "gem_math.grading.algebra"
        try:
            pool = shared_pool(preload=(module,), memory_mib=2048)
            correct = pool.call(f"{module}:verified", answer, gold, deadline=self._deadline)
        except DeadlineError:
            return False, "deadline"
        except GemError:
            return False, "failure"
        return bool(correct), "math-verify"


def _checked(deadline: float) -> float:
    if not deadline > 0:
        raise ConfigError(f"deadline must be a positive number of seconds; got {deadline!r}.")
    return deadline
