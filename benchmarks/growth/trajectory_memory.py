"""Memory for playing, writing and reading an episode whose observations have the whole history."""

import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["SIZES", "TITLE", "UNIT", "measure"]

SIZES = (312, 1_250, 5_000)
UNIT = "MiB"
TITLE = "memory of an episode of n turns of 65 characters that is played, written and read"
_PROGRAM = """
import sys
from growth.trajectory_disk import played
from gem_rollout import TrajectoryFile, read_trajectories

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))

def run(turns, path):
    trajectory = played(turns)
    with TrajectoryFile(path) as file:
        file.append(trajectory)
    return trajectory, list(read_trajectories(path))

run(8, sys.argv[2] + "-first")  # what Python imports for it
before = peak()
kept = run(int(sys.argv[1]), sys.argv[2])
print((peak() - before) / 1024)
"""


def measure(size: int) -> float:
    """Return by how much the peak of a process's resident memory grows, in MiB.

    The process plays an episode of ``size`` turns, writes it to a file and reads it again.
    """
    benchmarks = Path(__file__).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _PROGRAM, str(size), str(Path(folder) / "file.jsonl")]
        found = subprocess.run(command, cwd=benchmarks, capture_output=True, check=True)
    return float(found.stdout)
