"""The graders ``exact-match`` and ``f1``, for ``grader=`` and ``rewards=`` of any task."""

from gem_qa.scoring import exact_match, f1, unformatted
from gem_tasks import Attempt, Grade

__all__ = ["exact_match_grade", "f1_grade"]


def exact_match_grade(attempt: Attempt) -> bool:
    """Return whether the answer matches a gold answer; see ``gem_qa.scoring``."""
    return exact_match(unformatted(attempt.answer or ""), attempt.golds)


def f1_grade(attempt: Attempt) -> Grade:
    """Return the F1 score, in [0, 1]; an answer is correct if it matches a gold answer exactly."""
    answer = unformatted(attempt.answer or "")
    return Grade(f1(answer, attempt.golds), exact_match(answer, attempt.golds))
