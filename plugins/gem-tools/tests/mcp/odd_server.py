"""A server that does what servers should not, and some things that they may.

``odd_server.py`` serves over stdio, ``odd_server.py http PORT`` and ``odd_server.py sse PORT`` at a
port.
"""

# ruff: noqa: ASYNC240

import asyncio
import base64
import os
import sys
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ResourceLink,
    TextResourceContents,
)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
server: Any = MCPServer("odd")
calls = 0


@server.tool()
def echo(text: str, times: int = 1) -> str:
    """Say it again."""
    return text * times


@server.tool()
def pid() -> int:
    """Tell the process."""
    return os.getpid()


@server.tool(structured_output=False)
async def hang(note: str) -> str:
    """Never answer; write to a file that the call has begun, and that it is cancelled."""
    try:
        Path(note).write_text("begun")
        await asyncio.sleep(3600)
    except BaseException:
        Path(note).write_text("cancelled")
        raise
    return "never"


@server.tool(structured_output=False)
async def wait(note: str) -> str:
    """Answer once a file exists."""
    while not Path(note).exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.02)
    return "there you are"


@server.tool(structured_output=False)
async def die() -> str:
    """End the server in mid-call."""
    os._exit(3)


@server.tool(structured_output=False)
def flood(size: int) -> str:
    """Return much."""
    return "0123456789" * (size // 10)


@server.tool(structured_output=False)
async def chatter(lines: int, ctx: Context) -> str:
    """Fill the standard error and the log."""
    for number in range(lines):
        print("noise " * 50, file=sys.stderr, flush=True)
        await ctx.info(f"line {number}")
    return "done"


@server.tool(structured_output=False)
async def count(to: int, ctx: Context) -> str:
    """Report progress."""
    for number in range(to):
        await ctx.report_progress(number + 1, to, f"step {number + 1}")
    return "counted"


@server.tool()
def table() -> dict[str, Any]:
    """Return structured data."""
    return {"name": "Ada", "scores": [1, 2]}


@server.tool()
def numbers() -> list[int]:
    """Return a list."""
    return [1, 2, 3]


@server.tool(structured_output=False)
def picture() -> list[Any]:
    """Return a text and an image."""
    return ["A pixel:", Image(data=PNG, format="png")]


@server.tool(structured_output=False)
def things() -> list[Any]:
    """Return all other kinds of content."""
    blob = base64.b64encode(b"\x00\x01\x02\x03").decode()
    link = ResourceLink(type="resource_link", name="manual", uri="file:///manual.pdf")
    text = TextResourceContents(uri="memo://a", text="remember")
    data = BlobResourceContents(uri="memo://b", blob=blob, mime_type="application/zip")
    return [
        AudioContent(type="audio", data=blob, mime_type="audio/wav"),
        link,
        EmbeddedResource(type="resource", resource=text),
        EmbeddedResource(type="resource", resource=data),
    ]


@server.tool(structured_output=False)
def nothing() -> None:
    """Return nothing."""


@server.tool(structured_output=False)
def crash() -> str:
    """Raise."""
    raise RuntimeError("secret of the server")


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    elif sys.argv[1:2] == ["sse"]:
        server.run("sse", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")
