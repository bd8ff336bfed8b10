"""Speed of calls of an MCP server from several episodes, through the tool wrapper."""

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from compare.callers import work
from compare.sides import load_side

__all__ = ["measure"]

_SERVER = str(Path(__file__).resolve().parent.parent / "mcp_server.py")


def measure(side: str, *, transport: str, episodes: int, seconds: float) -> dict[str, float]:
    """Call for ``seconds``.

    Args:
        side: The library.
        transport: ``stdio`` or ``http``.
        episodes: Number of episodes that call at the same time, each with its own stack.
        seconds: Time to call.

    Returns:
        ``calls_per_s``, ``p99_ms`` and ``failed``, the number of calls without the right answer.
    """
    library = load_side(side)
    with _server(transport) as config:
        steps = [library.make_mcp(config) for _ in range(episodes)]
        calls = [_caller(step, number) for number, step in enumerate(steps)]
        done = work(calls, seconds=seconds, warm_up=1)
    return done.calls()


def _caller(step: Callable[[str], str], number: int) -> Callable[[], bool]:
    arguments = json.dumps({"a": number, "b": 1})
    action = (
        f"<tool_call> <tool_name>add</tool_name> <arguments>{arguments}</arguments> </tool_call>"
    )
    return lambda: f"sum {number + 1}" in step(action)


@contextlib.contextmanager
def _server(transport: str) -> Iterator[Any]:
    """Give the configuration of the server; over HTTP it runs meanwhile."""
    if transport == "stdio":
        yield {"mcpServers": {"adder": {"command": sys.executable, "args": [_SERVER, "stdio"]}}}
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, _SERVER, "http", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _wait_for(port)
            url = f"http://127.0.0.1:{port}/mcp"
            yield {"mcpServers": {"adder": {"url": url, "transport": "http"}}}
        finally:
            process.kill()


def _wait_for(port: int) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError("the server does not listen")
