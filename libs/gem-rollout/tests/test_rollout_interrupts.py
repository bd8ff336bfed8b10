"""Ctrl-C at random moments, also 1,000 times, loses no episode and leaves nothing open."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import Command
from selection import thorough

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]

PROGRAM = """
import asyncio, faulthandler, gc, itertools, os, signal, sys, threading, time
from gem_core import AsyncEnv, BaseAgent, BaseEnv, Step
from gem_core.agent import SilentAgent
from gem_rollout import Component, TrajectoryFile, collect
from gem_rollout.records.store import read_keys

gc.disable()  # Python loses a Ctrl-C that arrives in a finalizer
opened, ended = set(), []

class Fast(BaseEnv):
    seconds = 0.0
    def __init__(self):
        opened.add(self)
        time.sleep(0.001)
    def start(self):
        self.turn = 0
        return "", {}
    def step(self, action):
        time.sleep(self.seconds)
        return self.next()
    def next(self):
        self.turn += 1
        if self.turn == 3:
            ended.append(self)
        return Step("", 1.0, self.turn == 3, False, {})
    def close(self):
        opened.discard(self)

class Slow(Fast):
    seconds = 0.03

class Hangs(Fast):
    seconds = 3600.0

class Blocks(Fast):
    blocking, seconds = True, 0.0005

class Waits(AsyncEnv, Fast):
    async def start(self):
        return Fast.start(self)
    async def step(self, action):
        await asyncio.sleep(0.0005)
        return self.next()

class Nests(Blocks):
    def step(self, action):
        with collect(Inner, Agent, episodes=2) as run:
            assert sum(len(one.turns) for one in run) == 6
        return self.next()

class Inner(Fast):
    def next(self):
        self.turn += 1
        return Step("", 1.0, self.turn == 3, False, {})

class Agent(BaseAgent):
    def __init__(self):
        opened.add(self)
    async def act(self, observation, info):
        await asyncio.sleep(0)
        return "a"
    def close(self):
        opened.discard(self)

class Silent(SilentAgent):
    def __init__(self):
        opened.add(self)
    def close(self):
        opened.discard(self)

def store(file, run, stored):
    for number, trajectory in enumerate(run):
        file.append(trajectory)
        stored.append(trajectory)
        if number % 3 == 0:
            time.sleep(0.001)

def play(file, stored, *arguments, **options):
    with collect(*arguments, episodes=itertools.count(), concurrency=4, **options) as run:
        runs[:] = [run]
        store(file, run, stored)

def play_two(file, stored):
    endless = {"episodes": itertools.count(), "concurrency": 2}
    with collect(Fast, Agent, **endless) as first, collect(Blocks, Agent, **endless) as second:
        runs[:] = [first, second]
        for run in itertools.cycle(runs):
            store(file, itertools.islice(run, 2), stored)

def play_without_a_block(file, stored):
    store(file, collect(Fast, Agent, episodes=itertools.count()), stored)

def mixed(file, stored):
    play(file, stored, {"a": Component(Waits), "b": Component(Fast)}, Agent)

def forked(file, stored):
    play(file, stored, Fast, Agent, fork_groups=True, episodes_per_group=3)

def hanging(file, stored):
    play(file, stored, Hangs, Agent)

kinds = [mixed, forked, play_two, play_without_a_block] + [
    lambda file, stored, env=env, agent=agent: play(file, stored, env, agent)
    for env, agent in ((Fast, Agent), (Fast, Silent), (Slow, Silent), (Blocks, Silent),
                       (Blocks, Agent), (Waits, Silent), (Waits, Agent), (Nests, Agent))
]
runs = []
path, rounds, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def interrupted(kind):
    stored = []
    ended.clear()
    runs.clear()
    gc.collect()
    if os.path.exists(path):
        os.remove(path)
    try:
        with TrajectoryFile(path) as file:
            print("begins", flush=True)
            kind(file, stored)
    except KeyboardInterrupt:
        pass
    until = time.monotonic() + 10
    while opened and time.monotonic() < until:
        time.sleep(0.001)
    assert not opened, opened
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if kind is play_without_a_block:
        return
    if kind is not play_two:  # which does not take the rest of the other one
        assert len(stored) == sum(run.report.total.episodes for run in runs)
    assert len(list(read_keys(path))) == len(stored)
    cut_off = len(ended) - len(stored)  # steps in which Ctrl-C arrived
    inline = {type(one) for one in ended} <= {Fast, Slow}
    assert 0 <= cut_off <= (1 if inline else 4), cut_off

for number in range(rounds):
    faulthandler.dump_traceback_later(60, exit=True)
    interrupted(kinds[(number + seed) % len(kinds)] if number % 50 else hanging)
    print("ended", flush=True)
print("The last one follows.", file=sys.stderr, flush=True)
with TrajectoryFile(path) as file:
    print("begins", flush=True)
    kinds[0](file, [])
"""


def test_ctrl_c_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    seed = random.randrange(10**9)
    print("seed", seed)
    rng, rounds = random.Random(seed), 1_000 if thorough() else 40
    process = Command(
        [sys.executable, "-c", PROGRAM, tmp_path / "a", str(rounds), str(seed)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for number in range(rounds + 1):
        assert process.stdout.readline() == "begins\n", process.communicate()[1]
        time.sleep(rng.random() * 0.05)
        process.send_signal(signal.SIGINT)
        if number < rounds:
            assert process.stdout.readline() == "ended\n", process.communicate()[1]
    _, said = process.communicate(timeout=60)
    before, last = said.split("The last one follows.\n")
    assert before == ""
    assert process.returncode in (130, -signal.SIGINT)
    assert last.rstrip().endswith("KeyboardInterrupt")
    assert "destroyed" not in last
    assert "never awaited" not in last
