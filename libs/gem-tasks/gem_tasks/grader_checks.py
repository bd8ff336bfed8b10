"""The contract of graders: a finite grade for any text, the same each time."""

from typing import Any

from gem_core.maybe_async import drive, is_awaitable
from gem_core.testing.report import Finding, Report
from gem_tasks.grader import Attempt, Grade, Grader, grading, make_grader

__all__ = ["ODD_TEXTS", "check_grader"]

ODD_TEXTS = (
    "",
    "42",
    " \n\t",
    "a" * 10_000,
    "\0",
    "\ud800",
    "{" * 200,
    r"\boxed{\frac{1}{2}}",
    "数",
)
"""Responses that a grader must be able to grade."""


def check_grader(grader_id: str) -> Report:
    """Check that a grader grades any text, the same text always alike.

    Args:
        grader_id: The id of a grader that needs no parameters.
    """
    report = Report(grader_id)
    grader = make_grader(grader_id)
    for text in ODD_TEXTS:
        for answer in (text, None):
            try:
                _check(grader, text, answer, report)
            except Exception as error:  # noqa: BLE001 - a grader may raise anything
                message = f"it raises {type(error).__name__} for {text!r:.40}: {error}"
                report.findings.append(Finding("answers", message))
    return report


def _check(grader: Grader, text: str, answer: str | None, report: Report) -> None:
    own = Grade(0.0, correct=False)
    attempt = Attempt("What is it?", text, answer, ("42", "a word"), {}, own)
    first: Any = drive(grading(grader, attempt, report.subject))
    if is_awaitable(first):
        if hasattr(first, "close"):
            first.close()
        report.unchecked.append("its grades, as it is asynchronous")
        return
    again: Any = drive(grading(grader, attempt, report.subject))
    if (again.reward, again.correct) != (first.reward, first.correct):
        report.findings.append(Finding("same grades", f"two grades of {text!r:.40} differ"))
