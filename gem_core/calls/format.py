"""The interface of call formats: they read actions, show results, and explain how to call.

A third party derives a class from ``BaseCallFormat`` and adds a spec of the kind ``CALL_FORMATS``
to the registry; ``call_format="its-id"`` then finds it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from gem_core.observation import Action
from gem_core.tool import Function

__all__ = [
    "MOST_CALLS",
    "BaseCallFormat",
    "CallFormat",
    "Reading",
    "Request",
]

MOST_CALLS = 64
"""Maximum number of calls in an action; further ones are dropped, like any text after a call."""


@dataclass(frozen=True)
class Request:
    """A call as it was read from an action, before its function is looked up.

    Args:
        function: Name of the function; empty if it cannot be read.
        arguments: Arguments of the call, by name.
        id: Id that the result refers to, in formats with such ids.
        problem: Why the call cannot be read, as a message for the agent; else empty.
    """

    function: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Reading:
    """The calls that a format found in an action.

    Args:
        action: Action for the environment if there are no calls.
        requests: The calls in order.
        text: The action up to the end of the last call, as text for a history.
        message: The same as a chat message with the role ``assistant``.
    """

    action: Action
    requests: tuple[Request, ...] = ()
    text: str = ""
    message: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class CallFormat(Protocol):
    """How an action calls functions by name. It has no state, so environments share one object."""

    def instructions(self, functions: Sequence[Function]) -> str:
        """Return instructions for an agent, with the schemas of ``functions``."""

    def read(self, action: Action) -> Reading:
        """Return the calls in an action. Never raises; takes linear time.

        A call that cannot be read becomes a request with a ``problem``.
        """

    def show(self, reading: Reading, outputs: Sequence[str]) -> str:
        """Return the text that shows an agent the outputs of its calls, in their order."""

    def messages(self, reading: Reading, outputs: Sequence[str]) -> list[dict[str, Any]]:
        """Return the same as chat messages: the assistant's with the calls, then the results."""


class BaseCallFormat(ABC):
    """Base of call formats: write ``instructions``, ``read`` and ``show``."""

    @abstractmethod
    def instructions(self, functions: Sequence[Function]) -> str:
        """Return instructions for an agent; see ``CallFormat``."""

    @abstractmethod
    def read(self, action: Action) -> Reading:
        """Return the calls in an action; see ``CallFormat``."""

    @abstractmethod
    def show(self, reading: Reading, outputs: Sequence[str]) -> str:
        """Return the text that shows the outputs; see ``CallFormat``."""

    def messages(self, reading: Reading, outputs: Sequence[str]) -> list[dict[str, Any]]:
        """Return chat messages: the unchanged action, then one with all results.

        The second one has the role ``user``, which every chat template supports.
        """
        return [
            {"role": "assistant", "content": reading.text},
            {"role": "user", "content": self.show(reading, outputs)},
        ]
