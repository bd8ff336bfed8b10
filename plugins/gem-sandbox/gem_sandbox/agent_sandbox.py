"""Sandboxes whose programs are run by agents, wherever these live."""

import base64
import contextlib
import functools
import importlib.resources
import os
import weakref
from collections.abc import Hashable
from pathlib import PurePosixPath
from typing import Any

from gem_core.errors import ConfigError, SandboxError
from gem_core.sandbox import Execution, Program, SandboxSession
from gem_sandbox.agent_pool import AgentPool, shared_pools
from gem_sandbox.agents import Agent, Launcher
from gem_sandbox.base import BaseSandbox, ReplaySession, check_limits

__all__ = ["AgentSandbox", "AgentSession"]

_PROGRAM = "main.py"
_SUPPLY = f"""
import os, sys
sys.path.remove(os.environ.pop("PYTHONPATH"))
try:
    with open({_PROGRAM!r}, "rb") as file:
        supply(compile(file.read(), {_PROGRAM!r}, "exec"))
except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
    pass  # the interpreter says it
"""


class AgentSandbox(BaseSandbox):
    """A sandbox whose programs are run by agents.

    Args:
        key: What is the same for sandboxes that share agents.
        launcher: Starts agents.
        workers: How many programs run at a time; None for one a core, 8 at most.
    """

    def __init__(self, key: Hashable, launcher: Launcher, workers: int | None) -> None:
        size = min(8, os.cpu_count() or 1) if workers is None else workers
        if size < 1:
            raise ConfigError(f"workers must be 1 or more; got {size}.")
        self._pool = shared_pools.lease((key, size), lambda: AgentPool(launcher, size))
        self._release = weakref.finalize(self, shared_pools.release, (key, size))
        self._sessions: weakref.WeakSet[AgentSession] = weakref.WeakSet()

    def run(self, program: Program) -> Execution:
        """Run one program to its end or its limit.

        Raises:
            ConfigError: A field of the program makes no sense.
            SandboxError: The sandbox is closed, or cannot run programs here.
        """
        self._check_open()
        return self._pool.run(_request(program), program.timeout)

    def session(
        self, *, timeout: float = 10.0, memory: int = 1 << 30, output_limit: int = 1 << 20
    ) -> SandboxSession:
        """Return a session with an agent of its own."""
        self._check_open()
        limits = Program("", timeout=timeout, memory=memory, output_limit=output_limit)
        session = AgentSession(self, self._pool, limits)
        self._sessions.add(session)
        return session

    def close(self) -> None:
        """End its sessions, and the agents unless other sandboxes share them."""
        self._release()
        for session in list(self._sessions):
            session.close()

    def _check_open(self) -> None:
        if not self._release.alive:
            raise SandboxError("This sandbox is closed; make another one.")


class AgentSession(ReplaySession):
    """A session that has an agent to itself while its process lives.

    Args:
        sandbox: Whose session it is; it lives as long.
        pool: Where agents come from.
        limits: Its limits; there is no source.
    """

    def __init__(self, sandbox: AgentSandbox, pool: AgentPool, limits: Program) -> None:
        super().__init__(timeout=limits.timeout)
        self._sandbox = sandbox
        self._pool = pool
        self._request = {**_request(limits), "do": "session", "cpu_time": None}
        self._agent: Agent | None = None
        self._alive = False

    def _begin(self) -> None:
        for _ in range(2):
            self._agent = self._pool.take()
            self._alive = self._agent.begin(self._request)
            if self._alive:
                return
            self._end()
        raise SandboxError("The sandbox's agents end as soon as they are asked.")

    def _cell(self, source: str, timeout: float) -> tuple[Execution, bool]:
        agent = self._agent
        if agent is None:
            raise SandboxError("This session has no process.")
        try:
            agent.send({"do": "cell", "source": _encoded(source), "timeout": timeout})
        except OSError as error:
            self._alive = False
            return Execution(137, stderr=f"The sandbox's agent has ended: {error}.\n"), False
        execution, self._alive = agent.execution(timeout)
        return execution, self._alive

    def _end(self) -> None:
        agent, self._agent = self._agent, None
        if agent is None:
            return
        if self._alive:
            with contextlib.suppress(OSError):
                agent.send({"do": "end"})
        self._pool.give(agent)


def _encoded(text: str | bytes) -> str:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return base64.b64encode(data).decode()


@functools.cache
def _supplier() -> str:
    """Return a ``sitecustomize`` that supplies the common names that a program uses."""
    names = importlib.resources.files("gem_sandbox.warm.inside").joinpath("names.py")
    return names.read_text("utf-8") + _SUPPLY


def _request(program: Program) -> dict[str, Any]:
    if program.language != "python":
        raise ConfigError(f"This sandbox runs programs in 'python'; got {program.language!r}.")
    check_limits(program)
    for name in program.files:
        path = PurePosixPath(name)
        if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in name:
            raise ConfigError(
                f"A file of a program has a relative path without '..'; got {name!r}."
            )
    files: dict[str, str | bytes] = {**program.files, _PROGRAM: program.source}
    return {
        "do": "run",
        "name": _PROGRAM,
        "customize": _encoded(_supplier()) if program.supply_names else "",
        "arguments": list(program.arguments),
        "files": {name: _encoded(content) for name, content in files.items()},
        "stdin": _encoded(program.stdin),
        "timeout": program.timeout,
        "cpu_time": program.cpu_time or program.timeout + 1,
        "memory": program.memory,
        "output_limit": program.output_limit,
        "processes": program.processes,
        "file_size": program.file_size,
    }
