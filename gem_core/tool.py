"""Tools: what an agent may call in the middle of an episode without using up a turn.

A tool first says whether an action calls it (``parse``), then runs the call (``run``). "Not for me"
is ``None`` from ``parse``; "for me, but it failed" is a ``ToolResult`` with ``ok=False``.
"""

import copy
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from gem_core.observation import Action
from gem_core.stateful import Stateful

__all__ = ["BaseTool", "Function", "Tool", "ToolCall", "ToolResult", "copy_of"]


@dataclass(frozen=True)
class Function:
    """What a model is told of something that it can call by name.

    Args:
        name: Letters, digits, ``_`` and ``-``; no other function of the same stack has it.
        description: What it does, for the model.
        parameters: JSON schema of its arguments: an object with ``properties``.
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
        arguments: What to run it with.
        text: The action up to the end of the call; it stands for the action in the history, so
            that what an agent wrote after a call, before it saw the result, is dropped.
        function: Which of the tool's functions is called; left out, the one of the tool's name.
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
    """What a call came to.

    Args:
        output: Text for the agent, an explanation of the failure if there was one.
        ok: False if the call failed.
        info: More for whoever reads the trajectory.
    """

    output: str
    ok: bool = True
    info: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Tool(Protocol):
    """What the ``tools`` wrapper needs of a tool. ``run`` may return an awaitable.

    A tool whose ``run`` waits may have ``arun`` too, a coroutine function that takes the place of
    ``run`` where the environment is asynchronous. Calls of one action run at once there; a tool
    whose calls build on one another says ``in_order = True``, and they wait for each other.
    """

    name: str
    blocking: bool
    """Whether ``run`` may wait (for a process, a network)."""

    def instructions(self) -> str:
        """Return what an agent must know to call it."""

    def parse(self, action: Action) -> ToolCall | None:
        """Return the call that ``action`` makes to this tool, or None. Never raises."""

    def functions(self) -> Sequence[Function]:
        """Return what can be called by name, for the formats that name functions."""

    def run(self, call: ToolCall) -> ToolResult | Awaitable[ToolResult]:
        """Run a call. A failure is a result; what is raised is recorded as the tool's fault."""

    def reset(self) -> None:
        """Forget the episode."""

    def snapshot(self) -> bytes:
        """Return the state of the episode."""

    def restore(self, snapshot: bytes) -> None:
        """Return to a snapshot."""

    def close(self) -> None:
        """Release what it holds; may be called twice."""


class BaseTool(Stateful):
    """Base of tools: write ``name``, ``instructions``, ``parse`` and ``run``."""

    name: str
    blocking: bool = False
    in_order: bool = False
    """Whether calls of one action wait for each other where they could run at once."""
    shared: ClassVar[tuple[str, ...]] = ()

    def functions(self) -> Sequence[Function]:
        """Return what can be called by name: nothing, unless a tool says otherwise."""
        return ()

    def reset(self) -> None:
        """Forget the episode."""

    def close(self) -> None:
        """Release what the tool holds; may be called twice."""


def copy_of(tool: Tool) -> Tool:
    """Return an independent tool in the same state, for another environment."""
    twin = copy.copy(tool)
    twin.restore(tool.snapshot())
    return twin
