"""Sessions of the warm sandbox: one interpreter that runs piece after piece."""

import marshal
from collections.abc import Callable
from typing import Any

from gem_sandbox.warm.guest.messages import CELL, END, ENDED, LOST, SESSION
from gem_sandbox.warm.libraries import zygote_for
from gem_sandbox.warm.results import GRACE, KILLED, executions_of
from gem_sandbox.warm.zygote_pool import Lease, ZygotePool
from gem_workers.base_sandbox import ReplaySession, SessionEndedError
from gem_workers.cancellation import cancellable
from gem_workers.frames import NOT_BEGUN, pack
from gem_workers.sandbox import Execution

__all__ = ["WarmSession"]


class _SessionLease:
    """The supervisor of a session, while its process lives."""

    def __init__(self) -> None:
        self.lease: Lease | None = None

    def end(self) -> None:
        """End the process, and give the supervisor back; may be called twice."""
        lease, self.lease = self.lease, None
        if lease is None:
            return
        if lease.worker is not None and not lease.healthy:
            lease.healthy = lease.ask(pack(END), GRACE).kind == ENDED
        lease.release()


class WarmSession(ReplaySession):
    """A session that has a process to itself; between its runs the process is stopped.

    Args:
        pool: Returns the sandbox's pool, or raises if the sandbox is closed.
        limits: The limits of the process, see ``jobs.limits_of``.
    """

    def __init__(self, pool: Callable[[], ZygotePool], limits: dict[str, Any]) -> None:
        self._process = _SessionLease()
        super().__init__(timeout=limits["timeout"], release=self._process.end)
        self._pool = pool
        self._limits = limits

    def start_process(self) -> None:
        """Do nothing: the first piece decides which interpreter to start."""

    def run_piece(self, source: str, timeout: float) -> tuple[Execution, bool]:
        piece = source.encode(errors="surrogatepass"), timeout
        pool = self._pool()
        with pool.slots.acquire():
            lease = self._process.lease
            if lease is None:
                zygote = zygote_for(source, pool.preload, supply_names=False)
                lease = self._process.lease = Lease(pool, zygote)
                message = pack(SESSION, marshal.dumps({**self._limits, "piece": piece}))
                attempts = pool.slots.size + 1  # supervisors may have died while they were idle
            else:
                message, attempts = pack(CELL, marshal.dumps(piece)), 1
            with cancellable(lease.end):
                for _ in range(attempts):
                    frame = lease.ask(message, timeout + GRACE)
                    if frame.kind != NOT_BEGUN:
                        break
        if frame.kind == LOST:
            raise SessionEndedError(bytes(frame.body).decode())
        executions = executions_of(frame, timeout)
        lease.healthy = frame.last and bool(executions)
        return (executions or [KILLED])[0], bool(executions) and not frame.last

    def end_process(self) -> None:
        self._process.end()
