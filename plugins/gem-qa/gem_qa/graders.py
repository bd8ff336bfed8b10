"""The graders ``exact-match`` and ``f1``, for ``grader=`` and ``rewards=`` of any task."""

from gem_qa.scoring import Compare, check_compare, exact_match, f1, unformatted
from gem_tasks import Attempt, Grade

__all__ = ["F1", "ExactMatch"]


class ExactMatch:
    """1.0 for an answer that matches a gold answer, 0.0 for any other.

    Args:
        compare: How answers are compared: ``text``, ``meaning`` or ``squad``; see
            ``gem_qa.scoring``.

    Raises:
        ConfigError: There is no such way to compare.
    """

    def __init__(self, *, compare: Compare = "text") -> None:
        self._compare = check_compare(compare)

    def __call__(self, attempt: Attempt) -> bool:
        """Return whether the answer matches."""
        return exact_match(unformatted(attempt.answer or ""), attempt.golds, self._compare)


class F1:
    """The F1 score of the words, in [0, 1]; an answer is correct if it matches a gold answer.

    Args:
        compare: How answers are compared; see ``ExactMatch``.

    Raises:
        ConfigError: There is no such way to compare.
    """

    def __init__(self, *, compare: Compare = "text") -> None:
        self._compare = check_compare(compare)

    def __call__(self, attempt: Attempt) -> Grade:
        """Grade the answer."""
        answer = unformatted(attempt.answer or "")
        score = f1(answer, attempt.golds, self._compare)
        return Grade(score, exact_match(answer, attempt.golds, self._compare))
