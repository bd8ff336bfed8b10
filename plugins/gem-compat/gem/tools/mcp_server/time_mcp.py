"""An MCP server for dates and times: ``python -m gem.tools.mcp_server.time_mcp``."""

from gem.requirements import needs

with needs("gem-tools"):
    from gem_tools.mcp.time_server import main, time_server

__all__ = ["app", "main"]

app = time_server()

if __name__ == "__main__":
    main()
