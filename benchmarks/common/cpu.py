"""CPU time of a process and all its descendants, including those in other namespaces.

The time of processes that are killed with their PID namespace is lost to their parents, so adding
up a process tree misses it. A control group counts everything; the tree is the fallback where none
can be created.
"""

import contextlib
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["cpu_clock", "cpu_of", "family", "own_cpu_clock", "peak_rss_of"]

_TICK = os.sysconf("SC_CLK_TCK")
_GROUPS = Path("/sys/fs/cgroup")
_NAME = "gem-bench"


def cpu_clock() -> Callable[[], float]:
    """Return a function that returns the CPU seconds so far; call it before starting processes."""
    with contextlib.suppress(OSError, StopIteration):
        if (_GROUPS / "cgroup.controllers").exists():
            own = next(
                line.split("::")[1]
                for line in Path("/proc/self/cgroup").read_text().splitlines()
                if line.startswith("0::")
            )
            usage = _join(_GROUPS / own.lstrip("/")) / "cpu.stat"
            return lambda: int(usage.read_text().split()[1]) / 1e6
        account = _join(_GROUPS / "cpuacct") / "cpuacct.usage"
        return lambda: int(account.read_text()) / 1e9
    return lambda: sum(_ticks(process) for process in family("self")) / _TICK


def cpu_of(process: int) -> float:
    """Return the CPU seconds so far of another process and its descendants, in 10 ms steps."""
    return sum(_ticks(one) for one in family(str(process))) / _TICK


def own_cpu_clock() -> Callable[[], float]:
    """Return a function that returns the CPU seconds from now on, of this process and descendants.

    Those of descendants that are still running are known in 10 ms steps. Those of processes that
    were killed with their PID namespace, or whose parent did not wait for them, are missing.
    """
    own, ended = time.process_time(), _ended()
    then = {process: _ticks(process) / _TICK for process in family("self")[1:]}

    def clock() -> float:
        now = {process: _ticks(process) / _TICK for process in family("self")[1:]}
        gone = sum(seconds for process, seconds in then.items() if process not in now)
        running = sum(seconds - then.get(process, 0.0) for process, seconds in now.items())
        return time.process_time() - own + max(0.0, _ended() - ended - gone) + max(0.0, running)

    return clock


def _ended() -> float:
    """Return the CPU seconds of descendants that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_rss_of(process: int) -> float:
    """Return the peak resident memory of another process and its descendants in MiB."""
    return sum(_peak_rss(one) for one in family(str(process)))


def _peak_rss(process: str) -> float:
    with contextlib.suppress(OSError, StopIteration):  # it has just ended
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
    return 0.0


def _join(parent: Path) -> Path:
    """Move this process into a new group; remove groups of earlier runs."""
    for old in parent.glob(f"{_NAME}-*"):
        with contextlib.suppress(OSError):  # it is in use
            old.rmdir()
    group = parent / f"{_NAME}-{os.getpid()}"
    group.mkdir()
    (group / "cgroup.procs").write_text(str(os.getpid()))
    return group


def _ticks(process: str) -> int:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has just ended: its parent has its time
        return 0
    return sum(map(int, fields[11:15]))


def family(process: str) -> list[str]:
    """Return the id of a process and those of its descendants."""
    children: list[str] = []
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            children += (task / "children").read_text().split()
    except OSError:
        return []
    return [process, *(each for child in children for each in family(child))]
