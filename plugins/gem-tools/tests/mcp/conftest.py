"""Servers as real processes."""

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ports import free_port

from gem_core.tool import ToolResult
from gem_tools.mcp import MCPTool

ODD = [sys.executable, str(Path(__file__).with_name("odd_server.py"))]
PLAIN = [sys.executable, str(Path(__file__).with_name("plain_server.py"))]
CLOCK = [sys.executable, "-m", "gem_tools.mcp.time_server"]
Call = Callable[..., ToolResult]


@pytest.fixture(scope="session")
def odd_command() -> list[str]:
    """The command of the odd server."""
    return ODD


@pytest.fixture(scope="session")
def plain_command() -> list[str]:
    """The command of a server that starts fast, for tests of processes."""
    return PLAIN


@pytest.fixture(scope="session")
def odd() -> Iterator[MCPTool]:
    """A tool for the odd server, for tests that leave it alive."""
    tool = MCPTool(ODD)
    yield tool
    tool.close()


@pytest.fixture(scope="session")
def clock() -> Iterator[MCPTool]:
    """A tool for the clock."""
    tool = MCPTool([*CLOCK, "--transport", "stdio"])
    yield tool
    tool.close()


@pytest.fixture(scope="session")
def call() -> Call:
    """Make a call as an agent does."""

    def make(tool: MCPTool, name: str, **arguments: Any) -> ToolResult:
        text = json.dumps(arguments)
        found = tool.parse(
            f"Let me see. <tool_call> <tool_name>{name}</tool_name> "
            f"<arguments>{text}</arguments> </tool_call>"
        )
        assert found is not None
        return tool.run(found)

    return make


def is_seen(happened: Callable[[], Any]) -> bool:
    """Return whether something happens within some seconds."""
    for _ in range(6000):
        if happened():
            return True
        time.sleep(0.01)
    return False


@pytest.fixture(scope="session")
def wait_until() -> Callable[..., bool]:
    """Wait for something, and return whether it happens within some seconds."""
    return is_seen


@pytest.fixture(scope="session")
def was_cancelled() -> Callable[[Path], bool]:
    """Return whether a call of ``hang`` notes within some seconds that it is cancelled."""
    return lambda note: is_seen(lambda: note.exists() and note.read_text() == "cancelled")


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    def listens() -> bool:
        assert process.poll() is None, "the server ended"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    assert is_seen(listens), "the server does not listen"


class Served:
    """A server that listens on a port, and can be ended and started again there."""

    def __init__(self, command: Callable[[int], list[str]]) -> None:
        self.port = free_port()
        self._command = command
        self.start()

    def start(self) -> None:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(self._command(self.port), **quiet)
        wait_for_port(self.port, self.process)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., Served]]:
    """Start servers; a function of the port returns the command."""
    started: list[Served] = []

    def start(command: Callable[[int], list[str]]) -> Served:
        started.append(Served(command))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture(scope="session")
def odd_http(serve: Callable[..., Served]) -> Served:
    """The odd server over streamable HTTP, at ``/mcp``."""
    return serve(lambda port: [*ODD, "http", str(port)])
