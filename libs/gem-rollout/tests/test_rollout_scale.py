"""Long runs: memory and tasks stay flat, nothing that has ended is lost, Ctrl-C is obeyed."""

import asyncio
import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from commands import Command
from selection import thorough

from gem_core import Action, BaseAgent, BaseEnv, Info, Observation, Step
from gem_core.agent import SilentAgent
from gem_rollout import (
    Component,
    FaultPolicy,
    Trajectory,
    TrajectoryFile,
    Turn,
    collect,
    read_trajectories,
)
from gem_rollout.records.store import read_keys

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow]


class Once(BaseEnv):
    def start(self) -> tuple[Observation, Info]:
        return "start", {}

    def step(self, action: Action) -> Step:
        if action == "fail":
            raise ValueError("broken")
        return Step("end", 1.0, True, False, {})


class Yields(BaseAgent):
    """Waits for nothing in particular; fails now and then."""

    numbers = itertools.count()

    async def act(self, observation: Observation, info: Info) -> Action:
        await asyncio.sleep(0)
        return "fail" if next(self.numbers) % 50 == 49 else "a"


class TestManyEpisodes:
    @pytest.mark.parametrize("mixed", [False, True])
    def test_a_long_run_needs_no_more_memory_than_a_short_one(self, *, mixed: bool) -> None:
        episodes = 50_000 if thorough() else 4_000
        sources: Any = {"a": Component(Once), "b": Component(Once)} if mixed else Once
        policy = FaultPolicy(on_error="retry", retries=1, min_group=2) if mixed else FaultPolicy()

        async def main() -> list[tuple[int, int]]:
            run = collect(
                sources,
                Yields,
                episodes=episodes,
                episodes_per_group=4 if mixed else 1,
                fork_groups=mixed,
                concurrency=64,
                policy=policy,
            )
            sizes = []
            number = 0
            async for _ in run:
                number += 1
                if number in {episodes // 20, episodes - 200}:
                    gc.collect()
                    sizes.append((len(gc.get_objects()), len(asyncio.all_tasks())))
            assert number == episodes == run.report.total.episodes
            assert run.report.in_flight == 0
            return sizes

        (objects, tasks), (more_objects, more_tasks) = asyncio.run(main())
        assert tasks <= 66
        assert more_tasks <= 66
        assert more_objects < objects + 2000

    def test_trajectories_of_a_file_are_read_one_at_a_time(self, tmp_path: Path) -> None:
        path = tmp_path / "run.jsonl"
        turns = [Turn("agent", "o" * 10_000, "a", 0.0, False, False, {}) for _ in range(4)]
        with TrajectoryFile(path) as file:
            for index in range(250):
                file.append(Trajectory("test:Env-v0", "agent", index, 7, turns))
        size = path.stat().st_size
        assert size > 8_000_000
        tracemalloc.start()
        try:
            assert [key.index for key in read_keys(path)] == list(range(250))
            assert sum(len(one.turns) for one in read_trajectories(path)) == 1000
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < size / 10

    def test_each_worker_holds_at_most_one_trajectory_that_nobody_has_taken(self) -> None:
        async def main() -> None:
            run = collect(Once, Yields, episodes=10_000, concurrency=32)
            for taken in range(1, 40):
                await anext(run)
                for _ in range(50):  # the others could play thousands meanwhile
                    await asyncio.sleep(0)
                assert run.report.begun <= taken + 32
            await run.aclose()

        asyncio.run(main())


KILLED = """
import asyncio, sys
from gem_core import BaseAgent, BaseEnv, Step
from gem_rollout import TrajectoryFile, collect
from gem_rollout.records.store import read_keys

class Once(BaseEnv):
    def start(self):
        return "start" * 2000, {}
    def step(self, action):
        return Step("end", 1.0, True, False, {})

class Agent(BaseAgent):
    async def act(self, observation, info):
        await asyncio.sleep(0.001)
        return "a"

path, episodes = sys.argv[1], int(sys.argv[2])
try:
    known = {key.index for key in read_keys(path)}
except FileNotFoundError:
    known = set()
missing = [number for number in range(episodes) if number not in known]
with TrajectoryFile(path) as file:
    for trajectory in collect(Once, Agent, episodes=missing, concurrency=8):
        file.append(trajectory)
        print(trajectory.index, flush=True)
"""


class TestARunThatIsKilled:
    def test_a_killed_run_continues_and_repeats_nothing(self, tmp_path: Path) -> None:
        path, episodes = tmp_path / "run.jsonl", 200
        command = [sys.executable, "-c", KILLED, str(path), str(episodes)]
        told: list[int] = []
        for seen in (1, 57, 100) if thorough() else (57,):
            process = Command(command, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            told += [int(process.stdout.readline()) for _ in range(seen)]
            process.kill()
            rest, _ = process.communicate()
            told += [int(line) for line in rest.splitlines() if line]
            assert set(told) <= {key.index for key in read_keys(path)}
        subprocess.run(command, check=True, capture_output=True)
        found = [key.index for key in read_keys(path)]
        assert sorted(found) == list(range(episodes))


INTERRUPTED = """
import asyncio, sys, threading, time
from gem_core import BaseAgent, BaseEnv, Step
from gem_rollout import TrajectoryFile, collect
from gem_rollout.records.store import read_keys

class Once(BaseEnv):
    blocking = {blocking}
    def start(self):
        return "", {{}}
    def step(self, action):
        if action == "hang":
            print("hangs", flush=True)
            {hang}
        return Step("end", 1.0, True, False, {{}})
    def close(self):
        print("closed", flush=True)

class Agent(BaseAgent):
    def reset(self, env):
        global begun
        self.number = begun
        begun += 1
    def close(self):
        print("agent closed", flush=True)
    {act}

begun = 0
with TrajectoryFile(sys.argv[1]) as file:
    try:
        with collect(Once, Agent, episodes=60, concurrency=6) as run:
            for trajectory in run:
                file.append(trajectory)
                {consume}
    except KeyboardInterrupt:
        total = run.report.total
        print("interrupted", total.episodes, total.cancelled, run.report.ended_by, flush=True)
        raise
"""
WAITING_ACT = """
    async def act(self, observation, info):
        if self.number >= 40:
            if self.number == 45:
                print("hangs", flush=True)
            await asyncio.sleep(3600)
        await asyncio.sleep(0)
        return "a"
"""
PLAIN_ACT = """
    def act(self, observation, info):
        return "hang" if self.number >= 5 else "a"
"""

STUBBORN_ACT = """
    async def act(self, observation, info):
        if self.number == 5:
            print("hangs", flush=True)
        while self.number >= 5:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                pass
        await asyncio.sleep(0)
        return "a"
"""
STUBBORN_STEP = """
            try:
                time.sleep(3600)
            except asyncio.CancelledError:
                print("ignored", flush=True)
                time.sleep(3600)
"""


class TestCtrlC:
    def start(self, tmp_path: Path, **parts: str) -> "subprocess.Popen[str]":
        script = tmp_path / "script.py"
        defaults = {"blocking": "False", "hang": "pass", "consume": "pass"}
        script.write_text(INTERRUPTED.format(**{**defaults, **parts}))
        process = Command(
            [sys.executable, script, tmp_path / "run.jsonl"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.wait_for(process, "hangs")
        return process

    def wait_for(self, process: "subprocess.Popen[str]", printed: str) -> None:
        assert process.stdout is not None
        if f"{printed}\n" not in iter(process.stdout.readline, ""):
            raise AssertionError(process.communicate()[1])

    def wait_until_asleep(self, process: "subprocess.Popen[str]") -> None:
        """Python can miss a signal in the instant in which it begins to wait."""
        stat = Path(f"/proc/{process.pid}/stat")
        while stat.exists() and ") S " not in stat.read_text():
            time.sleep(0.01)
        time.sleep(0.05)

    def end(self, process: "subprocess.Popen[str]") -> list[str]:
        out, err = process.communicate(timeout=60)
        assert err.rstrip().endswith("KeyboardInterrupt"), err
        assert "never retrieved" not in err
        assert "was destroyed" not in err
        assert process.returncode in (130, -signal.SIGINT)
        return out.splitlines()

    def test_ctrl_c_ends_the_run_and_yields_the_ended_episodes(self, tmp_path: Path) -> None:
        process = self.start(tmp_path, act=WAITING_ACT)
        os.kill(process.pid, signal.SIGINT)
        lines = self.end(process)
        assert lines.count("closed") == lines.count("agent closed") == 6
        assert lines[-1] == "interrupted 40 6 interrupted"
        assert sorted(key.index for key in read_keys(tmp_path / "run.jsonl")) == list(range(40))

    def test_ctrl_c_waits_for_a_consumer_that_is_at_work(self, tmp_path: Path) -> None:
        process = self.start(
            tmp_path,
            act=WAITING_ACT,
            consume="""
                if trajectory.index == 7:
                    print("hangs", flush=True)
                    sys.stdin.readline()
                    print("went on", flush=True)
            """,
        )
        self.wait_until_asleep(process)
        os.kill(process.pid, signal.SIGINT)
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        lines = self.end(process)
        assert "went on" in lines
        _, episodes, _, why = lines[-1].split()
        assert why == "interrupted"
        written = [key.index for key in read_keys(tmp_path / "run.jsonl")]
        assert len(written) == int(episodes) < 40

    def test_ctrl_c_abandons_a_thread_that_does_not_return(self, tmp_path: Path) -> None:
        process = self.start(
            tmp_path, act=PLAIN_ACT, blocking="True", hang="threading.Event().wait()"
        )
        path = tmp_path / "run.jsonl"
        while len(list(read_keys(path))) < 5:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGINT)
        self.end(process)
        assert len({key.index for key in read_keys(path)}) == 5

    def test_ctrl_c_breaks_a_step_that_runs_inline(self, tmp_path: Path) -> None:
        process = self.start(tmp_path, act=PLAIN_ACT, hang="time.sleep(3600)")
        self.wait_until_asleep(process)
        os.kill(process.pid, signal.SIGINT)
        lines = self.end(process)
        assert "closed" in lines
        assert [key.index for key in read_keys(tmp_path / "run.jsonl")] == [0, 1, 2, 3, 4]

    def test_ctrl_c_does_not_wait_for_an_agent_that_ignores_it(self, tmp_path: Path) -> None:
        process = self.start(tmp_path, act=STUBBORN_ACT)
        os.kill(process.pid, signal.SIGINT)
        self.end(process)

    def test_a_second_ctrl_c_breaks_a_step_that_ignores_the_first(self, tmp_path: Path) -> None:
        process = self.start(tmp_path, act=PLAIN_ACT, hang=STUBBORN_STEP)
        self.wait_until_asleep(process)
        os.kill(process.pid, signal.SIGINT)
        self.wait_for(process, "ignored")
        self.wait_until_asleep(process)
        os.kill(process.pid, signal.SIGINT)
        self.end(process)
        assert [key.index for key in read_keys(tmp_path / "run.jsonl")] == [0, 1, 2, 3, 4]

    def test_after_a_block_ctrl_c_has_its_earlier_handler_again(self) -> None:
        handler = signal.getsignal(signal.SIGINT)
        with collect(Once, SilentAgent, episodes=3) as run, collect(Once, SilentAgent, episodes=3):
            next(run)
            assert signal.getsignal(signal.SIGINT) is not handler
        assert signal.getsignal(signal.SIGINT) is handler

    def test_between_trajectories_ctrl_c_is_raised_at_the_end_of_a_block(self) -> None:
        went_on = []

        def leave() -> None:
            with collect(Once, Yields, episodes=20, concurrency=4) as run:
                next(run)
                signal.raise_signal(signal.SIGINT)
                went_on.append(run)

        with pytest.raises(KeyboardInterrupt):
            leave()
        assert went_on

    def test_without_a_block_ctrl_c_between_trajectories_is_raised_immediately(self) -> None:
        run = collect(Once, SilentAgent, episodes=3)
        next(run)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        run.close()

    def test_a_run_in_another_thread_leaves_ctrl_c_to_the_main_thread(self) -> None:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.extend(collect(Once, Yields, episodes=5)))
        thread.start()
        thread.join()
        assert len(found) == 5
