"""An MCP server with one small tool, for both sides: ``mcp_server.py stdio`` or ``http PORT``."""

import sys
from typing import Any

from mcp.server.mcpserver import MCPServer

__all__ = ["main"]


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return f"sum {a + b}"


def main() -> None:
    """Serve until the client leaves or the process is ended."""
    server: MCPServer[Any] = MCPServer("adder", log_level="WARNING")
    server.add_tool(add, structured_output=False)
    if sys.argv[1] == "http":
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")


if __name__ == "__main__":
    main()
