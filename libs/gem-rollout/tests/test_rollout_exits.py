"""How programs with rollouts end: forks, the end of the interpreter, Ctrl-C, killed runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from gem_rollout import Trajectory, TrajectoryFile
from gem_rollout.records.runs import Run, write_json

pytestmark = pytest.mark.timeout(90)


FORKS = """
import asyncio, os, signal, sys
from gem_core import BaseEnv, Step
from gem_core.background import BackgroundLoop
from gem_core.agent import SilentAgent
from gem_rollout import Trajectory, TrajectoryFile, collect

signal.alarm(30)

class Noting(BaseEnv):
    def start(self):
        return "", {}
    def step(self, action):
        return Step("", 1.0, True, False, {})
    def close(self):
        os.write(1, f"{os.getpid() == parent}\\n".encode())

class Blocking(Noting):
    blocking = True

async def endless():
    while True:
        await asyncio.sleep(0)

parent = os.getpid()
runs = [collect(kind, SilentAgent, episodes=9, concurrency=1) for kind in (Noting, Blocking)]
for run in runs:
    next(run)
asynchronous = collect(Noting, SilentAgent, episodes=9, concurrency=1)
loop = BackgroundLoop()
loop.run(anext(asynchronous))
busy = loop.start(endless())
file = TrajectoryFile(sys.argv[1])
if os.fork() == 0:
    signal.alarm(30)
    loop.run(asyncio.sleep(0))
    if sys.argv[2] == "drop":
        del runs, run, asynchronous, loop, file
    sys.exit()
assert os.wait()[1] == 0
for run in runs:
    assert len(list(run)) == 8
loop.run(anext(asynchronous))
assert not busy.done()
file.append(Trajectory("a", "b", 0, 0))
try:
    TrajectoryFile(sys.argv[1])
except ValueError:
    pass
else:
    raise AssertionError("The lock is gone.")
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["keep", "drop"])
def test_the_exit_of_a_fork_ends_nothing_of_its_parent(how: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FORKS, tmp_path / "file.jsonl", how],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.split() == ["True"] * 3


DROPPED = """
from gem_core import BaseEnv, Step
from gem_core.agent import SilentAgent
from gem_rollout import collect
import os, time

class Slow(BaseEnv):
    blocking = {blocking}
    def start(self):
        return "", {{}}
    def step(self, action):
        return Step("", 1.0, True, False, {{}})
    def close(self):
        time.sleep(0.3)
        os.write(1, b"closed ")

{kept}for _ in collect(Slow, SilentAgent, episodes=9, concurrency=1):
    break
"""
KEPT = "run = collect(Slow, SilentAgent, episodes=9, concurrency=1)\nnext(run)\n"


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["", KEPT])
def test_the_end_of_the_interpreter_waits_for_what_ends(kept: str) -> None:
    program = DROPPED.format(blocking=bool(kept), kept=kept)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.split() == ["closed"] * (2 if kept else 1)
    assert not ran.stderr


class TestFiles:
    def test_an_interrupted_write_leaves_no_part(self, tmp_path: Path) -> None:
        class Interrupts:
            def __repr__(self) -> str:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_json(tmp_path / "run.json", {"a": Interrupts()})
        assert list(tmp_path.iterdir()) == []

    def test_what_a_killed_run_left_is_removed(self, tmp_path: Path) -> None:
        (tmp_path / ".trajectories.jsonl.12345").touch()
        with TrajectoryFile(tmp_path / "trajectories.jsonl") as file:
            file.append(Trajectory("a", "b", 0, 0))
        Run(tmp_path).remove_errors()
        assert [one.name for one in tmp_path.iterdir()] == ["trajectories.jsonl"]
        assert len(list(Run(tmp_path).trajectories())) == 1
