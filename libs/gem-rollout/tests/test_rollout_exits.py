"""How programs with rollouts end: forks, the end of the interpreter, Ctrl-C, killed runs."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import Command

from gem_rollout import Trajectory, TrajectoryFile
from gem_rollout.records.runs import Run, write_json

pytestmark = pytest.mark.timeout(90)


FORKS = """
import asyncio, os, signal, sys
from gem_core import BaseEnv, Step
from gem_core.background import BackgroundLoop
from gem_core.agent import SilentAgent
from gem_rollout import Trajectory, TrajectoryFile, collect, collect_async

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
asynchronous = collect_async(Noting, SilentAgent, episodes=9, concurrency=1)
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


INTERRUPTED = """
import asyncio, faulthandler, itertools, sys, threading, time
from gem_core import AsyncEnv, BaseAgent, BaseEnv, Step
from gem_rollout import collect

class Noting(BaseEnv):
    def __init__(self):
        opened.add(self)
        time.sleep(0.001)
    def start(self):
        self.turn = 0
        return "", {}
    def step(self, action):
        self.turn += 1
        time.sleep(0.0005)
        return Step("", 1.0, self.turn == 3, False, {})
    def close(self):
        opened.discard(self)

class Blocking(Noting):
    blocking = True

class Async(AsyncEnv, Noting):
    async def start(self):
        self.turn = 0
        return "", {}
    async def step(self, action):
        self.turn += 1
        await asyncio.sleep(0.0005)
        return Step("", 1.0, self.turn == 3, False, {})

class Slow(Noting):
    def step(self, action):
        time.sleep(3600)

class Agent(BaseAgent):
    async def act(self, observation, info):
        await asyncio.sleep(0)
        return "a"

def play(kind):
    print("begins", flush=True)
    fork = kind is Noting
    with collect(kind, Agent, episodes=itertools.count(), concurrency=4, fork_groups=fork,
                 episodes_per_group=3 if fork else 1) as run:
        for number, _ in enumerate(run):
            if number % 3 == 0:
                time.sleep(0.001)

opened = set()
for kind in [Noting, Blocking, Async] * int(sys.argv[1]) + [Slow]:
    faulthandler.dump_traceback_later(60, exit=True)
    try:
        play(kind)
    except KeyboardInterrupt:
        end = time.monotonic() + 30
        while opened and time.monotonic() < end:
            time.sleep(0.01)
        print("interrupted", len(opened), flush=True)
play(Noting)
"""


@pytest.mark.slow
def test_ctrl_c_at_any_moment_ends_a_rollout_and_closes_its_environments() -> None:
    rng, rounds = random.Random(7), 12
    process = Command(
        [sys.executable, "-c", INTERRUPTED, str(rounds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for _ in range(3 * rounds + 1):
        assert process.stdout.readline() == "begins\n", process.communicate()[1]
        time.sleep(rng.random() * 0.04)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted 0\n"
    assert process.stdout.readline() == "begins\n"
    time.sleep(rng.random() * 0.04)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert "destroyed" not in said


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
