"""What an answer means. It comes from where hostile programs run: nothing is taken on trust."""

import struct
from typing import cast

from gem_core.sandbox import Execution, Limit
from gem_core.workers.frames import LATE, Frame
from gem_sandbox.warm.inside.messages import ENDED, Outcome

__all__ = ["GRACE", "KILLED", "execution_of"]

GRACE = 10.0
"""Seconds beyond its own that a run is given to answer, before all of it is killed."""
_KILLED_STATUS = 137
KILLED = Execution(_KILLED_STATUS, stderr="[The sandbox's process was killed.]\n")
"""What is reported of a run whose process is gone."""


def execution_of(frame: Frame, timeout: float) -> Execution | None:
    """Return what an answer says; None if the run's process has died."""
    if frame.kind == LATE:
        return Execution(_KILLED_STATUS, duration=timeout, limit="wall_time")
    if frame.kind != ENDED:
        return None
    try:
        outcome = Outcome.unpack(bytes(frame.body))
    except (ValueError, IndexError, struct.error):
        return None
    return Execution(
        outcome.exit_status,
        outcome.stdout.decode(errors="replace"),
        outcome.stderr.decode(errors="replace"),
        outcome.duration,
        outcome.peak_memory,
        cast("Limit | None", outcome.limit or None),
    )
