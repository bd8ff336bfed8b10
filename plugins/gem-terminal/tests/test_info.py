"""What ``info`` says of an episode: what was run, and what became of the files."""

import json

import pytest

from gem_core.errors import MachineError
from gem_core.machine import MachineSpec
from gem_tasks.task_source import ListedTasks
from gem_terminal.env import TerminalEnv
from gem_terminal.task import TerminalTask

local = pytest.importorskip("gem_sandbox.machines.local.provider")

TASK = TerminalTask(
    id="files",
    instruction="Do what you like.",
    machine=MachineSpec(
        workdir="/app",
        files={"/app/kept.txt": b"1\n", "/app/old.txt": b"2\n", "/app/sub/gone.txt": b"3\n"},
    ),
    tests={"test.sh": b"echo 1 > /logs/verifier/reward.txt"},
)


@pytest.fixture
def env():
    made = TerminalEnv(tasks=ListedTasks([TASK]), output_limit=40)
    try:
        made.reset(seed=0)
    except MachineError as error:
        pytest.skip(f"no machine can be started here: {error}")
    yield made
    made.close()


def call(env, command):
    step = env.step(f"```bash\n{command}\n```")
    json.dumps(step.info)
    return step.info["tool_calls"][0]


def test_a_command_has_its_prompt_and_what_came_of_it(env):
    first = call(env, "mkdir new; cd new; printf '\\033[1mx\\033[0m'; false")
    assert (first["prompt"], first["directory"]) == ("/app", "/app/new")
    assert (first["exit_status"], first["ok"], first["output"]) == (1, False, "x\n")
    assert call(env, "true")["prompt"] == "/app/new"


def test_input_of_a_running_command_has_no_prompt(env):
    env.command_timeout = 0.2
    begun = call(env, "read line; echo got $line")
    env.command_timeout = 60.0
    assert (begun["exit_status"], begun["prompt"]) == (None, "/app")
    typed = call(env, "it")
    assert (typed["prompt"], typed["output"], typed["exit_status"]) == ("", "got it\n", 0)


def test_a_long_output_says_how_much_was_left_out(env):
    found = call(env, "seq 100")
    assert found["left_out"] == 292 - 40
    assert found["output"].startswith("1\n2\n")
    assert "[252 bytes left out]" in found["output"]
    assert found["output"].endswith("100\n")


def test_the_end_has_the_files_by_kind(env):
    call(
        env, "echo x > a; echo 3 >> old.txt; rm sub/gone.txt; mkdir -p deep/er empty; touch deep/b"
    )
    call(env, "rm /etc/hostname; echo >> /etc/hosts; mkdir -p /tests /solution; touch /solution/x")
    step = env.step("```bash\nfinish\n```")
    assert step.info["changed_files"] == {
        "new": ["/app/a", "/app/deep/b", "/app/deep/er/", "/app/empty/"],
        "changed": ["/app/old.txt", "/etc/hosts"],
        "deleted": ["/app/sub/gone.txt", "/etc/hostname"],
    }


def test_an_agent_that_does_nothing_has_changed_nothing(env):
    step = env.step("```bash\nfinish\n```")
    assert step.info["changed_files"] == {"new": [], "changed": [], "deleted": []}


def test_of_many_files_a_hundred_are_listed(env):
    call(env, "touch f{1000..1149}")
    found = env.step("```bash\nfinish\n```").info["changed_files"]
    assert found["new"] == [f"/app/f{number}" for number in range(1000, 1100)]
    assert found["left_out"] == 50
