"""A trial of the reference calls of a task, when it is read, so that broken data are found then."""

from gem_core.errors import ConfigError
from gem_tau.readers.fields import Fields
from gem_tau.task import Call, DialogueTask
from gem_tau.toolkit import Toolkit

__all__ = ["try_calls"]


def try_calls(task: DialogueTask, fields: Fields, actions: str) -> None:
    """Check that the set-up of a task succeeds and that no reference call crashes.

    A reference call may be refused by its tool; it then changes nothing.

    Args:
        task: The task.
        fields: Its fields, for messages.
        actions: The path of the reference calls in it.

    Raises:
        DataError: A call of the set-up fails, or a call raises anything but a refusal.
    """
    try:
        toolkit = task.domain.toolkit(task.fresh())
    except ConfigError as error:
        raise fields.error("initial_state.initialization_actions", f"fails: {error}") from error
    except Exception as error:
        raise fields.error("initial_state", _crash(error)) from error
    for number, call in enumerate(task.actions):
        _try_call(toolkit, call, fields, f"{actions}[{number}]")


def _try_call(toolkit: Toolkit, call: Call, fields: Fields, path: str) -> None:
    try:
        toolkit.call(call.name, call.arguments)
    except Exception as error:
        raise fields.error(path, f"({call.name}) {_crash(error)}") from error


def _crash(error: Exception) -> str:
    return f"cannot be run on the database: {type(error).__name__}: {error}"
