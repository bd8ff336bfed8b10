"""How a zygote isolates itself when it starts, and gives up root."""

import os
import signal
from typing import Any

from gem_sandbox.warm.guest import kernel

__all__ = ["become_nobody", "enter_jail", "mount_processes"]

_NAMESPACES = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
)
_QUIET = kernel.MS_NOSUID | kernel.MS_NODEV
_OLD = "/host"
_USER = 1000


def become_nobody(number: int) -> None:
    """Change to an unprivileged user, for good."""
    kernel.drop_bounding_set()
    os.setgroups([])
    os.setresgid(number, number, number)
    os.setresuid(number, number, number)


def mount_processes() -> None:
    """Mount ``/proc``."""
    kernel.mount("proc", "/proc", "proc", _QUIET | kernel.MS_NOEXEC)


def enter_jail(plan: dict[str, Any]) -> None:
    """Move into namespaces in which only the interpreter and its libraries are visible.

    Returns in a child of this process, because only a child enters the namespace of process ids.
    The process itself waits for the child, and exits.
    """
    outside = os.getuid(), os.getgid()
    if plan["as_root"]:
        kernel.unshare(_NAMESPACES)
    else:
        kernel.unshare(_NAMESPACES | kernel.CLONE_NEWUSER)
        kernel.map_user(_USER, outside)
    pid = os.fork()
    if pid:
        kernel.close_from(0)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)
    kernel.die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _build(plan)


def _build(plan: dict[str, Any]) -> None:
    """Make a root file system with the visible paths, and change to it."""
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("root", "/tmp", "tmpfs", _QUIET, "size=1m,mode=0755")  # noqa: S108
    os.mkdir("/tmp" + _OLD)  # noqa: S108
    kernel.pivot_root("/tmp", "/tmp" + _OLD)  # noqa: S108
    for folder in plan["folders"]:
        os.makedirs(folder, exist_ok=True)
    for path in plan["readable"]:
        _show(path, kernel.MS_RDONLY | _QUIET)
    for path in plan["devices"]:
        _show(path, kernel.MS_NOSUID)
    for link, target in plan["links"].items():
        os.symlink(target, link)
    mount_processes()
    kernel.umount(_OLD)
    os.rmdir(_OLD)
    kernel.mount(None, "/", None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | _QUIET)


def _show(path: str, flags: int) -> None:
    """Mount a file or folder of the host at the same path."""
    source = _OLD + path
    if os.path.isdir(source):
        os.makedirs(path, exist_ok=True)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    kernel.mount(source, path, None, kernel.MS_BIND | kernel.MS_REC)
    kernel.remount(path, flags)
