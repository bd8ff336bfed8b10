"""Agents, as the host sees them: started with sources as text, asked over a channel."""

import base64
import importlib.resources
import json
import struct
import time
from abc import ABC, abstractmethod
from typing import Any

from gem_core.errors import SandboxError
from gem_core.sandbox import Execution

__all__ = ["Agent", "Channel", "Launcher", "agent_arguments"]

_MODULES = ("", ".messages", ".folders", ".processes", ".run", ".agent")
_BOOT = """\
import json, sys, types
for name, source in json.loads(sys.argv[1]).items():
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = []
    exec(compile(source, name, "exec"), module.__dict__)
sys.modules["gem_sandbox.far.agent"].main(sys.argv[2])
"""
_START_SECONDS = 60.0
_GRACE_SECONDS = 10.0
"""An agent that has not answered so long after a deadline is given up."""
_ENDED = "[What watched the program was ended with it.]\n"
_LARGEST_MESSAGE = 1 << 30


def agent_arguments(**config: Any) -> list[str]:
    """Return what follows ``python -I -S`` to start an agent; see ``gem_sandbox.far.agent``."""
    files = importlib.resources.files("gem_sandbox.far")
    sources = {"gem_sandbox": ""}
    for module in _MODULES:
        source = files.joinpath(f"{module[1:] or '__init__'}.py").read_text("utf-8")
        sources[f"gem_sandbox.far{module}"] = source
    cells = files.joinpath("cells.py").read_text("utf-8")
    return ["-c", _BOOT, json.dumps(sources), json.dumps({**config, "cells": cells})]


class Channel(ABC):
    """A stream of bytes to and from one agent."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Send bytes; raises ``OSError`` if nobody reads them."""

    @abstractmethod
    def read(self, timeout: float) -> bytes:
        """Return some bytes, none at the end; raises ``TimeoutError``."""

    @abstractmethod
    def kill(self) -> None:
        """End the agent and all below it."""

    @abstractmethod
    def abandon(self) -> None:
        """Let go of it without a word: this process is a copy of the one that started it."""

    def allow(self, memory: int) -> None:  # noqa: B027 - most have nothing to do
        """Have the programs that follow use this many bytes together."""

    def words(self) -> str:
        """Return what the agent said when it failed."""
        return ""


class Launcher(ABC):
    """Starts agents of one kind."""

    @abstractmethod
    def launch(self) -> Channel:
        """Start an agent.

        Raises:
            SandboxError: It cannot be started; the message says what is missing.
        """

    def close(self) -> None:  # noqa: B027 - most have nothing to do
        """Release what it holds; it may be used again."""


class Agent:
    """Asks an agent one thing after the other.

    Args:
        channel: The way to it.
    """

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._received = bytearray()
        self._clean = False

    def wait_until_clean(self) -> None:
        """Wait until nothing is left of what it did.

        Raises:
            SandboxError: It fails to clean up, or to start.
        """
        while not self._clean:
            self._clean = "clean" in self._message(time.monotonic() + _START_SECONDS)

    def begin(self, request: dict[str, Any]) -> bool:
        """Send a request; return whether it has arrived. If not, the agent is of no more use."""
        self._clean = False
        try:
            self.channel.allow(request["memory"])
            self.send(request)
            if "begun" in self._message(time.monotonic() + _GRACE_SECONDS):
                return True
        except (OSError, SandboxError):
            pass
        self.channel.kill()
        return False

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        body = json.dumps(message).encode()
        self.channel.write(struct.pack("!I", len(body)) + body)

    def execution(self, timeout: float) -> tuple[Execution, bool]:
        """Wait for an answer; return it, and whether a session goes on.

        An agent or keeper that ends with the program has met what no inner limit caught: that is
        reported as an execution, as a program's failure is never raised.
        """
        end = time.monotonic() + timeout + _GRACE_SECONDS
        try:
            message = self._message(end)
        except SandboxError as error:
            late = time.monotonic() >= end
            self.channel.kill()
            return Execution(137, stderr=f"{error}\n", limit="wall_time" if late else None), False
        if "execution" not in message:
            self.channel.kill()
            if message.get("killed"):
                return Execution(137, stderr=_ENDED), False
            raise SandboxError(f"The sandbox failed to run a program. {self.channel.words()}")
        answer = message["execution"]
        alive = answer.pop("alive", False)
        for name in ("stdout", "stderr"):
            answer[name] = base64.b64decode(answer[name]).decode("utf-8", "replace")
        return Execution(**answer), alive

    def _message(self, end: float) -> dict[str, Any]:
        header = struct.unpack("!I", self._exactly(4, end))[0]
        if header > _LARGEST_MESSAGE:
            raise SandboxError(f"The sandbox's agent sent a message of {header} bytes.")
        message: dict[str, Any] = json.loads(self._exactly(header, end))
        return message

    def _exactly(self, length: int, end: float) -> bytes:
        while len(self._received) < length:
            try:
                chunk = self.channel.read(max(end - time.monotonic(), 0.001))
            except OSError as error:
                raise SandboxError(f"The sandbox's agent does not answer: {error}.") from error
            if not chunk:
                raise SandboxError(f"The sandbox's agent has ended. {self.channel.words()}".strip())
            self._received += chunk
        data = bytes(self._received[:length])
        del self._received[:length]
        return data
