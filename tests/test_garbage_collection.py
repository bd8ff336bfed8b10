"""The collector may run at any point of the life of what holds processes, sockets or threads."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
import faulthandler, gc, sys
import gem_core
faulthandler.dump_traceback_later(200, exit=True)
gem_core.list_envs()  # otherwise plugins that are loaded in between are called slow

def in_a_cycle(thing):
    thing_and_itself = [thing]
    thing_and_itself.append(thing_and_itself)

def live(make, use):
    "Make, use and close one, and drop another one while a third is made."
    one = make()
    use(one)
    one.close()
    for _ in range(3):
        another = make()
        use(another)
        in_a_cycle(another)
        del another
    gc.collect()
"""
LIVES = {
    "a pool of workers": """\
from gem_workers import WorkerPool
def use(pool):
    assert pool.call("math:sqrt", 4.0, deadline=60) == 2
live(lambda: WorkerPool(max_workers=1), use)
""",
    "vectors": """\
def use(vector):
    vector.reset(seed=0)
    vector.step(vector.sample_random_actions())
for executor in ("serial", "threads", "processes"):
    live(
        lambda: gem_core.make_vec("game:GuessTheNumber-v0", num_envs=2, executor=executor), use
    )
""",
    "a rollout": """\
import contextlib
from gem_core.agent import RandomAgent
from gem_rollout import collect
def use(rollout):
    for number, _ in zip(range(2), rollout):
        pass
live(lambda: collect("game:GuessTheNumber-v0", RandomAgent, episodes=4, seed=0), use)
""",
    "environments on a server": """\
import subprocess
command = [sys.executable, "-um", "gem_core", "serve", "game:GuessTheNumber-v0", "--port", "0"]
server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
with server:
    address = server.stdout.readline().split("//")[1].strip()
    def use(env):
        env.reset(seed=0)
        env.fork().close()
        env.step(env.sample_random_action())
    live(lambda: gem_core.make(f"remote:{address}/game:GuessTheNumber-v0"), use)
    server.terminate()
""",
    "a tool with a server": """\
from gem_tools.mcp import MCPTool
command = [sys.executable, "plugins/gem-tools/tests/mcp/plain_server.py", "collected"]
def use(tool):
    assert len(tool.functions()) > 0
live(lambda: MCPTool(command), use)
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("life", LIVES)
def test_a_collection_at_every_allocation_harms_no_life(life: str) -> None:
    program = f"{PROGRAM}\n{LIVES[life].replace('live(', 'gc.set_threshold(1); live(', 1)}"
    ran = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", program],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=Path(__file__).parents[1],
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
