"""How much memory the processes of a run use together, as ``/proc`` tells."""

import resource
from collections.abc import Collection

__all__ = ["tree_memory"]

_PAGE = resource.getpagesize()


def tree_memory(pids: Collection[int], files: int, enough: int) -> int:
    """Return the bytes that processes use, and the files that they keep in memory.

    Processes share pages after a fork. They are counted once only if it matters, as that takes
    the kernel long: if the sum is more than ``enough``.
    """
    rough = sum(_resident(pid) for pid in pids) + files
    return rough if rough <= enough else sum(_share(pid) for pid in pids) + files


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _share(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith(b"Pss:"))
    except PermissionError:
        return _resident(pid)
    except (OSError, IndexError, StopIteration):
        return 0
