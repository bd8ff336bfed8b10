"""Graders decide how good an answer is.

A grader is called with an ``Attempt`` and returns a number, a truth value, a ``Grade``, or an
awaitable of one of these. So a function is a grader. ``make_grader`` finds one by its id, by its
place (``module:NAME``) or from a mapping with parameters.
"""

import contextlib
import functools
import inspect
import math
import numbers
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gem_core.errors import ConfigError, GemError
from gem_core.observation import Observation
from gem_core.resolve import configured, resolve
from gem_core.specs import Kind, Spec, check_kwargs

__all__ = [
    "Attempt",
    "Grade",
    "Grader",
    "GraderError",
    "GraderPart",
    "GraderSpec",
    "Spent",
    "close_grader",
    "counting_spent",
    "grading",
    "is_blocking",
    "make_grader",
    "named",
    "sum_spent",
]


class GraderError(GemError, RuntimeError):
    """A grader gave no usable grade; this is a fault of the grader, never a reward."""


@dataclass(frozen=True, slots=True)
class Grade:
    """The result of grading an answer.

    Attributes:
        reward: The reward of the step.
        correct: Whether the answer counts as correct.
        info: Further entries for the info of the step.
        reason: What decided, in words, for ``info["grading"]``.
        expected: What was expected there, if that is not a gold answer.
        extracted: What was compared with it, if that is not the answer.
    """

    reward: float
    correct: bool
    info: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    expected: str | None = None
    extracted: str | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """An answer to be graded, with all that is known about it.

    Attributes:
        question: The question that was shown.
        response: What the agent wrote.
        answer: The part of the response that counts, such as the content of a box; None if the
            response has no such part.
        golds: The correct answers of the row; empty if it has none.
        row: The row of the dataset.
        grade: The environment's own grade, for the parts of ``rewards``; None for its ``grader``.
    """

    question: Observation
    response: str
    answer: str | None
    golds: tuple[str, ...] = ()
    row: Mapping[str, Any] = field(default_factory=dict)
    grade: Grade | None = None


class Grader(Protocol):
    """Grades an attempt.

    It keeps no state between calls: the copies of an environment share it. It may have a method
    ``close``, which releases what it holds and may be called twice, and an attribute ``blocking``,
    true if a call waits (for a process, a network) without being awaited, and so should run in a
    thread.
    """

    def __call__(self, attempt: Attempt, /) -> Any:
        """Return the grade.

        Returns:
            A ``Grade``; a truth value, which is worth 1.0 or 0.0; or a number, which is correct
            from 1.0 on. Or an awaitable of one of these.
        """


GRADERS: "Kind[GraderSpec]" = Kind(
    id="graders",
    name="grader",
    description="graders of answers, and parts of rewards",
    by_entry_point=True,
    check="gem_tasks.grader_checks:check_grader",
    spec="gem_tasks.grader:GraderSpec",
)


