"""A trial of the reference calls of a task, when it is read, so that broken data are found then."""

from gem_core.errors import ConfigError, DataError
from gem_tau.database import Database
from gem_tau.task import Assertion, Call, DialogueTask
from gem_tau.toolkit import Toolkit

__all__ = ["try_calls"]


def try_calls(task: DialogueTask, where: str, actions: str) -> None:
    """Check that the set-up of a task succeeds, and that no call or condition crashes.

    A reference call may be refused by its tool; it then changes nothing.

    Args:
        task: The task.
        where: The file and the task, as the start of a message.
        actions: The path of the reference calls in the task.

    Raises:
        DataError: A call of the set-up fails, a call raises anything but a refusal, or a condition
            is not true or false.
    """
    try:
        db = task.fresh()
    except ConfigError as error:
        raise DataError(f"{where}: initial_state.initialization_actions: {error}") from error
    except Exception as error:
        raise DataError(f"{where}: initial_state: {_crash(error)}") from error
    for number, call in enumerate(task.actions):
        _try_call(task, call, db, f"{where}: {actions}.{number}: {call.name}")
    for number, one in enumerate(task.env_assertions):
        path = f"evaluation_criteria.env_assertions.{number}"
        toolkit = task.domain.tools_of(one.side, db)
        _try_assertion(toolkit, one, f"{where}: {path}: {one.function}")


def _try_call(task: DialogueTask, call: Call, db: Database, where: str) -> None:
    try:
        task.make(call, db)
    except Exception as error:
        raise DataError(f"{where} {_crash(error)}") from error


def _try_assertion(toolkit: Toolkit, assertion: Assertion, where: str) -> None:
    try:
        value = getattr(toolkit, assertion.function)(**assertion.arguments)
    except Exception as error:
        raise DataError(f"{where} {_crash(error)}") from error
    if not isinstance(value, bool):
        raise DataError(f"{where} is not a condition: it returns {value!r}.")


def _crash(error: Exception) -> str:
    return f"cannot be run on the database: {type(error).__name__}: {error}."
