"""What an info says about the grade of a step, and of all steps of an episode."""

from gem_core import Info
from gem_core.info import Grading, graded
from gem_terminal.progress import Progress
from gem_terminal.verify import Grade

__all__ = ["note_grade", "note_steps", "note_unpaid"]

_EXPECTED = "the tests of the task pass"
_LISTED = 100
"""The number of paths in ``info["left_behind"]``."""
_LAST_LINES = 3
"""The lines of the tests' output that say why a task failed."""


def note_grade(info: Info, question: str, grade: Grade) -> None:
    """Note the grade of a step in an info."""
    info["grading"] = _grading(question, grade.reward, *_shown(grade))
    info["verifier_output"] = grade.output
    info["seconds"] = {"verify": grade.seconds}
    if grade.rewards:
        info["rewards"] = dict(grade.rewards)
    if grade.changes:
        info["changed_files"] = dict(grade.changes)
    if grade.left:
        info["left_behind"] = list(grade.left[:_LISTED])
    if grade.ended_by:
        info["ended_by"] = grade.ended_by
    info |= grade.details


def note_unpaid(info: Info, question: str, reason: str) -> None:
    """Note in an info why a step was paid 0 without being graded."""
    info["grading"] = _grading(question, 0.0, None, reason)


def note_steps(info: Info, progress: Progress) -> None:
    """Note at the end of an episode what its steps were paid; nothing for a task without steps."""
    if not progress.task.steps:
        return
    info |= progress.to_info()
    info["rewards"] = progress.rewards
    paid = ", ".join(f"{name} {reward:.3g}" for name, reward in progress.paid.items())
    last = info["grading"]["reason"]
    unplayed = len(progress.task.steps) - len(progress.grades)
    reason = f"{last}; {unplayed} steps were not reached" if unplayed else last
    question = progress.step.task.instruction.strip()
    info["grading"] = _grading(question, progress.reward, f"the steps give {paid}", reason)


def _grading(question: str, reward: float, extracted: str | None, reason: str) -> Grading:
    return graded(
        question=question, expected=_EXPECTED, extracted=extracted, score=reward, reason=reason
    )


def _shown(grade: Grade) -> tuple[str, str]:
    """Return what the tests gave, and which of them failed or else what they printed last."""
    passed = f"{sum(grade.tests.values())} of {len(grade.tests)} tests pass"
    found = passed if grade.tests else f"the tests give {grade.reward:.3g}"
    if grade.ended_by or grade.reward >= 1:
        return found, grade.ended_by or "all tests pass"
    failed = [name for name, is_passed in grade.tests.items() if not is_passed]
    parts = [f"{name} {value:.3g}" for name, value in grade.rewards.items() if value < 1]
    reason = f"failed: {', '.join(failed or parts)}" if failed or parts else ""
    last = "\n".join(grade.output.strip().splitlines()[-_LAST_LINES:])
    return found, reason or last or "the tests printed nothing"
