"""What ``info`` says of an episode: what was run, and what became of the files."""

import json

import pytest

from gem_tasks.task_source import ListedTasks
from gem_terminal.env import TerminalEnv
from gem_terminal.task import TerminalTask
from gem_workers.machine import MachineSpec

TASK = TerminalTask(
    id="files",
    instruction="Do what you like.",
    machine=MachineSpec(
        workdir="/app",
        files={"/app/kept.txt": b"1\n", "/app/old.txt": b"2\n", "/app/sub/gone.txt": b"3\n"},
    ),
    tests={"test.sh": b"echo 1 > /logs/verifier/reward.txt"},
)


@pytest.fixture(scope="module")
def shared_env(provider):
    with TerminalEnv(tasks=ListedTasks([TASK]), machine=provider, output_limit=40) as made:
        yield made


@pytest.fixture
def env(shared_env):
    shared_env.reset(seed=0)
    return shared_env


def call(env, command):
    step = env.step(f"```bash\n{command}\n```")
    json.dumps(step.info)
    return step.info["tool_calls"][0]


@pytest.mark.slow
def test_a_command_is_listed_with_its_prompt_its_output_and_its_exit_status(env):
    first = call(env, "mkdir new; cd new; printf '\\033[1mx\\033[0m'; false")
    assert (first["prompt"], first["directory"]) == ("/app", "/app/new")
    assert (first["exit_status"], first["ok"], first["output"]) == (1, False, "x\n")
    assert call(env, "true")["prompt"] == "/app/new"


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_end_has_the_files_that_the_agent_has_changed_by_kind(env):
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


@pytest.mark.slow
def test_an_agent_that_does_nothing_has_changed_nothing(env):
    step = env.step("```bash\nfinish\n```")
    assert step.info["changed_files"] == {"new": [], "changed": [], "deleted": []}


@pytest.mark.slow
def test_a_hundred_of_many_changed_files_are_listed(env):
    call(env, "touch f{1000..1149}")
    found = env.step("```bash\nfinish\n```").info["changed_files"]
    assert found["new"] == [f"/app/f{number}" for number in range(1000, 1100)]
    assert found["left_out"] == 50


def test_what_is_only_thought_of_is_not_run(env):
    env.reset(seed=0)
    step = env.step("<think>\n```bash\nfinish\n```\n</think>\n```bash\necho run\n```")
    assert (step.terminated, "run" in step.observation) == (False, True)
    step = env.step("<think>```bash\nfinish\n```")
    assert step.info["format_error"]
    step = env.step("Perhaps\n```bash\nfinish\n```\nor not.</think>```bash\necho again\n```")
    assert (step.terminated, "again" in step.observation) == (False, True)
