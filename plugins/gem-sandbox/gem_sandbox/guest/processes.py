"""Processes: set their limits, find descendants, and kill all of them."""

from __future__ import annotations

import base64
import contextlib
import math
import os
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

from gem_sandbox.guest.process_tree import descendants, tasks

__all__ = [
    "adopt_orphans",
    "call_filter",
    "cpu_time_of",
    "end_all",
    "end_tree",
    "environment",
    "oom_kills",
    "peak_memory",
    "raise_priority",
    "set_limits",
    "set_oom_score",
    "tasks_below",
    "wait_for",
]

PR_SET_CHILD_SUBREAPER = 36
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
OOM_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")


def environment(folder: str, *, customized: bool) -> dict[str, str]:
    """Return the environment of programs: of the host's, only ``LD_LIBRARY_PATH``.

    Args:
        folder: Their working directory.
        customized: Whether the interpreter starts with the ``sitecustomize`` in the folder
            ``folder + "-site"``.
    """
    fixed = {
        "PATH": os.path.dirname(sys.executable or "/bin/x") + ":/usr/local/bin:/usr/bin:/bin",
        "HOME": folder,
        "TMPDIR": folder,
        "LANG": "C.UTF-8",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    begin_with = {"PYTHONPATH": folder + "-site"} if customized else {}
    return {**fixed, **kept, **begin_with}


def set_limits(request: dict[str, Any], *, shared_user: bool) -> None:
    """Limit this process, which is about to become the program."""
    cpu_time = math.ceil(request["cpu_time"]) if request["cpu_time"] else None
    limits = {
        resource.RLIMIT_AS: request["memory"],
        resource.RLIMIT_FSIZE: request["file_size"],
        resource.RLIMIT_CORE: 0,
        # The kernel counts all processes of the user; for a shared user this is an upper bound.
        resource.RLIMIT_NPROC: request["processes"] + (all_tasks() if shared_user else 0),
    }
    bounds = {kind: (value, value) for kind, value in limits.items() if value is not None}
    if cpu_time is not None:
        bounds[resource.RLIMIT_CPU] = (
            cpu_time,
            cpu_time + 1,
        )  # SIGXCPU; then SIGKILL, if that is ignored
    for kind, bound in bounds.items():
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, bound)


def all_tasks() -> int:
    """Return the number of tasks of the system, 0 if unknown."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/loadavg") as file:
        return int(file.read().split()[3].split("/")[1])
    return 0


def raise_priority() -> None:
    """Give this process, but not its children, real-time priority, if that is allowed.

    It has to stop a flood of processes, so it must not compete with them for a core.
    """
    with contextlib.suppress(OSError, AttributeError):
        policy = os.SCHED_RR | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(1))


def call_filter(filters: dict[str, str]) -> Callable[[], None]:
    """Return a function that installs a filter of system calls in the calling process.

    Args:
        filters: A BPF program in base64 for each kind of processor; if empty, there is no filter.
    """
    if not filters:
        return lambda: None
    import ctypes  # noqa: PLC0415 - only where there is a filter

    program = base64.b64decode(filters[os.uname().machine])
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    held = ctypes.create_string_buffer(program, len(program))

    def install() -> None:
        header = struct.pack("@HxxxxxxQ", len(program) // 8, ctypes.addressof(held))
        if prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "The filter of system calls was refused")

    return install


def set_oom_score(score: int) -> None:
    """Set how early the kernel kills this process and its children when memory runs out."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(score))


def oom_kills() -> int:
    """Return how many processes of this container the kernel has killed for memory so far."""
    for path in OOM_COUNTERS:
        try:
            with open(path) as file:
                lines = dict(line.split() for line in file)
        except (OSError, ValueError):
            continue
        if "oom_kill" in lines:
            return int(lines["oom_kill"])
    return 0


def cpu_time_of(usage: Any) -> float:
    """Return the seconds of CPU time of a ``struct rusage``."""
    return float(usage.ru_utime + usage.ru_stime)


def peak_memory(usage: Any) -> int:
    """Return the peak memory of a ``struct rusage`` in bytes, 0 if unknown."""
    if usage is None:
        return 0
    return int(usage.ru_maxrss) * (1 if sys.platform == "darwin" else 1024)


def wait_for(child: int) -> int:
    """Wait for a child, and reap orphans meanwhile.

    Returns:
        The child's exit code, or the negative number of the signal that ended it.
    """
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def end_all() -> None:
    """As process 1 of a namespace, kill and reap all its other processes."""
    while True:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants, if the system supports that."""
    import ctypes  # noqa: PLC0415 - not needed in containers

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_tree(group: int | None = None) -> None:
    """Kill all descendants of this process.

    Args:
        group: A process group of descendants, for systems without ``/proc/*/children``.
    """
    while True:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if group is not None:
                os.killpg(group, signal.SIGKILL)
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.0005)


def tasks_below(pid: int) -> int:
    """Return the number of threads of all descendants of a process."""
    return sum(len(tasks(child)) for child in descendants(pid))
