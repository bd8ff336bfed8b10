"""The sandbox ``warm``: each program in a fresh fork of an interpreter that has started already."""

import marshal
import math
import os
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from gem_core.errors import ConfigError, SandboxError
from gem_core.sandbox import Execution, Program, SandboxSession
from gem_core.workers.frames import NOT_BEGUN, Frame, pack
from gem_sandbox.agent_pool import shared_pools
from gem_sandbox.base import check_limits
from gem_sandbox.warm.answers import GRACE, KILLED, executions_of
from gem_sandbox.warm.engine import Engine
from gem_sandbox.warm.inside.messages import END, ENDED, NEXT, RUN, TESTS
from gem_sandbox.warm.libraries import group_of, installed
from gem_sandbox.warm.session import WarmSession
from gem_sandbox.warm.tiers import TIERS, Tier, strongest_tier

__all__ = ["WarmSandbox"]

_ATTEMPTS = 2
_MOST_AT_ONCE = 16
"""Runs that a supervisor is asked for at once."""
_NO_DEADLINE = 1_000_000
_LEAST_FILES = 1 << 24

Stop = Callable[[int, Execution], bool]


class Ask(NamedTuple):
    """What to ask a supervisor, and how long to wait for the answer, in seconds."""

    request: bytes
    deadline: float


Steps = Generator[Ask, Frame, list[Execution]]


class WarmSandbox:
    """Runs Python programs in forks of interpreters that have imported much already.

    Args:
        workers: Most programs at once; None for one per core.
        preload: Modules to import ahead, light ones first; those that are not installed are
            left out. A program gets an interpreter that has imported what it imports.
        tier: How programs are kept apart: ``"full"``, ``"namespaces"``, ``"confined"``; None for
            the strongest that works here.

    Raises:
        ConfigError: An argument that cannot work.
        SandboxError: No way to keep programs apart works here, or not the one asked for.
    """

    isolated = True

    def __init__(
        self,
        *,
        workers: int | None = None,
        preload: Sequence[str] = ("numpy", "sympy"),
        tier: Tier | None = None,
    ) -> None:
        if workers is not None and workers < 1:
            raise ConfigError(f"workers must be at least 1, or None; got {workers}.")
        if isinstance(preload, str):
            raise ConfigError(f"preload must be a sequence of module names; got {preload!r}.")
        if tier is not None and tier not in TIERS:
            raise ConfigError(f"tier must be one of {', '.join(TIERS)}, or None; got {tier!r}.")
        self._workers = workers or len(os.sched_getaffinity(0))
        self._preload = installed(tuple(preload))
        self._tier = tier
        self._engine: Engine | None = None
        self._closed = False
        self._lock = threading.Lock()

    @property
    def tier(self) -> Tier:
        """How programs are kept apart; found out when first asked."""
        return self._tier or strongest_tier()

    def run(self, program: Program) -> Execution:
        """Run one program."""
        return self.run_tests(program, [program.stdin])[0]

    async def arun(self, program: Program) -> Execution:
        """``run`` for asynchronous callers."""
        return (await self.arun_tests(program, [program.stdin]))[0]

    def run_tests(
        self, program: Program, inputs: Sequence[str], *, stop: Stop | None = None
    ) -> list[Execution]:
        """Run the program once for each standard input, in one place, each in a new process."""
        steps, group = _steps(program, inputs, stop), self._group(program)
        engine = self._leased()
        with engine.turns.turn(), engine.lease(group) as lease:
            try:
                ask = next(steps)
                while True:
                    worker = lease.worker or lease.renew()
                    ask = steps.send(lease.note(worker.ask(*ask)))
            except StopIteration as end:
                lease.healthy = True
                return end.value  # type: ignore[no-any-return]

    async def arun_tests(
        self, program: Program, inputs: Sequence[str], *, stop: Stop | None = None
    ) -> list[Execution]:
        """``run_tests`` for asynchronous callers."""
        steps, group = _steps(program, inputs, stop), self._group(program)
        engine = self._leased()
        async with engine.turns.turn_async():
            with engine.lease(group) as lease:
                try:
                    ask = next(steps)
                    while True:
                        worker = lease.worker or await lease.renew_async()
                        ask = steps.send(lease.note(await worker.ask_async(*ask)))
                except StopIteration as end:
                    lease.healthy = True
                    return end.value  # type: ignore[no-any-return]

    def session(
        self, *, timeout: float = 10.0, memory: int = 1 << 30, output_limit: int = 1 << 20
    ) -> SandboxSession:
        """Return a session; it has an interpreter of its own from its first run on."""
        limits = Program("", timeout=timeout, memory=memory, output_limit=output_limit)
        self._leased()
        return WarmSession(self._leased, {**_limits(limits), "cpu_time": _NO_DEADLINE})

    def close(self) -> None:
        """End everything that runs; may be called twice."""
        self._closed = True
        if self._engine is not None:
            self._release()

    def _leased(self) -> Engine:
        """Return the engine that sandboxes share that are made alike, from the first use on."""
        if self._closed:
            raise SandboxError("This sandbox is closed; make another one.")
        if self._engine is None:
            tier = self.tier
            with self._lock:
                self._engine = self._engine or self._lease(tier)
        return self._engine

    def _lease(self, tier: Tier) -> Engine:
        preload, workers = self._preload, self._workers
        key = "warm", tier, preload, workers
        engine = shared_pools.lease(
            key, lambda: Engine(tier=tier, preload=preload, workers=workers)
        )
        self._release = weakref.finalize(self, shared_pools.release, key)
        return engine

    def _group(self, program: Program) -> int:
        return group_of(program.source, self._preload, supply_names=program.supply_names)


