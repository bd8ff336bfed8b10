"""The sandbox ``warm``: each program in a fresh fork of an interpreter that has started already."""

import os
import threading
import weakref
from collections.abc import Sequence

from gem_core.errors import ConfigError, SandboxError
from gem_core.sandbox import Execution, Program, SandboxSession
from gem_sandbox.agent_pool import shared_pools
from gem_sandbox.warm.engine import Engine
from gem_sandbox.warm.libraries import group_of, installed
from gem_sandbox.warm.session import WarmSession
from gem_sandbox.warm.sharing import Sharing
from gem_sandbox.warm.tiers import TIERS, Tier, strongest_tier
from gem_sandbox.warm.work import NO_DEADLINE, Stop, Work, limits_of, run_once

__all__ = ["WarmSandbox"]


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
        engine, group = self._leased(), self._group(program)
        with engine.conversation(group, run_once(program)) as conversation:
            conversation.hold()
        return conversation.result

    async def arun(self, program: Program) -> Execution:
        """``run`` for asynchronous callers."""
        engine, group = self._leased(), self._group(program)
        async with engine.conversation_async(group, run_once(program)) as conversation:
            await conversation.hold_async()
        return conversation.result

    def run_tests(
        self, program: Program, inputs: Sequence[str], *, stop: Stop | None = None
    ) -> list[Execution]:
        """Run the program once for each standard input, each in a new process.

        If that takes long, and turns are free, runs are spread over them.
        """
        engine, group, work = self._leased(), self._group(program), Work(program, inputs, stop)
        sharing = Sharing(engine, group, work)
        try:
            while not work.is_done:
                with engine.conversation(group, work.steps()) as conversation:
                    sharing.hold(conversation)
                sharing.wait()
        finally:
            sharing.end()
        return work.executions()

    async def arun_tests(
        self, program: Program, inputs: Sequence[str], *, stop: Stop | None = None
    ) -> list[Execution]:
        """``run_tests`` for asynchronous callers."""
        engine, group, work = self._leased(), self._group(program), Work(program, inputs, stop)
        sharing = Sharing(engine, group, work)
        try:
            while not work.is_done:
                async with engine.conversation_async(group, work.steps()) as conversation:
                    await sharing.hold_async(conversation)
                await sharing.wait_async()
        finally:
            await sharing.end_async()
        return work.executions()

    def session(
        self, *, timeout: float = 10.0, memory: int = 1 << 30, output_limit: int = 1 << 20
    ) -> SandboxSession:
        """Return a session; it has an interpreter of its own from its first run on."""
        limits = Program("", timeout=timeout, memory=memory, output_limit=output_limit)
        self._leased()
        return WarmSession(self._leased, {**limits_of(limits), "cpu_time": NO_DEADLINE})

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
