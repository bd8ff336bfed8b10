"""What a call format is: it reads actions, shows results, and says how to call.

A third party writes one as a class, derived from ``BaseCallFormat``, and adds a ``CallFormatSpec``
of it to the registry; ``call_format="its-id"`` then finds it.
"""

import json
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
    "after_thoughts",
    "schema_lines",
]

MOST_CALLS = 64
"""Calls of one action that are read; what follows them is dropped, like any text after a call."""


@dataclass(frozen=True)
class Request:
    """A call as an action has it, before anybody asked whether there is such a function.

    Args:
        function: The name that is called; empty if none can be read.
        arguments: What it is called with.
        id: What the result is to refer to, in formats that have such ids.
        problem: Why it cannot be run, for the agent; empty if it can be read.
    """

    function: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Reading:
    """What a format found in an action.

    Args:
        action: What the environment is given if there are no calls.
        requests: The calls in order; empty if there are none.
        text: The action up to the end of the last call, as text for a history.
        message: The same as a chat message of the role ``assistant``.
    """

    action: Action
    requests: tuple[Request, ...] = ()
    text: str = ""
    message: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class CallFormat(Protocol):
    """How an action calls functions by name. It has no state: all environments share one."""

    def instructions(self, functions: Sequence[Function]) -> str:
        """Return what an agent must know to call ``functions``, with their schemas."""

    def read(self, action: Action) -> Reading:
        """Return the calls in an action. Never raises; takes linear time.

        What is meant as a call and cannot be read is a request with a ``problem``.
        """

    def show(self, reading: Reading, outputs: Sequence[str]) -> str:
        """Return the text that shows an agent the outputs of its calls, one each, in order."""

    def messages(self, reading: Reading, outputs: Sequence[str]) -> list[dict[str, Any]]:
        """Return the same as chat messages: the assistant's with the calls, then the results."""


class BaseCallFormat(ABC):
    """Base of call formats: write ``instructions``, ``read`` and ``show``."""

    @abstractmethod
    def instructions(self, functions: Sequence[Function]) -> str:
        """Return what an agent must know to call ``functions``; see ``CallFormat``."""

    @abstractmethod
    def read(self, action: Action) -> Reading:
        """Return the calls in an action; see ``CallFormat``."""

    @abstractmethod
    def show(self, reading: Reading, outputs: Sequence[str]) -> str:
        """Return the text that shows the outputs; see ``CallFormat``."""

    def messages(self, reading: Reading, outputs: Sequence[str]) -> list[dict[str, Any]]:
        """Return chat messages: the action as it was written, then all results in one.

        That one is the user's, as a format that models were not trained on has no other role for
        it that every chat template knows.
        """
        return [
            {"role": "assistant", "content": reading.text},
            {"role": "user", "content": self.show(reading, outputs)},
        ]


def schema_lines(functions: Sequence[Function]) -> str:
    """Return the schemas of functions as JSON, one a line."""
    return "\n".join(json.dumps(one.to_openai(), ensure_ascii=False) for one in functions)


def after_thoughts(text: str) -> int:
    """Return where a text goes on after the ``<think>...</think>`` that it opens with.

    A call that a model only thinks about is none. Thoughts that are never closed are all of it.
    """
    if not text.lstrip().startswith("<think>"):
        return 0
    end = text.find("</think>")
    return len(text) if end < 0 else end + len("</think>")