def _steps(program: Program, inputs: Sequence[str], stop: Stop | None) -> Steps:
    """Yield what to ask, be sent the answers, and return what became of each run.

    Several runs are asked for at once, more and more of them, so that few are in vain if ``stop``
    ends them early.
    """
    request = _request(program)
    left = [text.encode(errors="replace") for text in inputs]
    kind = TESTS if len(left) > 1 else RUN
    executions: list[Execution] = []
    begun, most = False, 1
    while left:
        batch, found = left[:most], []
        first = {**request, "inputs": batch, "tests": len(left)}
        attempts = _ATTEMPTS
        while attempts:
            said = pack(NEXT, marshal.dumps(batch)) if begun else pack(kind, marshal.dumps(first))
            frame = yield Ask(said, len(batch) * program.timeout + GRACE)
            found = executions_of(frame, program.timeout)[: len(batch)]
            begun = frame.kind == ENDED
            if found:
                break
            attempts -= frame.kind != NOT_BEGUN  # of the program: it has never run
        left = left[max(1, len(found)) :]
        for execution in found or [KILLED]:
            executions.append(execution)
            if stop is not None and stop(len(executions) - 1, execution):
                left = []
                break
        most = min(4 * most, _MOST_AT_ONCE)
    if kind == TESTS and begun and len(executions) < len(inputs):
        yield Ask(pack(END), GRACE)
    return executions


def _request(program: Program) -> dict[str, Any]:
    """Return a program as a run takes it."""
    if program.language != "python":
        raise ConfigError(f"The warm sandbox runs python; got language={program.language!r}.")
    return {
        "source": program.source.encode(errors="surrogatepass"),
        "arguments": [str(argument) for argument in program.arguments],
        "files": {_relative(name): bytes(body) for name, body in program.files.items()},
        "supply_names": program.supply_names,
        **_limits(program),
    }


def _limits(program: Program) -> dict[str, Any]:
    check_limits(program)
    cpu_time = program.timeout if program.cpu_time is None else program.cpu_time
    return {
        "timeout": float(min(program.timeout, _NO_DEADLINE)),
        "cpu_time": max(1, math.ceil(min(cpu_time, _NO_DEADLINE))),
        "memory": int(program.memory),
        "output_limit": int(program.output_limit),
        "processes": int(program.processes),
        "file_size": int(program.file_size),
        "disk": max(int(program.file_size), _LEAST_FILES),
    }


def _relative(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.name or "\0" in name:
        raise ConfigError(f"A file of a program needs a relative path without '..'; got {name!r}.")
    return str(path)
