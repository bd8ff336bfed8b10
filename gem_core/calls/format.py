"""The interface of call formats: they read actions, show results, and explain how to call.

A third party derives a class from ``FunctionFormat`` and adds a spec of the kind ``CALL_FORMATS``
to the registry; ``call_format="its-id"`` then finds it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from gem_core.calls.catalog import Catalog
from gem_core.calls.reading import Reading
from gem_core.observation import Action
from gem_core.tool import Function, Tool

__all__ = ["CallFormat", "FunctionFormat"]


class CallFormat(ABC):
    """How an action calls tools. It has no state, so environments share one object."""

    @abstractmethod
    def explain(self, tools: Sequence[Tool]) -> str:
        """Return instructions for an agent on how to call tools.

        Raises:
            ConfigError: The format cannot call one of them.
        """

    @abstractmethod
    def readings(self, action: Action, tools: Sequence[Tool]) -> Iterator[Reading]:
        """Yield the ways to read an action, the next one if every call of the last has failed.

        Args:
            action: The action.
            tools: The tools; none if calls must not run.
        """

    @abstractmethod
    def show(self, reading: Reading, outputs: Sequence[str]) -> str:
        """Return the text that shows an agent the outputs of its calls, in their order."""

    @abstractmethod
    def messages(self, reading: Reading, outputs: Sequence[str]) -> list[dict[str, Any]]:
        """Return the same as chat messages: the assistant's with the calls, then the results.

        Without any message, ``info`` has neither ``tool_messages`` nor ``tool_calls``.
        """


class FunctionFormat(CallFormat):
    """Base of formats that call functions by name: write ``instructions``, ``read``, ``show``."""

    @abstractmethod
    def instructions(self, functions: Sequence[Function]) -> str:
        """Return instructions for an agent, with the schemas of ``functions``."""

    @abstractmethod
    def read(self, action: Action) -> Reading:
        """Return the calls in an action. Never raises; takes linear time.

        A call that cannot be read becomes a request with a ``problem``.
        """

    def explain(self, tools: Sequence[Tool]) -> str:
        """Return the instructions for the functions of tools.

        Raises:
            ConfigError: See ``Catalog``.
        """
        return self.instructions(Catalog({tool.name: tool.functions() for tool in tools}).functions)

    def readings(self, action: Action, tools: Sequence[Tool]) -> Iterator[Reading]:
        """Yield the only reading."""
        yield self.read(action)

    def messages(self, reading: Reading, outputs: Sequence[str]) -> list[dict[str, Any]]:
        """Return chat messages: the unchanged action, then one with all results.

        The second one has the role ``user``, which every chat template supports.
        """
        return [
            {"role": "assistant", "content": reading.text},
            {"role": "user", "content": self.show(reading, outputs)},
        ]
