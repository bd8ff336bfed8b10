"""The tiers of isolation, strongest first, and which of them work here."""

import platform
import sys
from functools import cache
from typing import Literal, get_args

from gem_core.errors import SandboxError
from gem_sandbox.shared_pools import shared_pools
from gem_sandbox.shortage import shortage
from gem_sandbox.warm.jobs import run_once
from gem_sandbox.warm.seccomp import MACHINES
from gem_sandbox.warm.zygote_pool import ZygotePool
from gem_workers.sandbox import Execution, Program

__all__ = ["TIERS", "Tier", "strongest_tier", "why_not"]

Tier = Literal["full", "namespaces", "confined"]
TIERS: tuple[Tier, ...] = get_args(Tier)

_PROBE = Program("import os\nprint(os.getcwd(), 6 * 7)", timeout=10.0)


@cache
def why_not(tier: Tier) -> str:
    """Run a program in a tier; return why the tier does not work here, or nothing if it does.

    Raises:
        SandboxError: The host has too few open files, processes or memory left to find out.
    """
    if not sys.platform.startswith("linux"):
        return f"it needs Linux, and this is {sys.platform}"
    if platform.machine() not in MACHINES:
        return f"it supports the processors {' and '.join(MACHINES)}, not {platform.machine()}"
    try:
        execution = _probe(tier)
    except (SandboxError, OSError) as error:
        if missing := shortage(error):
            raise SandboxError(f"The warm sandbox cannot start: {missing}.") from error
        return str(error)
    if not execution.ok or not execution.stdout.endswith(" 42\n"):
        return f"a program that should print 42 returned {execution}"
    return ""


def _probe(tier: Tier) -> Execution:
    key = "warm", tier, (), 1
    pool = shared_pools.lease(key, lambda: ZygotePool(tier=tier, preload=(), workers=1))
    try:
        with pool.exchange(0, run_once(_PROBE)) as exchange:
            exchange.run()
    finally:
        shared_pools.release(key)
    return exchange.result


@cache
def strongest_tier() -> Tier:
    """Return the strongest tier that works here.

    Raises:
        SandboxError: No tier works; the message says why for each. Or the host has too few open
            files, processes or memory left: a weaker tier is not a remedy for that.
    """
    reasons = {}
    for tier in TIERS:
        reasons[tier] = why_not(tier)
        if not reasons[tier]:
            return tier
    raise SandboxError(
        "No isolation of programs works here: "
        + "; ".join(f"{tier}: {reason}" for tier, reason in reasons.items())
        + ". Run `gem-core doctor` for what is missing. To run programs without isolation, ask "
        "for the sandbox 'process'."
    )
