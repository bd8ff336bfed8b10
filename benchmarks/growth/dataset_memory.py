"""Memory of a dataset in worker processes."""

import os
from collections import defaultdict
from pathlib import Path

import gem_core

__all__ = ["SIZES", "TITLE", "UNIT", "measure"]

SIZES = (6_250, 25_000, 100_000)
UNIT = "MiB"
TITLE = "memory (PSS) of 8 worker processes with n rows in memory, less that with 8 rows"
_WORKERS = 8


def measure(size: int) -> float:
    """Return what ``size`` rows add to the memory of 8 workers that have each played one, in MiB.

    A row has 500 characters. A page that several processes share counts once.
    """
    return _memory(size) - _memory(_WORKERS)


def _memory(size: int) -> float:
    text = "how much is it, and why? " * 20
    rows = [{"problem": f"Problem {n}: {text}", "answer": str(n)} for n in range(size)]
    executor = {"id": "processes", "max_workers": _WORKERS}
    with gem_core.make_vec(
        "math:Custom", num_envs=_WORKERS, executor=executor, data=rows
    ) as vector:
        vector.reset(seed=0)
        return sum(map(_pss, _descendants(os.getpid())))


def _pss(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _descendants(pid: int) -> list[int]:
    children: defaultdict[int, list[int]] = defaultdict(list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        parent = path.read_text(encoding="utf-8").rpartition(")")[2].split()[1]
        children[int(parent)].append(int(path.parent.name))
    found = list(children[pid])
    for one in found:  # which grows
        found += children[one]
    return found
