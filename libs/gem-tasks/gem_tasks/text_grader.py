"""The grader ``text``: an answer is correct if it is the text of a gold answer."""

from gem_tasks.grader import Attempt

__all__ = ["same_text"]


def same_text(attempt: Attempt) -> bool:
    """Return whether the answer is a gold answer, regardless of case and of the spaces between."""
    answer = _plain(attempt.answer or "")
    return any(answer == _plain(gold) for gold in attempt.golds)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
