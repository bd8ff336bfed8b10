"""Calls the tools of MCP servers."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from gem.requirements import needs
from gem.tools.base_tool import BaseTool

with needs("gem-tools"):
    from gem_tools import mcp

__all__ = ["MCPTool", "is_timeout_error"]

_TIMEOUTS = ("etimedout", "econnreset", "timeout", "timed out", "failed to connect")


def is_timeout_error(error: Exception) -> bool:
    """Return whether an error means that there was no answer or no connection."""
    said = str(error).lower()
    return isinstance(error, TimeoutError) or any(word in said for word in _TIMEOUTS)


class MCPTool(BaseTool):
    """Calls the tools of MCP servers, with ``gem_tools.mcp.MCPTool``.

    Args:
        config: A URL, or a mapping with ``mcpServers`` or with one server.
        auth: A bearer token.
        headers: Headers for servers that have a URL.
        log_handler: Called with each log message of a server.
        progress_handler: Called with progress, total and message of a call.
        sampling_handler: Called when a server asks for text from a model.
        max_retries: Number of retries of a call.
        delay_between_retries: Seconds before each retry.
        execution_timeout: Seconds for each attempt.
        validate_on_init: Connect immediately, and check that there are tools.
        num_workers: Ignored.

    Raises:
        ConfigError: The configuration cannot be used, or a server cannot be reached; it is a
            ValueError.
    """

    tool_type = "mcp"
    shared: ClassVar[tuple[str, ...]] = ("_tool",)

    def __init__(
        self,
        config: Any,
        auth: Any = None,
        headers: Mapping[str, str] | None = None,
        log_handler: Callable[..., Any] | None = None,
        progress_handler: Callable[..., Any] | None = None,
        sampling_handler: Callable[..., Any] | None = None,
        max_retries: int = 3,
        delay_between_retries: float = 1.0,
        execution_timeout: float = 30.0,
        validate_on_init: bool = True,
        num_workers: int = 1,
    ) -> None:
        super().__init__(num_workers)
        self._settings = {
            "config": config,
            "auth": auth,
            "headers": headers,
            "log_handler": log_handler,
            "progress_handler": progress_handler,
            "sampling_handler": sampling_handler,
            "max_retries": max_retries,
            "delay_between_retries": delay_between_retries,
            "execution_timeout": execution_timeout,
            "validate_on_init": validate_on_init,
        }
        self._tool  # noqa: B018 - checks the configuration

    @functools.cached_property
    def _tool(self) -> mcp.MCPTool:
        return mcp.MCPTool(**self._settings)

    @classmethod
    def from_url(
        cls, url: str, auth: Any = None, headers: Mapping[str, str] | None = None, **kwargs: Any
    ) -> Self:
        """Make a tool for one server by its URL."""
        return cls(url, auth, headers, **kwargs)

    @classmethod
    def from_config_file(cls, config_path: str, **kwargs: Any) -> Self:
        """Make a tool from a JSON file."""
        return cls(config_path, **kwargs)

    @classmethod
    def from_local_command(
        cls, server_params: Mapping[str, Any], name: str = "default", **kwargs: Any
    ) -> Self:
        """Make a tool for a program: a mapping with ``command`` and ``args``."""
        return cls({"mcpServers": {name: dict(server_params)}}, **kwargs)

    @classmethod
    def from_multi_server(cls, servers: Mapping[str, str], **kwargs: Any) -> Self:
        """Make a tool for several servers: name to URL."""
        return cls({"mcpServers": dict(servers)}, **kwargs)

    def get_available_tools(self) -> list[dict[str, Any]]:
        """Return name, description, parameters and server of every tool."""
        return self._tool.get_available_tools()

    def reconfigure(
        self, new_config: Any, auth: Any = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Disconnect, and use other servers."""
        self._settings.update(config=new_config, auth=auth, headers=headers)
        self._tool.reconfigure(new_config, auth=auth, headers=headers)

    def instruction_string(self) -> str:
        return self._tool.instructions()

    def execute_action(self, action: Any) -> tuple[bool, bool, str, str]:
        call = self._tool.parse(action)
        if call is None:
            return False, True, "", ""
        result = self._tool.run(call)
        return True, not result.ok, result.output, call.text

    def close(self) -> None:
        tool = self.__dict__.get("_tool")
        if tool is not None:
            tool.close()
