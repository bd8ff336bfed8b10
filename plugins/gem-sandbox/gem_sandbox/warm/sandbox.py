"""The sandbox ``warm``: runs each program in a new fork of an interpreter kept warm."""

import os
from collections.abc import Sequence

from gem_core.errors import ConfigError
from gem_sandbox.pooled_sandbox import PooledSandbox
from gem_sandbox.warm.jobs import NO_DEADLINE, Job, Stop, limits_of, run_once
from gem_sandbox.warm.libraries import installed, zygote_for
from gem_sandbox.warm.session import WarmSession
from gem_sandbox.warm.tiers import TIERS, Tier, strongest_tier
from gem_sandbox.warm.work_stealing import WorkStealing
from gem_sandbox.warm.zygote_pool import ZygotePool
from gem_workers.sandbox import Execution, Program, SandboxSession

__all__ = ["WarmSandbox"]


class WarmSandbox(PooledSandbox[ZygotePool]):
    """Runs Python programs in forks of interpreters that have imported common modules already.

    Args:
        workers: The number of programs that may run at the same time; None for one per core.
        preload: Modules to import in advance, light ones first; those that are not installed are
            left out. A program gets an interpreter that has imported what it imports.
        tier: The kind of isolation: ``"full"``, ``"namespaces"`` or ``"confined"``; None for the
            strongest that works here.

    Raises:
        ConfigError: An argument is invalid.
        SandboxError: Raised by the first run: no tier works here, or the requested one does not.
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
        super().__init__()

    @property
    def tier(self) -> Tier:
        """The kind of isolation; the first use finds the strongest tier that works."""
        return self._tier or strongest_tier()

    def run(self, program: Program) -> Execution:
        """Run one program."""
        pool, zygote = self._leased(), self._zygote(program)
        with pool.exchange(zygote, run_once(program), self.endable) as exchange:
            exchange.run()
        return exchange.result

    async def arun(self, program: Program) -> Execution:
        """Run one program without blocking the event loop."""
        pool, zygote = self._leased(), self._zygote(program)
        async with pool.exchange_async(zygote, run_once(program), self.endable) as exchange:
            await exchange.run_async()
        return exchange.result

    def run_tests(
        self, program: Program, inputs: Sequence[str], *, stop: Stop | None = None
    ) -> list[Execution]:
        """Run the program once for each standard input, each time in a new process.

        Slow runs are spread over the slots that are free.
        """
        pool, zygote, job = self._leased(), self._zygote(program), Job(program, inputs, stop)
        stealing = WorkStealing(pool, zygote, job)
        try:
            with self.endable(stealing.cancel):
                while not job.is_done:
                    with pool.exchange(zygote, job.steps(), self.endable) as exchange:
                        stealing.run(exchange)
                    if not job.is_over:
                        stealing.wait()
        finally:
            stealing.end()
        return job.executions()

    async def arun_tests(
        self, program: Program, inputs: Sequence[str], *, stop: Stop | None = None
    ) -> list[Execution]:
        """Run the program for each input without blocking the event loop; see ``run_tests``."""
        pool, zygote, job = self._leased(), self._zygote(program), Job(program, inputs, stop)
        stealing = WorkStealing(pool, zygote, job)
        try:
            with self.endable(stealing.cancel):
                while not job.is_done:
                    steps = job.steps()
                    async with pool.exchange_async(zygote, steps, self.endable) as exchange:
                        await stealing.run_async(exchange)
                    if not job.is_over:
                        await stealing.wait_async()
        finally:
            await stealing.end_async()
        return job.executions()

    def session(
        self, *, timeout: float = 10.0, memory: int = 1 << 30, output_limit: int = 1 << 20
    ) -> SandboxSession:
        """Return a session; it has its own interpreter from its first run on."""
        limits = Program("", timeout=timeout, memory=memory, output_limit=output_limit)
        self._leased()
        session = WarmSession(self._leased, {**limits_of(limits), "cpu_time": NO_DEADLINE})
        return self.opened(session)

    def _leased(self) -> ZygotePool:
        """Return the pool, which equal sandboxes share; lease it on first use."""
        self.check_open()
        preload, workers, tier = self._preload, self._workers, self.tier
        key = "warm", tier, preload, workers
        return self.leased(key, lambda: ZygotePool(tier=tier, preload=preload, workers=workers))

    def _zygote(self, program: Program) -> int:
        return zygote_for(program.source, self._preload, supply_names=program.supply_names)