@dataclass(frozen=True, kw_only=True)
class GraderSpec(Spec):
    """A grader; its entry point is a class of graders, or a function that is one.

    The parameters are those of the class, or those of the function after the attempt.
    """

    kind: Kind[Any] = field(default=GRADERS, init=False, repr=False)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters and their values; ``inspect.Parameter.empty`` for a required one.

        Raises:
            EntryPointError: The entry point cannot be loaded.
        """
        found = super().parameters()
        if not isinstance(self.load(), type):
            del found[next(iter(found))]  # the attempt
        return found

    def make(self, *given: Any, **kwargs: Any) -> Grader:
        """Make the grader.

        Raises:
            ConfigError: A parameter is missing.
            EntryPointError: The entry point cannot be loaded.
            UnknownKwargError: A parameter that it does not take.
        """
        target: Any = self.load()
        arguments = {**self.kwargs, **kwargs}
        check_kwargs(target, arguments, f"{self.kind} {self.id!r}")
        is_class = isinstance(target, type)
        try:
            inspect.signature(target).bind(*([] if is_class else [None]), **arguments)
        except TypeError as error:
            raise ConfigError(f"The {self.kind} {self.id!r} cannot be made: {error}.") from None
        if is_class:
            made: Grader = target(**arguments)
            return made
        return functools.partial(target, **arguments) if arguments else target


GraderPart = str | Mapping[str, Any] | GraderSpec | Grader
"""A grader: an id, ``module:NAME``, a mapping with an ``id`` and parameters, or the grader."""


def make_grader(grader: GraderPart) -> Grader:
    """Return a grader.

    Args:
        grader: The id of a registered grader; ``module:NAME`` for a class or function anywhere; a
            mapping with either, or with a function, as its ``id``, and parameters; a spec; or a
            grader, such as a function.

    Raises:
        ConfigError: It is none of these, or a parameter is missing.
        UnknownIdError: There is no such grader; near names are suggested.
        UnknownKwargError: A parameter that it does not take.
        EntryPointError: ``module:NAME`` does not exist.
    """
    kwargs = dict(grader) if isinstance(grader, Mapping) else {"id": grader}
    part = kwargs.pop("id", None)
    if isinstance(part, str | GraderSpec):
        return configured(resolve(GRADERS, part), kwargs).make()
    if not callable(part):
        raise ConfigError(
            f"A grader is an id, 'module:NAME', a mapping with an 'id', or a function; "
            f"got {grader!r}."
        )
    return GraderSpec(id="function", entry_point=part, kwargs=kwargs).make()


def grading(grader: Grader, attempt: Attempt, name: str) -> Generator[Any, Any, Grade]:
    """Grade an attempt, as a generator for ``gem_core.maybe_async.drive``.

    Args:
        grader: The grader.
        attempt: The attempt.
        name: The name of the grader in messages.

    Raises:
        GraderError: It returns something else than a grade.
    """
    value = yield grader(attempt)
    found = value if isinstance(value, Grade) else _grade_of(value)
    if found is None or not math.isfinite(found.reward):
        raise GraderError(
            f"The grader {name!r} must return a finite number, a truth value or a Grade; "
            f"got {value!r:.200}."
        )
    return found


def _grade_of(value: Any) -> Grade | None:
    if not isinstance(value, numbers.Real) and type(value).__name__ not in {"bool", "bool_"}:
        return None  # the other names are NumPy's
    number = float(value)
    return Grade(number, number >= 1.0)


Spent = dict[str, float]
"""The use of models by a grader: ``prompt_tokens``, ``completion_tokens`` and ``cost``."""


def sum_spent(*infos: Mapping[str, Any]) -> Spent:
    """Return the sum of the ``spent`` of some infos."""
    total: Spent = {}
    for info in infos:
        for name, value in info.get("spent", {}).items():
            total[name] = total.get(name, 0) + value
    return total


@contextlib.contextmanager
def counting_spent(infos: list[Mapping[str, Any]]) -> Iterator[None]:
    """Add the ``spent`` of some infos to an error that passes, so that a fault is counted too."""
    try:
        yield
    except Exception as error:
        spent = sum_spent(*infos, {"spent": getattr(error, "spent", {})})
        if spent:
            error.spent = spent  # type: ignore[attr-defined]
        raise


def named(grader: GraderPart) -> str:
    """Return the name of a grader: the end of its id, or the name of the function."""
    if isinstance(grader, Mapping):
        return named(grader.get("id", ""))
    if isinstance(grader, GraderSpec):
        return named(grader.id)
    if isinstance(grader, str):
        return grader.rpartition(":")[2]
    while isinstance(grader, functools.partial):
        grader = grader.func
    return str(getattr(grader, "__name__", type(grader).__name__))


def is_blocking(grader: object) -> bool:
    """Return whether a grader says that its calls wait."""
    while isinstance(grader, functools.partial):
        grader = grader.func
    return bool(getattr(grader, "blocking", False))


def close_grader(grader: object) -> None:
    """Release the resources of a grader, if it has a method ``close``."""
    close = getattr(grader, "close", None)
    if callable(close):
        close()
