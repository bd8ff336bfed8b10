"""Sessions of the warm sandbox: one interpreter that goes on from piece to piece."""

import marshal
from collections.abc import Callable
from typing import Any

from gem_core.sandbox import Execution
from gem_sandbox.base import ReplaySession
from gem_sandbox.warm.answers import GRACE, KILLED, executions_of
from gem_sandbox.warm.engine import Engine, Lease
from gem_sandbox.warm.inside.messages import CELL, END, ENDED, SESSION
from gem_sandbox.warm.libraries import group_of
from gem_workers.frames import pack

__all__ = ["WarmSession"]


class WarmSession(ReplaySession):
    """A session that has a process to itself; between its runs the process stands still.

    Args:
        engine: Returns where processes come from, or raises as the sandbox is closed.
        limits: What the process is told.
    """

    def __init__(self, engine: Callable[[], Engine], limits: dict[str, Any]) -> None:
        super().__init__(timeout=limits["timeout"])
        self._engine = engine
        self._limits = limits
        self._lease: Lease | None = None

    def _begin(self) -> None:
        """Leave it to the first piece, which tells what interpreter is wanted."""

    def _cell(self, source: str, timeout: float) -> tuple[Execution, bool]:
        piece = source.encode(errors="surrogatepass"), timeout
        engine = self._engine()
        with engine.turns.turn():
            if self._lease is None:
                group = group_of(source, engine.preload, supply_names=False)
                self._lease = Lease(engine, group)
                request = pack(SESSION, marshal.dumps({**self._limits, "piece": piece}))
            else:
                request = pack(CELL, marshal.dumps(piece))
            frame = self._lease.ask(request, timeout + GRACE)
        executions = executions_of(frame, timeout)
        self._lease.healthy = frame.last and bool(executions)
        return (executions or [KILLED])[0], bool(executions) and not frame.last

    def _end(self) -> None:
        lease, self._lease = self._lease, None
        if lease is None:
            return
        if lease.worker is not None and not lease.healthy:
            lease.healthy = lease.ask(pack(END), GRACE).kind == ENDED
        lease.release()
