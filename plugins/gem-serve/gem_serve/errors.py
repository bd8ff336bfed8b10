"""What goes wrong between a server of environments and its clients."""

from typing import Any

from gem_core import errors as core
from gem_core.errors import GemError

__all__ = [
    "AccessError",
    "CapacityError",
    "ConnectionLostError",
    "MessageError",
    "OversizeError",
    "RateError",
    "RemoteError",
    "SessionLostError",
    "StaleError",
    "error_from",
    "error_reply",
]


class RemoteError(GemError, RuntimeError):
    """The environment raised an error on the server; the message names its type."""


class ConnectionLostError(GemError, ConnectionError):
    """The server cannot be reached, or the connection was lost and not made again in time."""


class AccessError(GemError, PermissionError):
    """The server refuses the client: the token is missing or wrong."""


class CapacityError(GemError, RuntimeError):
    """The server takes no more sessions or episodes: it is full, or it is about to end.

    Args:
        message: The message.
        retry_after: Seconds after which to try again.
    """

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message, retry_after)
        self.retry_after = retry_after


class SessionLostError(GemError, LookupError):
    """The server has no such session: it was closed, idle for too long, or of another process."""


class StaleError(GemError, ValueError):
    """A message has a number that is not the next one, and its answer is not kept."""


class MessageError(GemError, ValueError):
    """A message does not follow the protocol."""


class OversizeError(MessageError):
    """A message is larger than the server allows."""


class RateError(GemError, RuntimeError):
    """A client sends more messages than the server allows; nothing was done.

    Args:
        message: The message.
        retry_after: Seconds after which the same message is taken.
    """

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message, retry_after)
        self.retry_after = retry_after


_OWN = {cls.__name__: cls for cls in list(globals().values()) if isinstance(cls, type)}
_KNOWN: dict[str, type[GemError]] = {
    **{name: getattr(core, name) for name in core.__all__ if name.endswith("Error")},
    **{name: cls for name, cls in _OWN.items() if issubclass(cls, GemError)},
}


def error_reply(error: BaseException) -> dict[str, Any]:
    """Return the part of a reply that describes an error."""
    found = {"type": _name_of(error), "message": str(error)}
    if found["type"] == "RemoteError":
        found["message"] = f"{type(error).__name__}: {error}"
    if isinstance(error, RateError | CapacityError):
        return {"error": {**found, "retry_after": error.retry_after}}
    return {"error": found}


def _name_of(error: BaseException) -> str:
    names = (cls.__name__ for cls in type(error).__mro__ if issubclass(cls, GemError))
    return next((name for name in names if name in _KNOWN and name != "GemError"), "RemoteError")


def error_from(found: dict[str, Any]) -> GemError:
    """Return the error that the part of a reply describes."""
    message = str(found.get("message", ""))
    for cls in (RateError, CapacityError):
        if found.get("type") == cls.__name__:
            return cls(message, float(found.get("retry_after", 1.0)))
    return _KNOWN.get(str(found.get("type")), RemoteError)(message)
