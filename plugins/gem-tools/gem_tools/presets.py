"""Tools as wrappers, with rewards and budgets that are common in training."""

from typing import Any

from gem_core.env import Env
from gem_core.signatures import passes_options_to
from gem_core.wrappers import ToolWrapper
from gem_tools.python import PythonTool
from gem_tools.search import SearchTool

__all__ = ["python_tool", "search_tool"]


@passes_options_to(PythonTool)
def python_tool(
    env: Env,
    *,
    tool_reward: float = 0.05,
    tool_success_reward: float = 0.25,
    tool_execute_error_reward: float = 0.0,
    max_tool_uses: int | None = 5,
    **tool: Any,
) -> ToolWrapper:
    """Wrap an environment with the tool ``python``.

    Args:
        env: The environment.
        tool_reward: See ``ToolWrapper``.
        tool_success_reward: See ``ToolWrapper``.
        tool_execute_error_reward: See ``ToolWrapper``.
        max_tool_uses: See ``ToolWrapper``.
        tool: Options of ``PythonTool``.

    Raises:
        ConfigError: A parameter is out of range.
        UnknownIdError: There is no such sandbox.
    """
    return ToolWrapper(
        env,
        tools=[PythonTool(**tool)],
        tool_reward=tool_reward,
        tool_success_reward=tool_success_reward,
        tool_execute_error_reward=tool_execute_error_reward,
        max_tool_uses=max_tool_uses,
    )


@passes_options_to(SearchTool)
def search_tool(
    env: Env,
    *,
    tool_reward: float = 0.3,
    tool_success_reward: float = 0.0,
    tool_execute_error_reward: float = 0.0,
    max_tool_uses: int | None = 5,
    **tool: Any,
) -> ToolWrapper:
    """Wrap an environment with the tool ``search``.

    Args:
        env: The environment.
        tool_reward: See ``ToolWrapper``.
        tool_success_reward: See ``ToolWrapper``.
        tool_execute_error_reward: See ``ToolWrapper``.
        max_tool_uses: See ``ToolWrapper``.
        tool: Options of ``SearchTool``.

    Raises:
        ConfigError: A parameter is out of range.
        UnknownIdError: There is no such backend.
    """
    return ToolWrapper(
        env,
        tools=[SearchTool(**tool)],
        tool_reward=tool_reward,
        tool_success_reward=tool_success_reward,
        tool_execute_error_reward=tool_execute_error_reward,
        max_tool_uses=max_tool_uses,
    )
