"""Tasks whose agent or tests are not root."""

import json
from dataclasses import replace

import pytest

from gem_tasks.task_source import ListedTasks
from gem_terminal.env import TerminalEnv
from gem_terminal.task import TerminalTask
from gem_workers.machine import MachineSpec

TEST = """\
id -un
if [ "$(cat who)" = nobody ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""
TASK = TerminalTask(
    id="who",
    instruction="Write your name to the file who.",
    machine=MachineSpec(workdir="/tmp"),
    tests={"test.sh": TEST.encode()},
    solution={"solve.sh": b"id -un > who", "data/x": b""},
)


USERS = [
    ("root", "nobody", None, "root"),
    ("nobody", None, None, "nobody"),
    ("nobody", "nobody", "root", "root"),
    ("", "nobody", None, "root"),
]
"""The users of the machine, of the agent and of the tests, and the one that runs the tests."""


def task_of(machine, agent, verifier, mode):
    spec = replace(TASK.machine, user=machine)
    return replace(TASK, machine=spec, agent_user=agent, verifier_user=verifier, mode=mode)


@pytest.fixture(scope="module")
def users(provider):
    """Machines with several users."""
    with provider.start(MachineSpec()) as machine:
        if not machine.run("touch f && chown 7:8 f").ok:
            pytest.skip("machines have one user here")
    return provider


@pytest.fixture(scope="module", params=["fresh", "shared"])
def env(users, request):
    tasks = [task_of(*names[:3], request.param) for names in USERS]
    with TerminalEnv(tasks=ListedTasks(tasks), machine=users) as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(USERS)))
def test_the_agent_and_the_tests_run_as_the_users_of_the_task(env, number):
    env.reset(idx=number)
    env.step(env.solution())
    step = env.step(env.finish_action)
    tester = USERS[number][3]
    assert (step.reward, step.info["verifier_output"]) == (1.0, f"{tester}\n")


@pytest.mark.slow
def test_an_agent_cannot_write_what_its_user_cannot(users):
    task = replace(TASK, agent_user="nobody")

    def written(path):
        with TerminalEnv(tasks=ListedTasks([task]), machine=users, call_format="hermes") as env:
            env.reset(seed=0)
            call = {"name": "write_file", "arguments": {"path": path, "content": "x"}}
            step = env.step(f"<tool_call>{json.dumps(call)}</tool_call>")
            listed = env.step(f"```bash\nstat -c %U {path}\n```")
            return step.info["tool_calls"][0]["ok"], listed.info["tool_calls"][0]["output"]

    assert written("/tmp/new/file") == (True, "nobody\n")
    assert not written("/etc/own")[0]
    assert not written("relative")[0]
