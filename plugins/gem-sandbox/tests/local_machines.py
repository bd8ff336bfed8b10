"""Machines of the provider ``local``, and what they can do here."""

import functools
import os
import subprocess
from pathlib import Path

from gem_core.errors import MachineError
from gem_sandbox.machines.local.groups import Groups
from gem_sandbox.machines.local.provider import LocalProvider
from gem_workers.machine import Machine, MachineSpec

__all__ = ["controllers", "has_users", "why_not_local", "write_small_root"]


@functools.cache
def why_not_local() -> str:
    """Return why no machine can be started here, or nothing."""
    try:
        with LocalProvider() as provider:
            provider.start(MachineSpec()).close()
    except MachineError as error:
        return str(error)
    return ""


@functools.cache
def controllers() -> frozenset[str]:
    """Return the controllers of control groups that can be used here."""
    return frozenset(Groups().controllers)


def has_users(machine: Machine) -> bool:
    """Return whether a machine has more users than root."""
    return machine.run("touch /tmp/f && chown 7:8 /tmp/f && rm /tmp/f", user="root", cwd="/").ok


def write_small_root(folder: Path) -> None:
    """Write a root file system that has bash and nothing else."""
    for name in ("usr", "bin", "lib", "lib64"):
        if Path("/", name).is_symlink():
            (folder / name).symlink_to(Path("/", name).readlink())
    (folder / "usr").mkdir(exist_ok=True)
    for name in ("bin", "lib", "lib64"):
        (folder / "usr" / name).mkdir(exist_ok=True)
    needed = subprocess.run(["ldd", "/bin/bash"], capture_output=True, text=True, check=True).stdout
    for path in ["/usr/bin/bash", *(w for w in needed.split() if w.startswith("/"))]:
        place = folder / os.path.realpath(path).lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(Path(path).read_bytes())
        place.chmod(0o755)
        link = folder / path.lstrip("/")
        if not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.write_bytes(Path(path).read_bytes())
            link.chmod(0o755)
    folder.chmod(0o755)
