"""What an answer means. It comes from where hostile programs run: nothing is taken on trust."""

import struct
from typing import cast

from gem_core.sandbox import Execution, Limit
from gem_sandbox.warm.inside.messages import ENDED, Outcome, unpack_outcomes
from gem_workers.frames import LATE, Frame

__all__ = ["GRACE", "KILLED", "executions_of"]

GRACE = 10.0
"""Seconds beyond its own that a run is given to answer, before all of it is killed."""
_KILLED_STATUS = 137
KILLED = Execution(_KILLED_STATUS, stderr="[The sandbox's process was killed.]\n")
"""What is reported of a run whose process is gone."""


def executions_of(frame: Frame, timeout: float) -> list[Execution]:
    """Return what an answer says of runs, in order; nothing if their process has died."""
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
    )
