"""Sandboxes whose programs are run by runners: child processes, or containers."""

import base64
import contextlib
import functools
import importlib.resources
import os
import weakref
from collections.abc import Hashable
from typing import Any

from gem_core.errors import ConfigError, SandboxError
from gem_core.sandbox import Execution, Program, SandboxSession
from gem_sandbox.runner import Launcher, Runner
from gem_sandbox.runner_pool import RunnerPool
from gem_sandbox.shared_pools import shared_pools
from gem_workers.base_sandbox import BaseSandbox, ReplaySession
from gem_workers.cancellation import cancellable

__all__ = ["RunnerSandbox", "RunnerSession"]

_PROGRAM = "main.py"
_SUPPLY_NAMES = f"""
import os, sys
sys.path.remove(os.environ.pop("PYTHONPATH"))
try:
    with open({_PROGRAM!r}, "rb") as file:
        supply(compile(file.read(), {_PROGRAM!r}, "exec"))
except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
    pass  # the interpreter will report it
"""


class RunnerSandbox(BaseSandbox):
    """A sandbox whose programs are run by runners.

    Args:
        key: Sandboxes with equal keys share runners.
        launcher: Starts runners.
        workers: The number of programs that may run at the same time; None for one per core, at
            most 8.
    """

    def __init__(self, key: Hashable, launcher: Launcher, workers: int | None) -> None:
        size = min(8, os.cpu_count() or 1) if workers is None else workers
        if size < 1:
            raise ConfigError(f"workers must be at least 1, or None; got {size}.")
        self._pool = shared_pools.lease((key, size), lambda: RunnerPool(launcher, size))
        self._release = weakref.finalize(self, shared_pools.release, (key, size))
        self._sessions: weakref.WeakSet[RunnerSession] = weakref.WeakSet()

    def run(self, program: Program) -> Execution:
        """Run one program until it ends or meets a limit.

        Raises:
            ConfigError: The program is not in Python.
            SandboxError: The sandbox is closed, or cannot run programs here.
        """
        self.check_open()
        return self._pool.run(_request(program), program.timeout)

    def session(
        self, *, timeout: float = 10.0, memory: int = 1 << 30, output_limit: int = 1 << 20
    ) -> SandboxSession:
        """Return a session, which has a runner to itself."""
        self.check_open()
        limits = Program("", timeout=timeout, memory=memory, output_limit=output_limit)
        session = RunnerSession(self, self._pool, limits)
        self._sessions.add(session)
        return session

    def close(self) -> None:
        """End the sandbox's sessions, and its runners unless another sandbox shares them."""
        super().close()
        self._release()
        for session in list(self._sessions):
            session.close()


class RunnerSession(ReplaySession):
    """A session that has a runner to itself while its process lives.

    Args:
        sandbox: The session's sandbox, kept open as long as the session exists.
        pool: Where runners come from.
        limits: A program without source, for its limits.
    """

    def __init__(self, sandbox: RunnerSandbox, pool: RunnerPool, limits: Program) -> None:
        super().__init__(timeout=limits.timeout)
        self._sandbox = sandbox
        self._pool = pool
        self._request = {**_request(limits), "do": "session", "cpu_time": None}
        self._runner: Runner | None = None
        self._alive = False

    def start_process(self) -> None:
        for _ in range(2):
            self._runner = self._pool.take()
            self._alive = self._runner.begin(self._request)
            if self._alive:
                return
            self.end_process()
        raise SandboxError("The sandbox's runners die as soon as they get a request.")

    def run_piece(self, source: str, timeout: float) -> tuple[Execution, bool]:
        runner = self._runner
        if runner is None:
            raise SandboxError("This session has no process.")
        with cancellable(runner.channel.hang_up):  # sending too: what runs must be ended
            self._alive = False  # also if this raises
            try:
                runner.send({"do": "cell", "source": _encoded(source), "timeout": timeout})
            except OSError as error:
                return Execution(137, stderr=f"The sandbox's runner has ended: {error}.\n"), False
            execution, self._alive = runner.execution(timeout)
        return execution, self._alive

    def end_process(self) -> None:
        runner, self._runner = self._runner, None
        if runner is None:
            return
        if self._alive:
            with contextlib.suppress(OSError):
                runner.send({"do": "end"})
        self._pool.give_back(runner)


def _encoded(text: str | bytes) -> str:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return base64.b64encode(data).decode()


@functools.cache
def _sitecustomize() -> str:
    """Return a ``sitecustomize`` that supplies the common names that a program uses."""
    names = importlib.resources.files("gem_workers").joinpath("common_names.py")
    return names.read_text("utf-8") + _SUPPLY_NAMES


def _request(program: Program) -> dict[str, Any]:
    if program.language != "python":
        raise ConfigError(f"This sandbox runs python; got language={program.language!r}.")
    files: dict[str, str | bytes] = {**program.files, _PROGRAM: program.source}
    return {
        "do": "run",
        "name": _PROGRAM,
        "sitecustomize": _encoded(_sitecustomize()) if program.supply_names else "",
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
