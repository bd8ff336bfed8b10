"""Joins the tasks with the tool that does them: ``make("mcp:Sample")`` returns both.

The servers of an environment work on that environment's folder or database: ``{root}`` in their
configuration stands for its path. A fork of the environment has its own, and servers for it.
"""

import json
import os
from collections.abc import Mapping
from typing import Any, Self

from gem_core.agent import BaseAgent
from gem_core.env import Env
from gem_core.errors import ConfigError, DataError
from gem_core.factory import make_call_format
from gem_core.observation import Action, Info, Observation
from gem_core.signatures import passes_options_to
from gem_core.wrappers import ToolWrapper
from gem_tools.mcp import MCPTool
from gem_tools.mcpmark.env import MCPMarkEnv
from gem_tools.mcpmark.taskset import find_tasks, folder_of

__all__ = ["MCPMarkOracle", "TaskTools", "benchmark", "mcpmark"]


class TaskTools(ToolWrapper):
    """The tools of an ``MCPMarkEnv``.

    Args:
        env: The environment.
        servers: Like ``mcpServers`` of a configuration; ``{root}`` is replaced by the path of the
            environment's folder, as are the other ``places`` of a service. None for the servers
            of the service.
        tool: Further arguments of ``MCPTool``.
        tool_use: Further arguments of ``ToolWrapper``.
    """

    shared = ("_servers", "_tool")

    def __init__(
        self,
        env: Env,
        *,
        servers: Mapping[str, Any] | None = None,
        tool: Mapping[str, Any] | None = None,
        tool_use: Mapping[str, Any] | None = None,
    ) -> None:
        self._servers = servers
        self._tool = dict(tool or {})
        super().__init__(env, tools=[self._tool_for(env)], **(tool_use or {}))

    def _tool_for(self, env: Env) -> MCPTool:
        task: Any = env.unwrapped
        servers = task.servers if self._servers is None else self._servers
        config = {"mcpServers": _filled(servers, task.places)}
        return MCPTool(config, **{"validate_on_init": False, **self._tool})

    def _around(self, env: Env) -> Self:
        twin = super()._around(env)
        twin.tools = [self._tool_for(env)]
        return twin


def _filled(value: Any, places: Mapping[str, str]) -> Any:
    """Return a configuration with the places of an environment instead of ``{root}`` and so on."""
    if isinstance(value, str):
        for name, place in places.items():
            value = value.replace(f"{{{name}}}", place)
        return value
    if isinstance(value, Mapping):
        return {key: _filled(one, places) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(one, places) for one in value]
    return value


@passes_options_to(MCPMarkEnv)
def mcpmark(
    *,
    servers: Mapping[str, Any] | None = None,
    tool: Mapping[str, Any] | None = None,
    max_tool_uses: int | None = 50,
    call_format: str | Mapping[str, Any] = "tags",
    **task_options: Any,
) -> Env:
    """Make an ``MCPMarkEnv`` with its tools.

    Args:
        servers: See ``TaskTools``.
        tool: See ``TaskTools``.
        max_tool_uses: See ``ToolWrapper``.
        call_format: How an action calls tools: an id, or a mapping with an ``id`` and arguments.
        task_options: Options of ``MCPMarkEnv``.

    Raises:
        DataError: There are no tasks, or a folder is missing.
        ConfigError: No task is selected, or a parameter is out of range.
        UnknownIdError: There is no such call format.
    """
    tool_use = {"max_tool_uses": max_tool_uses, "call_format": make_call_format(call_format)}
    return TaskTools(MCPMarkEnv(**task_options), servers=servers, tool=tool, tool_use=tool_use)


@passes_options_to(mcpmark, without={"tasks"})
def benchmark(
    *,
    data: str | os.PathLike[str],
    service: str = "filesystem",
    suite: str = "standard",
    environments: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Env:
    """Make the tasks of a service from a checkout of the MCPMark benchmark, with their tools.

    Args:
        data: Folder of the checkout: ``tasks/SERVICE/SUITE/CATEGORY/TASK``.
        service: The service of the tasks.
        suite: ``standard``, ``easy``, or ``all``.
        environments: Folder of the initial states, which are not in the repository: ``CATEGORY``
            for ``filesystem``, ``CATEGORY.backup`` or ``CATEGORY.sql`` for ``postgres``. None for
            where the benchmark itself puts them: ``test_environments`` and ``postgres_state`` of
            the checkout.
        options: Options of ``mcpmark``.

    Raises:
        DataError: There are no such tasks; the service cannot do some; or initial states are
            missing.
        ConfigError: The service needs what is not to be had here.
        UnknownIdError: There is no such service.
    """
    root = folder_of(data)
    if not (root / "tasks").is_dir():
        raise DataError(f"{str(root)!r} is not a checkout of MCPMark: it has no folder 'tasks'.")
    folder = root / "tasks" / service
    if suite != "all":
        folder /= suite
    if not folder.is_dir():
        raise DataError(f"There is no folder {str(folder)!r} of tasks.")
    if service in _ELSEWHERE:
        names = [task["name"] for task in find_tasks(folder, options.get("select", "all"))]
        raise ConfigError(
            f"The {len(names)} tasks of {service!r} cannot be done here, as they need "
            f"{_ELSEWHERE[service]}: {', '.join(names)}."
        )
    if environments is None and service in _STATES:
        environments = root / _STATES[service]
    return mcpmark(tasks=folder, environments=environments, service=service, **options)


_ELSEWHERE = {
    "github": "organizations and keys of GitHub",
    "insforge": "a server of InsForge",
    "notion": "a workspace and keys of Notion",
    "playwright_webarena": "the sites of WebArena, which are images of many gigabytes",
    "supabase": "a server of Supabase",
}
"""What the services need that this package does not have."""
_STATES = {"filesystem": "test_environments", "postgres": "postgres_state"}
"""The folders of a checkout in which the benchmark keeps downloaded states."""


class MCPMarkOracle(BaseAgent):
    """Makes the calls of a task's ``oracle.json``, in tags, then sends its last message."""

    def reset(self, env: Env) -> None:
        task: Any = env.unwrapped
        self._last = task.solution()
        self._actions = [_call(**call) for call in task.script()]

    def act(self, observation: Observation, info: Info) -> Action:
        return self._actions.pop(0) if self._actions else self._last


def _call(name: str, arguments: Mapping[str, Any]) -> str:
    text = json.dumps(arguments, ensure_ascii=False)
    return f"<tool_call> <tool_name>{name}</tool_name> <arguments>{text}</arguments> </tool_call>"
