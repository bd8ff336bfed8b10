"""MCP: a tool that calls the tools of MCP servers, and two servers to use it with.

Raises:
    NotInstalledError: The extra ``gem-tools[mcp]`` is not installed.
"""

from gem_core.extras import require

require("gem-tools[mcp]", "gem_tools.mcp")

from gem_tools.mcp.tool import MCPTool  # noqa: E402 - its modules import what the extra installs

__all__ = ["MCPTool"]
