"""Which process owns a container or an image of an engine, and whether it still lives."""

import os
import socket
from pathlib import Path

__all__ = ["identity", "is_orphaned"]


def identity(pid: int) -> str:
    """Return the boot, the pid namespace, the pid and the start time of a process."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = Path("/proc/self/ns/pid").readlink()
        started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return f"{socket.gethostname()} {pid}@"
    return f"{boot} {space} {pid}@{started}"


def is_orphaned(owner: str) -> bool:
    """Return whether a process of this machine and pid namespace has an identity no more.

    Args:
        owner: The identity.
    """
    pid = int(owner.rpartition(" ")[2].partition("@")[0])
    here = identity(os.getpid()).rpartition(" ")[0]
    return owner.rpartition(" ")[0] == here and identity(pid) != owner
