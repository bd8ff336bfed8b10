"""Sandboxes whose programs are run by runners: child processes, or containers."""

import base64
import contextlib
import functools
import importlib.resources
import os
from collections.abc import Hashable
from typing import Any

from gem_core.errors import ConfigError, SandboxError
from gem_sandbox.pooled_sandbox import PooledSandbox
from gem_sandbox.runner import Launcher, Runner
from gem_sandbox.runner_pool import RunnerPool
from gem_workers.base_sandbox import ReplaySession
from gem_workers.cancellation import cancellable
from gem_workers.sandbox import Execution, Program, SandboxSession

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


class RunnerSandbox(PooledSandbox[RunnerPool]):
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
        super().__init__()
        self._size, self._launcher = size, launcher
        self._key = key, size

    def run(self, program: Program) -> Execution:
        """Run one program until it ends or meets a limit.

        Raises:
            ConfigError: The program is not in Python.
            SandboxError: The sandbox is closed, or cannot run programs here.
            ForkError: This is a fork of the process that made the sandbox.
        """
        return self._runners().run(_request(program), program.timeout, self.endable)

    def _runners(self) -> RunnerPool:
        launcher, size = self._launcher, self._size
        return self.leased(self._key, lambda: RunnerPool(launcher, size))

    def session(
        self, *, timeout: float = 10.0, memory: int = 1 << 30, output_limit: int = 1 << 20
    ) -> SandboxSession:
        """Return a session, which has a runner to itself."""
        limits = Program("", timeout=timeout, memory=memory, output_limit=output_limit)
        return self.opened(RunnerSession(self, self._runners(), limits))


class _SessionRunner:
    """The runner of a session, while its process lives.

    Args:
        pool: Where runners come from.
    """

    def __init__(self, pool: RunnerPool) -> None:
        self._pool = pool
        self.runner: Runner | None = None
        self.is_alive = False
        """Whether the runner waits for the next piece."""

    def start(self, request: dict[str, Any]) -> None:
        for _ in range(2):
            self.runner = self._pool.take()
            self.is_alive = self.runner.begin(request)
            if self.is_alive:
                return
            self.end()
        raise SandboxError("The sandbox's runners die as soon as they get a request.")

    def end(self) -> None:
        """End the process, and give the runner back; may be called twice."""
        runner, self.runner = self.runner, None
        if runner is None:
            return
        if self.is_alive:
            with contextlib.suppress(OSError):
                runner.send({"do": "end"})
        self._pool.give_back(runner)


class RunnerSession(ReplaySession):
    """A session that has a runner to itself while its process lives.

    Args:
        sandbox: The session's sandbox, kept open as long as the session exists.
        pool: Where runners come from.
        limits: A program without source, for its limits.
    """

    def __init__(self, sandbox: RunnerSandbox, pool: RunnerPool, limits: Program) -> None:
        self._process = _SessionRunner(pool)
        super().__init__(timeout=limits.timeout, release=self._process.end)
        self._sandbox = sandbox
        self._request = {**_request(limits), "do": "session", "cpu_time": None}

    def start_process(self) -> None:
        self._sandbox.check_open()
        self._process.start(self._request)

    def run_piece(self, source: str, timeout: float) -> tuple[Execution, bool]:
        process = self._process
        runner = process.runner
        if runner is None:
            raise SandboxError("This session has no process.")
        with cancellable(runner.channel.hang_up):  # sending too: what runs must be ended
            process.is_alive = False  # also if this raises
            try:
                runner.send({"do": "cell", "source": _encoded(source), "timeout": timeout})
            except OSError as error:
                return Execution(137, stderr=f"The sandbox's runner has ended: {error}.\n"), False
            try:
                execution, process.is_alive = runner.execution(timeout)
            except Exception:
                raise
            except BaseException:
                runner.channel.hang_up()  # nobody waits for the piece any more
                raise
        return execution, process.is_alive

    def end_process(self) -> None:
        self._process.end()


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
