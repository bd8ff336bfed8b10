"""A trial of the reference calls of a task, when it is read, so that broken data are found then."""

from gem_core.errors import ConfigError
from gem_tau.readers.fields import Fields
from gem_tau.task import Assertion, Call, DialogueTask
from gem_tau.toolkit import Toolkit

__all__ = ["try_calls"]


def try_calls(task: DialogueTask, fields: Fields, actions: str) -> None:
    """Check that the set-up of a task succeeds, and that no call or condition crashes.

    A reference call may be refused by its tool; it then changes nothing.

    Args:
        task: The task.
        fields: Its fields, for messages.
        actions: The path of the reference calls in it.

    Raises:
        DataError: A call of the set-up fails, a call raises anything but a refusal, or a condition
            is not true or false.
    """
    try:
        toolkit = task.domain.toolkit(task.fresh())
    except ConfigError as error:
        raise fields.error("initial_state.initialization_actions", f"fails: {error}") from error
    except Exception as error:
        raise fields.error("initial_state", _crash(error)) from error
    for number, call in enumerate(task.actions):
        _try_call(toolkit, call, fields, f"{actions}[{number}]")
    for number, assertion in enumerate(task.env_assertions):
        _try_assertion(toolkit, assertion, fields, f"evaluation_criteria.env_assertions[{number}]")


def _try_call(toolkit: Toolkit, call: Call, fields: Fields, path: str) -> None:
    try:
        toolkit.call(call.name, call.arguments)
    except Exception as error:
        raise fields.error(path, f"({call.name}) {_crash(error)}") from error


def _try_assertion(toolkit: Toolkit, assertion: Assertion, fields: Fields, path: str) -> None:
    try:
        value = getattr(toolkit, assertion.function)(**assertion.arguments)
    except Exception as error:
        raise fields.error(path, f"({assertion.function}) {_crash(error)}") from error
    if not isinstance(value, bool):
        raise fields.error(path, f"({assertion.function}) is not a condition: it gives {value!r}")


def _crash(error: Exception) -> str:
    return f"cannot be run on the database: {type(error).__name__}: {error}"
