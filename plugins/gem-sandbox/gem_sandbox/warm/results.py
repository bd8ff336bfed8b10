"""Turn a supervisor's answer into executions. Hostile programs may forge it: trust nothing."""

import struct
from typing import cast

from gem_sandbox.warm.guest.messages import ENDED, Outcome, unpack_outcomes
from gem_workers.frames import LATE, Frame
from gem_workers.sandbox import Execution, Limit

__all__ = ["GRACE", "KILLED", "executions_of"]

GRACE = 10.0
"""Seconds after a run's own deadline in which its supervisor must answer, or it is killed."""
_KILLED_STATUS = 137
KILLED = Execution(_KILLED_STATUS, stderr="[The sandbox's process was killed.]\n")
"""The result of a run whose process has died without an answer."""


def executions_of(frame: Frame, timeout: float) -> list[Execution]:
    """Return the results in an answer, in order; empty if the runs' process has died."""
    if frame.kind == LATE:
        return [Execution(_KILLED_STATUS, duration=timeout, limit="wall_time")]
    if frame.kind != ENDED:
        return []
    try:
        return [_execution_of(outcome) for outcome in unpack_outcomes(bytes(frame.body))]
    except (ValueError, IndexError, struct.error):
        return []


def _execution_of(outcome: Outcome) -> Execution:
    return Execution(
        outcome.exit_status,
        outcome.stdout.decode(errors="replace"),
        outcome.stderr.decode(errors="replace"),
        outcome.duration,
        outcome.peak_memory,
        cast("Limit | None", outcome.limit or None),
        outcome.cpu_time if outcome.cpu_time >= 0 else None,
    )
