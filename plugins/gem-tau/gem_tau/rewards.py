"""The parts of a reward: each is 0 or 1, and those of a task's basis are multiplied.

``db``              the final database equals that after the reference calls
``communicate``     the assistant said each required text; see ``gem_tau.mentions``
``actions``         each reference call was made
``env_assertions``  each condition on the final database holds
``nl``              a judge finds each statement about the dialogue true

Grading reads: it changes neither the database nor the dialogue, and may be repeated.
"""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gem_core.errors import ConfigError, near_names
from gem_core.maybe_async import drive
from gem_core.specs import check_kwargs
from gem_tau.canonical import same
from gem_tau.database import Database, changes_between
from gem_tau.judge import Judge, JudgeError
from gem_tau.mentions import MentionRule, unsaid
from gem_tau.task import PARTS, Call, DialogueTask, Part

__all__ = ["Evidence", "Grade", "check_basis", "grade", "grading"]


@dataclass(frozen=True)
class Evidence:
    """The end of an episode, as it is graded.

    Args:
        db: The final database.
        calls: The calls of both sides that succeeded or failed, in order.
        said: The assistant's messages to the user, in order.
        dialogue: All messages as pairs of speaker and text, for a judge.
    """

    db: Database
    calls: Sequence[Call] = ()
    said: Sequence[str] = ()
    dialogue: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Grade:
    """A reward with its parts.

    Args:
        reward: The product of the parts in the basis.
        parts: The value of each part in the basis.
        details: What is missing, by part, as JSON values for ``info``.
        spent: What a judge has used, as ``info["spent"]`` has it.
    """

    reward: float
    parts: Mapping[str, float]
    details: Mapping[str, Any] = field(default_factory=dict)
    spent: Mapping[str, float] = field(default_factory=dict)


def check_basis(basis: Sequence[str]) -> tuple[Part, ...]:
    """Return a reward basis as a tuple.

    Raises:
        ConfigError: It is empty, or a part is not known or repeated.
    """
    if isinstance(basis, str) or not basis or len(set(basis)) < len(basis):
        raise ConfigError(f"reward_basis is a list of different parts; got {basis!r}.")
    for part in basis:
        if part not in PARTS:
            raise ConfigError(
                f"reward_basis has no part {part!r}.{near_names(part, PARTS)} "
                f"There are: {', '.join(PARTS)}."
            )
    return tuple(part for part in PARTS if part in basis)


def grade(
    task: DialogueTask,
    evidence: Evidence,
    *,
    basis: Sequence[Part] | None = None,
    judge: Judge | None = None,
    mentions: MentionRule = "words",
) -> Any:
    """Grade an episode; returns a ``Grade``, or an awaitable of it if the judge is asynchronous.

    Args:
        task: The task.
        evidence: What is graded.
        basis: The parts to use; None for the task's.
        judge: Decides the part ``nl``, where the task has statements.
        mentions: How a required text is found; see ``gem_tau.mentions``.

    Raises:
        ConfigError: A judge is needed and there is none, or a condition names no method.
        JudgeError: The judge's answer cannot be used.
    """
    return drive(grading(task, evidence, basis, judge, mentions))


def grading(
    task: DialogueTask,
    evidence: Evidence,
    basis: Sequence[Part] | None,
    judge: Judge | None,
    mentions: MentionRule = "words",
) -> Generator[Any, Any, Grade]:
    """Do the work of ``grade``, as a generator for ``gem_core.maybe_async.drive``."""
    parts: dict[str, float] = {}
    details: dict[str, Any] = {}
    spent: dict[str, float] = {}
    for part in task.reward_basis if basis is None else basis:
        if part == "nl":
            missing = yield from _judged(task, evidence, judge, spent)
        elif part == "communicate":
            missing = unsaid([one.text for one in task.communicate], evidence.said, mentions)
        else:
            missing = _GRADERS[part](task, evidence)
        parts[part] = float(not missing)
        if missing:
            details[part] = missing
    return Grade(math.prod(parts.values()), parts, details, spent)


def _db(task: DialogueTask, evidence: Evidence) -> list[Any]:
    """Return the differences of the final database from the expected one."""
    expected = task.expected()
    if expected.equals(evidence.db):
        return []
    return [one.to_dict() for one in changes_between(expected, evidence.db)]


def _actions(task: DialogueTask, evidence: Evidence) -> list[Any]:
    """Return the reference calls that were not made."""
    return [
        {"name": call.name, "arguments": dict(call.arguments)}
        for call in task.actions
        if not any(_matches(call, made) for made in evidence.calls)
    ]


def _matches(reference: Call, made: Call) -> bool:
    if reference.name != made.name:
        return False
    if reference.compare is None:
        return same(dict(reference.arguments), dict(made.arguments))
    return all(
        same(reference.arguments.get(key), made.arguments.get(key)) for key in reference.compare
    )


def _env_assertions(task: DialogueTask, evidence: Evidence) -> list[Any]:
    """Return the conditions that do not hold."""
    failed = []
    for assertion in task.env_assertions:
        toolkit = task.domain.tools_of(assertion.side, evidence.db)
        method = getattr(toolkit, assertion.function, None)
        if method is None:
            raise ConfigError(
                f"Task {task.id!r} asserts {assertion.function!r}, which {task.domain.name} "
                f"does not have."
            )
        check_kwargs(method, assertion.arguments, f"the assertion {assertion.function!r}")
        if bool(method(**assertion.arguments)) is not assertion.expected:
            failed.append({"function": assertion.function, "arguments": dict(assertion.arguments)})
    return failed


_GRADERS: dict[str, Callable[[DialogueTask, Evidence], list[Any]]] = {
    "db": _db,
    "actions": _actions,
    "env_assertions": _env_assertions,
}


def _judged(
    task: DialogueTask, evidence: Evidence, judge: Judge | None, spent: dict[str, float]
) -> Generator[Any, Any, list[Any]]:
    """Return the statements that a judge finds false; without statements no judge is asked."""
    statements = task.nl_assertions
    if not statements:
        return []
    if judge is None:
        raise ConfigError(f"Task {task.id!r} has statements for a judge: pass judge=.")
    answer = yield judge(evidence.dialogue, statements)
    spent.update(getattr(answer, "spent", {}))
    verdicts = list(answer)
    if len(verdicts) != len(statements):
        raise JudgeError(
            f"The judge gave {len(verdicts)} verdicts on {len(statements)} statements."
        )
    return [text for text, verdict in zip(statements, verdicts, strict=True) if not verdict]
