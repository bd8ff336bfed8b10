"""Tools as wrappers, with rewards and budgets that are common in training."""

from collections.abc import Mapping
from typing import Any

from gem_core.env import Env
from gem_core.wrappers import ToolWrapper
from gem_tools.python import PythonTool
from gem_tools.search import SearchBackend, SearchTool

__all__ = ["python_tool", "search_tool"]


def python_tool(
    env: Env,
    *,
    timeout: float = 5.0,
    sandbox: str | Mapping[str, Any] = "warm",
    keep_error_last_line: bool = False,
    tool_reward: float = 0.05,
    tool_success_reward: float = 0.25,
    tool_execute_error_reward: float = 0.0,
    max_tool_uses: int | None = 5,
) -> ToolWrapper:
    """Wrap an environment with the tool ``python``.

    Args:
        env: The environment.
        timeout: See ``PythonTool``.
        sandbox: See ``PythonTool``.
        keep_error_last_line: See ``PythonTool``.
        tool_reward: See ``ToolWrapper``.
        tool_success_reward: See ``ToolWrapper``.
        tool_execute_error_reward: See ``ToolWrapper``.
        max_tool_uses: See ``ToolWrapper``.

    Raises:
        ConfigError: A parameter is out of range.
        UnknownIdError: There is no such sandbox.
    """
    tool = PythonTool(timeout=timeout, sandbox=sandbox, keep_error_last_line=keep_error_last_line)
    return ToolWrapper(
        env,
        tools=[tool],
        tool_reward=tool_reward,
        tool_success_reward=tool_success_reward,
        tool_execute_error_reward=tool_execute_error_reward,
        max_tool_uses=max_tool_uses,
    )


def search_tool(
    env: Env,
    *,
    search_url: str | None = None,
    topk: int = 3,
    timeout: float = 5.0,
    backend: str | Mapping[str, Any] | SearchBackend | None = None,
    wrapped: bool = True,
    tool_reward: float = 0.3,
    tool_success_reward: float = 0.0,
    tool_execute_error_reward: float = 0.0,
    max_tool_uses: int | None = 5,
) -> ToolWrapper:
    """Wrap an environment with the tool ``search``.

    Args:
        env: The environment.
        search_url: See ``SearchTool``.
        topk: See ``SearchTool``.
        timeout: See ``SearchTool``.
        backend: See ``SearchTool``.
        wrapped: See ``SearchTool``.
        tool_reward: See ``ToolWrapper``.
        tool_success_reward: See ``ToolWrapper``.
        tool_execute_error_reward: See ``ToolWrapper``.
        max_tool_uses: See ``ToolWrapper``.

    Raises:
        ConfigError: A parameter is out of range.
        UnknownIdError: There is no such backend.
    """
    tool = SearchTool(
        search_url=search_url, topk=topk, timeout=timeout, backend=backend, wrapped=wrapped
    )
    return ToolWrapper(
        env,
        tools=[tool],
        tool_reward=tool_reward,
        tool_success_reward=tool_success_reward,
        tool_execute_error_reward=tool_execute_error_reward,
        max_tool_uses=max_tool_uses,
    )
