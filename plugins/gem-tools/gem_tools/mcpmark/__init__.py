"""Tasks for agents that act through MCP servers: set-up, instruction and verification."""

from gem_tools.mcpmark.env import MCPMarkEnv
from gem_tools.mcpmark.stack import MCPMarkOracle, TaskTools, benchmark, mcpmark

__all__ = ["MCPMarkEnv", "MCPMarkOracle", "TaskTools", "benchmark", "mcpmark"]
