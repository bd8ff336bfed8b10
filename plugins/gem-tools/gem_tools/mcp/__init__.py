"""MCP: a tool that calls the tools of MCP servers, and servers to try it with."""

from gem_tools.mcp.tool import MCPTool

__all__ = ["MCPTool"]
