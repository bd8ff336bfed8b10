"""Measure the memory that the processes of a run use together, from ``/proc``."""

from __future__ import annotations

import resource
from collections.abc import Collection

__all__ = ["tree_memory"]

_PAGE = resource.getpagesize()


def tree_memory(pids: Collection[int], files: int, enough: int) -> int:
    """Return the bytes of memory that processes use, plus the bytes of their files.

    Forked processes share pages. Shared pages are counted once only if the plain sum is more than
    ``enough``, because that takes the kernel longer.
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
