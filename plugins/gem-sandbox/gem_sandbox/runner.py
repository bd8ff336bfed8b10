"""The host's side of a runner: start one from source text, and ask it over a channel.

The runner itself is ``gem_sandbox.guest.runner``.
"""

import base64
import importlib.resources
import json
import struct
import time
from abc import ABC, abstractmethod
from typing import Any

from gem_core.errors import SandboxError
from gem_core.records import json_value
from gem_workers.base_sandbox import SessionEndedError
from gem_workers.sandbox import Execution

__all__ = ["WRITE_SECONDS", "Channel", "Launcher", "Runner", "runner_arguments"]

WRITE_SECONDS = 60.0
"""Seconds in which a runner must have taken a request."""

_MODULES = (
    "",
    ".messages",
    ".folders",
    ".process_tree",
    ".memory",
    ".processes",
    ".run",
    ".runner",
)
_BOOT = """\
import json, sys, types
for name, source in json.loads(sys.argv[1]).items():
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = []
    exec(compile(source, name, "exec"), module.__dict__)
sys.modules["gem_sandbox.guest.runner"].main(sys.argv[2])
"""
_START_SECONDS, _CLEAN_SECONDS = 60.0, 10.0
"""Seconds in which a runner must have started, and have removed what a program left."""
_GRACE_SECONDS = 10.0
"""A runner that has not answered this long after a deadline is given up."""
_KILLED = "[The process that monitored the program was killed with it.]\n"
_LARGEST_MESSAGE = 1 << 30


def runner_arguments(**config: Any) -> list[str]:
    """Return the arguments of ``python -I -S`` that start a runner.

    Args:
        config: See ``gem_sandbox.guest.runner.main``.
    """
    files = importlib.resources.files("gem_sandbox.guest")
    sources = {"gem_sandbox": ""}
    for module in _MODULES:
        source = files.joinpath(f"{module[1:] or '__init__'}.py").read_text("utf-8")
        sources[f"gem_sandbox.guest{module}"] = source
    cells = files.joinpath("cells.py").read_text("utf-8")
    return ["-c", _BOOT, json.dumps(sources), json.dumps({**config, "cells": cells})]


class Channel(ABC):
    """A stream of bytes to and from one runner."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Send bytes; raises ``OSError`` if the runner has ended, or does not take them."""

    @abstractmethod
    def read(self, timeout: float) -> bytes:
        """Return the next bytes, empty at the end; raises ``TimeoutError``."""

    @abstractmethod
    def hang_up(self) -> None:
        """End the stream, and so the runner and its program, without waiting; thread-safe."""

    @abstractmethod
    def kill(self) -> None:
        """End the runner and all processes below it, within some seconds."""

    @abstractmethod
    def abandon(self) -> None:
        """Close the channel in a fork of the process that started the runner."""

    def allow(self, memory: int) -> None:  # noqa: B027 - optional
        """Allow the following programs this many bytes of memory in total."""

    def stderr(self) -> str:
        """Return the standard error of the runner."""
        return ""


class Launcher(ABC):
    """Starts runners of one kind."""

    @abstractmethod
    def launch(self) -> Channel:
        """Start a runner.

        Raises:
            SandboxError: It cannot be started; the message says what is missing.
        """

    def close(self) -> None:  # noqa: B027 - optional
        """Release resources."""


class Runner:
    """Sends requests to a runner, one after another.

    Args:
        channel: The connection to it.
    """

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._received = bytearray()
        self._clean = self._has_started = False

    def wait_until_clean(self) -> None:
        """Wait until the runner has removed everything that the last program left.

        Raises:
            SandboxError: It fails to clean up, or to start.
        """
        end = time.monotonic() + (_CLEAN_SECONDS if self._has_started else _START_SECONDS)
        while not self._clean:
            self._clean = "clean" in self._message(end)
        self._has_started = True

    def begin(self, request: dict[str, Any]) -> bool:
        """Send a request; return whether it arrived. If not, the runner is dead."""
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
        """Wait for a result; return it, and whether a session can go on.

        If the runner or its monitor dies, the program met a limit outside of them, such as the
        memory of the container. That is the program's failure, so it is not raised.

        Raises:
            SessionEndedError: The session ended after its last piece; this one was not run.
        """
        end = time.monotonic() + timeout + _GRACE_SECONDS
        try:
            message = self._message(end)
        except SandboxError as error:
            late = time.monotonic() >= end
            self.channel.kill()
            return Execution(137, stderr=f"{error}\n", limit="wall_time" if late else None), False
        if "lost" in message:
            raise SessionEndedError(message["lost"])
        if "execution" not in message:
            self.channel.kill()
            if message.get("killed"):
                return Execution(137, stderr=_KILLED), False
            raise SandboxError(f"The sandbox failed to run a program. {self.channel.stderr()}")
        answer = message["execution"]
        alive = answer.pop("alive", False)
        for name in ("stdout", "stderr"):
            answer[name] = base64.b64decode(answer[name]).decode("utf-8", "replace")
        return Execution(**answer), alive

    def _message(self, end: float) -> dict[str, Any]:
        length = struct.unpack("!I", self._exactly(4, end))[0]
        if length > _LARGEST_MESSAGE:
            raise SandboxError(f"The sandbox's runner sent a message of {length} bytes.")
        message: dict[str, Any] = json_value(self._exactly(length, end))
        return message

    def _exactly(self, length: int, end: float) -> bytes:
        while len(self._received) < length:
            try:
                chunk = self.channel.read(max(end - time.monotonic(), 0.001))
            except OSError as error:
                raise SandboxError(f"The sandbox's runner does not answer: {error}.") from error
            if not chunk:
                message = f"The sandbox's runner has ended. {self.channel.stderr()}"
                raise SandboxError(message.strip())
            self._received += chunk
        data = bytes(self._received[:length])
        del self._received[:length]
        return data
