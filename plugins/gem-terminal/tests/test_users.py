"""Tasks whose agent or tests are not root."""

import json
from dataclasses import replace

import pytest

from gem_core.errors import MachineError
from gem_core.machine import MachineSpec
from gem_tasks.task_source import ListedTasks
from gem_terminal.env import TerminalEnv
from gem_terminal.task import TerminalTask

local = pytest.importorskip("gem_sandbox.machines.local.provider")

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


@pytest.fixture(scope="module")
def provider():
    with local.LocalProvider() as made:
        try:
            with made.start(MachineSpec()) as machine:
                if not machine.run("touch f && chown 7:8 f").ok:
                    pytest.skip("machines have one user here")
        except MachineError as error:
            pytest.skip(f"no machine can be started here: {error}")
        yield made


@pytest.fixture
def play(provider):
    def run(task, *commands, **options):
        with TerminalEnv(tasks=ListedTasks([task]), machine=provider, **options) as env:
            env.reset(seed=0)
            for command in commands or [env.solution().partition("\n")[2].removesuffix("\n```")]:
                shown = env.step(f"```bash\n{command}\n```").observation
            return shown, env.step("```bash\nfinish\n```")

    return run


@pytest.mark.parametrize("mode", ["fresh", "shared"])
@pytest.mark.parametrize(
    ("machine", "agent", "verifier", "tester"),
    [
        ("root", "nobody", None, "root"),
        ("nobody", None, None, "nobody"),
        ("nobody", "nobody", "root", "root"),
        ("", "nobody", None, "root"),
    ],
)
def test_the_agent_and_the_tests_run_as_the_users_of_the_task(
    play, mode, machine, agent, verifier, tester
):
    spec = replace(TASK.machine, user=machine)
    task = replace(TASK, machine=spec, agent_user=agent, verifier_user=verifier, mode=mode)
    _, step = play(task)
    assert (step.reward, step.info["verifier_output"]) == (1.0, f"{tester}\n")


def test_an_agent_cannot_write_what_its_user_cannot(provider):
    task = replace(TASK, agent_user="nobody")

    def written(path):
        with TerminalEnv(tasks=ListedTasks([task]), machine=provider, call_format="hermes") as env:
            env.reset(seed=0)
            call = {"name": "write_file", "arguments": {"path": path, "content": "x"}}
            step = env.step(f"<tool_call>{json.dumps(call)}</tool_call>")
            listed = env.step(f"```bash\nstat -c %U {path}\n```")
            return step.info["tool_calls"][0]["ok"], listed.info["tool_calls"][0]["output"]

    assert written("/tmp/new/file") == (True, "nobody\n")
    assert not written("/etc/own")[0]
    assert not written("relative")[0]
