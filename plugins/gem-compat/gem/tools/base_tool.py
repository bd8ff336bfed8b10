"""``BaseTool``, the base class of tools, and adapters from and to tools of gem-core."""

import functools
from dataclasses import dataclass, field
from typing import Any, Self

from gem_core import tool as core
from gem_core.observation import Action
from gem_core.tool import Tool, ToolCall, ToolResult

__all__ = ["AdaptedTool", "BaseTool", "usable"]


@dataclass(frozen=True)
class _Executed(ToolCall):
    """A call that has already run, because a ``BaseTool`` runs a call when it parses it."""

    result: ToolResult = field(default_factory=lambda: ToolResult("", ok=False))


class BaseTool(core.BaseTool):
    """Base class of tools: write ``instruction_string`` and ``execute_action``.

    A subclass is also a tool of gem-core: pass it to
    ``gem_core.make(..., tools=[MyTool()])``.

    Args:
        num_workers: Kept for subclasses.
    """

    tool_type = "base"
    """Name of the tool in ``info["tool_type"]``."""
    blocking = True

    def __init__(self, num_workers: int = 1) -> None:
        self.num_workers = num_workers

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles, without the attributes that first use makes."""
        made = {name for name in self._shared_names() if _is_made(type(self), name)}
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def instruction_string(self) -> str:
        """Return the instructions by which an agent calls the tool."""
        raise NotImplementedError(f"{type(self).__name__} has no instruction_string.")

    def execute_action(self, action: Any) -> tuple[bool, bool, str, str]:
        """Run the call that an action makes.

        Returns:
            Whether the action calls this tool; whether the call failed; its output; the action up
            to the end of the call, which replaces it in the history.
        """
        raise NotImplementedError(f"{type(self).__name__} has no execute_action.")

    @property
    def name(self) -> str:
        """Unique name of the tool in a stack; by default ``tool_type``."""
        return str(self.__dict__.get("_name", self.tool_type))

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    def instructions(self) -> str:
        return self.instruction_string()

    def parse(self, action: Action) -> ToolCall | None:
        """Run the call that an action makes, and return it; None if there is no call."""
        is_valid, has_error, observation, parsed_action = self.execute_action(action)
        if not is_valid:
            return None
        result = ToolResult(observation, ok=not has_error)
        return _Executed(self.tool_type, {}, parsed_action, result=result)

    def run(self, call: ToolCall) -> ToolResult:
        """Return the result of the call."""
        if isinstance(call, _Executed):
            return call.result
        return ToolResult(f"{self.name} is called by what its instructions say.", ok=False)


def _is_made(cls: type, name: str) -> bool:
    return isinstance(getattr(cls, name, None), functools.cached_property)


class AdaptedTool(BaseTool):
    """Adapts a tool of gem-core, or any object with its methods, to ``BaseTool``.

    Args:
        tool: The tool.
    """

    def __init__(self, tool: Any) -> None:
        super().__init__()
        self.tool = tool
        self.tool_type = str(getattr(tool, "tool_type", getattr(tool, "name", "base")))

    def instruction_string(self) -> str:
        is_core = isinstance(self.tool, Tool)
        return str(self.tool.instructions() if is_core else self.tool.instruction_string())

    def execute_action(self, action: Any) -> Any:
        if not isinstance(self.tool, Tool):
            return self.tool.execute_action(action)
        call = self.tool.parse(action)
        if call is None:
            return False, True, "", action
        result: Any = self.tool.run(call)
        return True, not result.ok, result.output, call.text


def usable(tools: Any) -> list[Any]:
    """Return tools for gem-core's wrapper: with its methods and unique names."""
    found = [tool if isinstance(tool, Tool) else AdaptedTool(tool) for tool in tools]
    names: set[str] = set()
    for tool in found:
        if isinstance(tool, BaseTool):
            number = 1
            while tool.name in names:
                number += 1
                tool.name = f"{tool.tool_type}-{number}"
        names.add(tool.name)
    return found
