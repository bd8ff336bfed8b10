"""The graders ``math`` and ``math-verify``, for ``grader=`` and ``rewards=`` of any task."""

from gem_math.grading import grade
from gem_math.grading.allowance import Allowance, check_deadlines
from gem_math.grading.grader import reason_of
from gem_tasks import Attempt, Grade

__all__ = ["MathGrader", "MathVerify"]


class MathGrader:
    """The grader of ``gem_math.grading``.

    Args:
        deadline: The processor time in seconds for computer algebra, for each gold answer.
        answer_deadline: The same for all gold answers together.

    Raises:
        ConfigError: A deadline is not positive.
    """

    blocking = True
    """A call may wait for a worker."""

    def __init__(self, *, deadline: float = 1.0, answer_deadline: float = 5.0) -> None:
        check_deadlines(deadline, answer_deadline)
        self._deadlines = {"deadline": deadline, "answer_deadline": answer_deadline}

    def __call__(self, attempt: Attempt) -> Grade:
        """Grade the answer."""
        verdict = grade(attempt.answer or "", attempt.golds, **self._deadlines)
        info = {"decided_by": verdict.decided_by}
        return Grade(float(verdict.correct), verdict.correct, info, verdict.reason)


class MathVerify:
    """math-verify (Kydlíček 2025) alone, in a worker, with its default settings.

    Its own time limits use signals, which only the main thread may set, so those of the worker
    take their place. ``info["decided_by"]`` is ``math-verify``, or ``deadline`` or ``failure`` if
    the worker took too long or could not decide: the answer then counts as wrong.

    Args:
        deadline: The processor time in seconds for each gold answer.
        answer_deadline: The same for all gold answers together.

    Raises:
        ConfigError: A deadline is not positive.
    """

    blocking = True
    """A call may wait for a worker."""

    def __init__(self, *, deadline: float = 3.0, answer_deadline: float = 10.0) -> None:
        check_deadlines(deadline, answer_deadline)
        self._deadlines = deadline, answer_deadline

    def __call__(self, attempt: Attempt) -> Grade:
        """Grade the answer."""
        deadline, answer_deadline = self._deadlines
        whole, correct, decided_by = Allowance(answer_deadline), False, "algebra"
        for gold in attempt.golds:
            time = Allowance(deadline, whole)
            correct, decided_by = time.compare("verified", attempt.answer or "", gold)
            if correct:
                break
        shown = "math-verify" if decided_by == "algebra" else decided_by
        return Grade(float(correct), correct, {"decided_by": shown}, reason_of(shown))
