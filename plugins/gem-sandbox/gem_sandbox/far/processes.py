"""Processes: what they may use, who is below whom, and how all of them are ended."""

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

__all__ = [
    "adopt_orphans",
    "call_filter",
    "come_first",
    "descendants",
    "end_all",
    "end_tree",
    "environment",
    "oom_kills",
    "peak_memory",
    "set_limits",
    "set_oom_score",
    "tasks_below",
    "used",
    "wait_for",
]

PR_SET_CHILD_SUBREAPER = 36
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
OOM_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")


def environment(folder: str, *, customized: bool) -> dict[str, str]:
    """Return the environment of programs: nothing of the host's but where libraries are.

    Args:
        folder: Their working directory.
        customized: Whether the interpreter is to begin with what is in the folder beside it.
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
        # It counts all processes of a user, so for one that others share it is only a bound.
        resource.RLIMIT_NPROC: request["processes"] + (all_tasks() if shared_user else 0),
    }
    bounds = {kind: (value, value) for kind, value in limits.items() if value is not None}
    if cpu_time is not None:
        bounds[resource.RLIMIT_CPU] = (cpu_time, cpu_time + 1)  # SIGXCPU, and SIGKILL to the deaf
    for kind, bound in bounds.items():
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, bound)


def all_tasks() -> int:
    """Return how many tasks the system has, 0 if it does not say."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/loadavg") as file:
        return int(file.read().split()[3].split("/")[1])
    return 0


def come_first() -> None:
    """Have this process, but none that it starts, run as soon as it can, if that is allowed.

    Who is to stop a flood of processes must not wait for a turn among them.
    """
    with contextlib.suppress(OSError, AttributeError):
        policy = os.SCHED_RR | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(1))


def call_filter(filters: dict[str, str]) -> Callable[[], None]:
    """Return what forbids this process all system calls that a filter does not allow.

    Args:
        filters: For each kind of processor the filter, base64 of a BPF program; for none there is
            no filter.
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
    """Say how soon to end this process, and what it starts, when memory runs out."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(score))


def oom_kills() -> int:
    """Return how many processes of this container were killed for memory so far."""
    for path in OOM_COUNTERS:
        try:
            with open(path) as file:
                lines = dict(line.split() for line in file)
        except (OSError, ValueError):
            continue
        if "oom_kill" in lines:
            return int(lines["oom_kill"])
    return 0


def used(usage: Any) -> float:
    """Return seconds of CPU time."""
    return float(usage.ru_utime + usage.ru_stime)


def peak_memory(usage: Any) -> int:
    """Return bytes, 0 if unknown."""
    if usage is None:
        return 0
    return int(usage.ru_maxrss) * (1 if sys.platform == "darwin" else 1024)


def wait_for(keeper: int) -> int:
    """Wait for a child, and for whatever else is handed to us meanwhile.

    Returns:
        Its exit code, or the negative of the signal that ended it.
    """
    while True:
        pid, status = os.wait()
        if pid == keeper:
            return os.waitstatus_to_exitcode(status)


def end_all() -> None:
    """Kill every process of this namespace but its first one, which is us, and reap them."""
    while True:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, where the system can do that."""
    import ctypes  # noqa: PLC0415 - containers do without

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_tree(group: int | None = None) -> None:
    """Kill what this process has started and all that came of it.

    Args:
        group: A process group among them, for systems that do not say whose child is whose.
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


def descendants(pid: int) -> list[int]:
    """Return the processes below one, as far as they hang together at this moment."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                for child in map(int, file.read().split()):
                    found += [child, *descendants(child)]
    return found


def tasks_below(pid: int) -> int:
    """Return how many threads of how many processes are below one."""
    count = 0
    for child in descendants(pid):
        with contextlib.suppress(OSError):
            count += len(os.listdir(f"/proc/{child}/task"))
    return count
