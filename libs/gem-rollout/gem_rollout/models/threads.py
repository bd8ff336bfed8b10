"""How many threads of the CPU a model in this process may use.

Torch takes a thread for each core of the machine. On a machine that is busy, or in a container that
may use few of its cores, each of the many small operations of a model then waits for the slowest
thread. With two threads on two busy cores, a model of 0.3 million parameters took 15 times as long
as with one, and on idle cores the second thread gains nothing. The rule, unless a number is given
or ``OMP_NUM_THREADS`` is set: one thread for models below 50 million parameters; for larger ones
the cores that the process may use.

In commands, threads that wait sleep (``OMP_WAIT_POLICY``). With 135 million parameters, 16 rows and
two cores, 12 tokens took 4.9 s with one thread, 3.3 s with two, and 3.9 s with two that sleep; at
a load average of about 4, 9, 22 and 12.6 s.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

__all__ = [
    "command_threads",
    "set_threads",
    "set_threads_of_command",
    "threads_for",
    "usable_cores",
]

_SMALL = 50_000_000
"""Parameters below which a model has one thread."""


@dataclass
class _Threads:
    """What decides the number of threads: of the command that runs, or of the process."""

    asked: int | None = None
    """The key ``threads``."""
    largest: int = 0
    """Parameters of the largest model so far: all models share the threads of torch."""


_process = _Threads()
_commands: list[_Threads] = []


@contextlib.contextmanager
def command_threads(threads: int | None) -> Iterator[None]:
    """Let models that are loaded inside use a number of threads; None for the rule."""
    _commands.append(_Threads(threads))
    try:
        yield
    finally:
        _commands.pop()


def set_threads(model: Any, threads: int | None = None) -> None:
    """Set the number of threads of torch after a model was loaded; None for the rule.

    Args:
        model: A module of torch.
        threads: The number.
    """
    import torch  # noqa: PLC0415 - optional, and takes seconds

    scope = _commands[-1] if _commands else _process
    scope.largest = max(scope.largest, sum(one.numel() for one in model.parameters()))
    if threads is not None:
        torch.set_num_threads(threads)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(threads_for(scope.largest))


def set_threads_of_command(model: Any) -> None:
    """Set the number after an agent has loaded its model; outside of commands it stays."""
    if _commands:
        set_threads(model, _commands[-1].asked)


def threads_for(parameters: int) -> int:
    """Return the number of threads for a model with so many parameters."""
    return 1 if parameters < _SMALL else usable_cores()


def usable_cores(root: Path = Path("/")) -> int:
    """Return how many cores this process may use, by its affinity and its control groups.

    Args:
        root: The root of the file system.
    """
    has_affinity = hasattr(os, "sched_getaffinity")  # not on macOS
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(1, int(min([cores, *_quotas(root)])))


def _quotas(root: Path) -> Iterator[float]:
    """Yield the limits of the control groups that the process is in, in cores."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        base, names = "sys/fs/cgroup", ["cpu.max"]
        if number != "0":  # version 1 of control groups
            base, names = f"{base}/cpu", ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
            if "cpu" not in controllers.split(","):
                continue
        group = PurePosixPath(path.lstrip("/"))
        for folder in (group, *group.parents):
            files = [root / base / folder / name for name in names]
            with contextlib.suppress(OSError):
                quota, period = " ".join(file.read_text() for file in files).split()
                if quota.isdigit():
                    yield int(quota) / int(period)
