"""The ways to keep programs apart, strongest first, and which of them work here."""

import platform
import sys
from functools import cache
from typing import Literal, get_args

from gem_core.errors import SandboxError
from gem_core.sandbox import Program
from gem_sandbox.warm.seccomp import MACHINES

__all__ = ["TIERS", "Tier", "strongest_tier", "why_not"]

Tier = Literal["full", "namespaces", "confined"]
TIERS: tuple[Tier, ...] = get_args(Tier)

_CHECK = "import os\nprint(os.getcwd(), 6 * 7)"
_SECONDS = 10.0


@cache
def why_not(tier: Tier) -> str:
    """Return why a tier does not work on this machine, or nothing if it does: a program is run."""
    if not sys.platform.startswith("linux"):
        return f"it needs Linux, and this is {sys.platform}"
    if platform.machine() not in MACHINES:
        return f"it knows the system calls of {' and '.join(MACHINES)}, not {platform.machine()}"
    from gem_sandbox.warm.sandbox import WarmSandbox  # noqa: PLC0415 - it imports this module

    sandbox = WarmSandbox(workers=1, preload=(), tier=tier)
    try:
        execution = sandbox.run(Program(_CHECK, timeout=_SECONDS))
    except (SandboxError, OSError) as error:
        return str(error)
    finally:
        sandbox.close()
    if not execution.ok or not execution.stdout.endswith(" 42\n"):
        return f"a program that should print 42 ended so: {execution}"
    return ""


@cache
def strongest_tier() -> Tier:
    """Return the strongest tier that works here.

    Raises:
        SandboxError: None does.
    """
    reasons = {}
    for tier in TIERS:
        reasons[tier] = why_not(tier)
        if not reasons[tier]:
            return tier
    raise SandboxError(
        "No way to keep programs apart works here: "
        + "; ".join(f"{tier}: {reason}" for tier, reason in reasons.items())
        + ". To run them without isolation all the same, ask for the sandbox 'process' by name."
    )
