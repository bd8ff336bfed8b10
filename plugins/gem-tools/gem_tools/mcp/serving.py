"""Runs an MCP server with the transport that the command line names."""

from collections.abc import Callable
from typing import Any

import click
from mcp.server.mcpserver import MCPServer

__all__ = ["serve", "serving_options"]


def serving_options(path: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a command the options of ``serve``.

    Args:
        path: Default path of the URL.
    """
    kinds = click.Choice(["stdio", "http", "streamable-http", "sse"])
    options = (
        click.option("--transport", type=kinds, default="streamable-http", show_default=True),
        click.option("--host", default="127.0.0.1", show_default=True),
        click.option("--port", type=int, default=8081, show_default=True),
        click.option("--path", default=path, show_default=True, help="Path of the URL."),
        click.option("--log-level", default="INFO", show_default=True),
    )

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def serve(
    server: MCPServer[Any], *, transport: str, host: str, port: int, path: str, log_level: str
) -> None:
    """Serve until the client disconnects (``stdio``) or the process is ended.

    Args:
        server: The server.
        transport: ``stdio``, ``http`` or ``streamable-http``, or ``sse``.
        host: Address to listen at.
        port: Port to listen at.
        path: Path of the URL.
        log_level: Log level of the HTTP server.
    """
    server.settings.log_level = log_level.upper()  # type: ignore[assignment]
    if transport == "stdio":
        server.run("stdio")
    elif transport == "sse":
        server.run("sse", host=host, port=port, sse_path=path)
    else:
        server.run("streamable-http", host=host, port=port, streamable_http_path=path)
