"""MCP servers; each is a program."""
