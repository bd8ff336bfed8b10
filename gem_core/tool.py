"""Tools: what an agent may call during an episode without using up a turn.

A tool first decides whether an action calls it (``parse``), then runs the call (``run``). ``parse``
returns ``None`` for an action that is not a call of this tool. A call that fails is a
``ToolResult`` with ``ok=False``.
"""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from gem_core.observation import Action
from gem_core.stateful import Stateful, copy_of

__all__ = ["BaseTool", "Function", "Tool", "ToolCall", "ToolResult", "copy_of"]


@dataclass(frozen=True)
class Function:
    """The schema of a function that a model can call by name.

    Args:
        name: Letters, digits, ``_`` and ``-``; unique among the functions of a stack.
        description: What the function does, for the model.
        parameters: JSON schema of the arguments: an object with ``properties``.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]

    def to_openai(self) -> dict[str, Any]:
        """Return the schema that chat templates and APIs take in their list of ``tools``."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        return {"type": "function", "function": function}


@dataclass(frozen=True)
class ToolCall:
    """A call found in an action.

    Args:
        tool: Name of the tool that runs it.
        arguments: Arguments of the call, by name.
        text: The action up to the end of the call. It replaces the action in the history, so text
            that an agent wrote after the call, before it saw the result, is dropped.
        function: Name of the function that is called; by default, the name of the tool.
    """

    tool: str
    arguments: Mapping[str, Any]
    text: str
    function: str = ""

    def __post_init__(self) -> None:
        if not self.function:
            object.__setattr__(self, "function", self.tool)


@dataclass(frozen=True)
class ToolResult:
    """The result of a call.

    Args:
        output: Text for the agent; if the call failed, an explanation.
        ok: False if the call failed.
        info: Further details for readers of the trajectory.
    """

    output: str
    ok: bool = True
    info: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Tool(Protocol):
    """The interface that the ``tools`` wrapper needs. ``run`` may return an awaitable.

    ``gem_core.optional`` lists the members that a tool may have besides these: ``arun`` and
    ``in_order``.
    """

    name: str
    blocking: bool
    """Whether ``run`` may wait, for example for a process or a network."""

    def instructions(self) -> str:
        """Return the instructions by which an agent calls the tool."""

    def parse(self, action: Action) -> ToolCall | None:
        """Return the call that ``action`` makes to this tool, or None. Never raises."""

    def functions(self) -> Sequence[Function]:
        """Return the functions that can be called by name; empty if there are none."""

    def run(self, call: ToolCall) -> ToolResult | Awaitable[ToolResult]:
        """Run a call. Return a failure as a result; an exception is recorded as a fault."""

    def reset(self) -> None:
        """Forget the state of the last episode."""

    def snapshot(self) -> bytes:
        """Return the state of the episode."""

    def restore(self, snapshot: bytes) -> None:
        """Return to the state of a snapshot."""

    def close(self) -> None:
        """Release all resources; may be called twice."""


class BaseTool(Stateful):
    """Base class of tools: write ``name``, ``run``, and how a call is made.

    ``instructions`` and ``parse`` are for the call format ``tags``, ``functions`` for all others.
    A tool may have both.
    """

    name: str
    blocking: bool = False
    in_order: bool = False
    """Whether calls of one action wait for each other instead of running at the same time."""
    shared: ClassVar[tuple[str, ...]] = ()
    """Names of attributes that copies share, such as large read-only data and connections."""

    def instructions(self) -> str:
        """Return the instructions by which an agent calls the tool in tags: none by default."""
        return ""

    def parse(self, action: Action) -> ToolCall | None:
        """Return the call in tags that ``action`` makes to this tool: None by default."""

    def functions(self) -> Sequence[Function]:
        """Return the functions that can be called by name: none, unless a subclass has some."""
        return ()

    def reset(self) -> None:
        """Forget the state of the last episode."""

    def close(self) -> None:
        """Release all resources; may be called twice."""
