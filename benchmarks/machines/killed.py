"""Plays episodes on machines in processes that are killed at random, and looks for what is left."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rich.progress import track

__all__ = ["play_and_kill"]

_PATIENCE = 10.0
"""Seconds in which everything of a killed owner must be gone."""
_OWNER = """
import sys, threading
from gem_workers.machine import make_machine_provider
from gem_workers.machine import MachineSpec

provider = make_machine_provider("local")
spec = MachineSpec(env={"GEM_OWNER": sys.argv[1]})

def play():
    while True:
        with provider.start(spec) as machine:
            print(flush=True)
            shell = machine.shell()
            shell.send("echo line >> file; sleep 100 & setsid nohup sleep 200 > /dev/null 2>&1 &")
            shell.send("cat file | wc -l")
            machine.fork().close()

for _ in range(4):
    threading.Thread(target=play).start()
"""


def play_and_kill(episodes: int, seed: int) -> dict[str, int]:
    """Start episodes; kill their owners after 1 to 100 of them.

    Returns:
        The number of ``episodes``, of ``owners``, of ``processes`` that ran when their owners were
        killed, and of processes (``left``), ``mounts`` and control ``groups`` that were left.
    """
    draw = random.Random(seed)
    mounts, groups = _mounts(), _groups()
    found = {"episodes": 0, "owners": 0, "processes": 0, "left": 0, "mounts": 0}
    for count in track(list(_parts(episodes, draw)), description="killing owners"):
        mark = f"{os.getpid()}-{found['owners']}"
        command = [sys.executable, "-c", _OWNER, mark]
        env = {**os.environ, "GEM_OWNER": mark}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as owner:
            assert owner.stdout is not None  # noqa: S101 - for the type checker
            for _ in range(count):
                owner.stdout.readline()
            time.sleep(draw.uniform(0, 0.05))
            found["processes"] += _count(mark)
            owner.send_signal(signal.SIGKILL)
        found["episodes"] += count
        found["owners"] += 1
        found["left"] += _left(mark)
    found["mounts"] = len(_mounts() - mounts)
    found["groups"] = _groups_left(groups)
    return found


def _parts(total: int, draw: random.Random) -> Iterator[int]:
    while total > 0:
        count = min(total, draw.randint(1, 100))
        total -= count
        yield count


def _left(mark: str) -> int:
    """Return how many processes of an owner are left when they have had time to end."""
    deadline = time.monotonic() + _PATIENCE
    while (count := _count(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return count


def _count(mark: str) -> int:
    """Return how many processes have an owner's mark in their environment."""
    variable = f"GEM_OWNER={mark}\0".encode()
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            count += variable in (process / "environ").read_bytes()
    return count


def _groups() -> set[Path]:
    return set(Path("/sys/fs/cgroup").rglob("gem-machines-*"))


def _groups_left(before: set[Path]) -> int:
    """Return how many control groups are left when servers have had time to end."""
    deadline = time.monotonic() + _PATIENCE
    while (left := _groups() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    return len(left)


def _mounts() -> set[str]:
    return set(Path("/proc/self/mountinfo").read_text().splitlines())
