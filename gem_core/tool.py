"""Tools: what an agent may call in the middle of an episode without using up a turn.

A tool first says whether an action calls it (``parse``), then runs the call (``run``). "Not for me"
is ``None`` from ``parse``; "for me, but it failed" is a ``ToolResult`` with ``ok=False``.
"""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from gem_core.observation import Action
from gem_core.stateful import Stateful

__all__ = ["BaseTool", "Tool", "ToolCall", "ToolResult"]


@dataclass(frozen=True)
class ToolCall:
    """A call found in an action.

    Args:
        tool: Name of the tool that found it.
        arguments: What to run it with.
        text: The action up to the end of the call; it stands for the action in the history, so
            that what an agent wrote after a call, before it saw the result, is dropped.
    """

    tool: str
    arguments: Mapping[str, Any]
    text: str


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
    ``run`` where the environment is asynchronous.
    """

    name: str
    blocking: bool
    """Whether ``run`` may wait (for a process, a network)."""

    def instructions(self) -> str:
        """Return what an agent must know to call it."""

    def parse(self, action: Action) -> ToolCall | None:
        """Return the call that ``action`` makes to this tool, or None. Never raises."""

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
    shared: ClassVar[tuple[str, ...]] = ()

    def reset(self) -> None:
        """Forget the episode."""

    def close(self) -> None:
        """Release what the tool holds; may be called twice."""
