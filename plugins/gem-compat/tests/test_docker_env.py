"""``DockerEnv`` plays task folders of Terminal-Bench 1 as it does in gem-llm."""

import contextlib
from pathlib import Path

import pytest

from gem.envs.terminal.docker_env import ContainerConfig, DockerEnv, TaskConfig
from gem.utils.constants import TERMINAL_STATE
from gem_core.errors import ConfigError, MachineError
from gem_sandbox.machines.local.provider import LocalProvider
from gem_terminal import folders
from gem_workers.machine import MachineSpec

SAMPLES = Path(folders.__file__).parent / "samples_terminal_bench"
SOLUTION = "sed 's/.*/Hello, &!/' names.txt > greetings.txt"
RESULTS = """
echo PASSED test_outputs.py::test_a
[ -e /app/b ] && echo PASSED test_outputs.py::test_b || echo FAILED test_outputs.py::test_b - x
echo FAILED test_outputs.py::test_c
"""


@pytest.fixture(scope="session")
def machines():
    try:
        with LocalProvider() as provider:
            provider.start(MachineSpec()).close()
    except MachineError as error:
        pytest.skip(f"no machine can be started here: {error}")


@pytest.fixture
def make(machines):
    made = []

    def make_env(path=SAMPLES / "greeting", weights=(), **options):
        fields = {
            name: options.pop(name)
            for name in ("max_retry", "max_test_timeout_sec")
            if name in options
        }
        config = TaskConfig("task", str(path), dict(weights), **fields)
        made.append(DockerEnv([config], ContainerConfig(), machine="local", **options))
        return made[-1]

    yield make_env
    for env in made:
        env.close()


@pytest.fixture
def scored(tmp_path):
    """Return a task with three tests: one passes, one if there is a file b, one never."""
    (tmp_path / "task.yaml").write_text("instruction: Make b.\n")
    (tmp_path / "docker-compose.yaml").write_text("services: {client: {build: {context: .}}}\n")
    (tmp_path / "Dockerfile").write_text("FROM debian\nWORKDIR /app\n")
    (tmp_path / "run-tests.sh").write_text(RESULTS)
    return tmp_path


def bash(command, **more):
    lines = [f"cmd: {command!r}", *(f"{name}: {value}" for name, value in more.items())]
    return "<bash>\n" + "\n".join(lines) + "\n</bash>"


FINISH = "<finish>\nmessage: done\n</finish>"


@pytest.mark.slow
def test_the_instruction_is_the_first_observation(make):
    observation, info = make().reset(seed=0)
    assert observation.startswith("The file names.txt has one name on each line.")
    assert info == {}


def test_a_command_is_run_and_its_output_shown(make):
    env = make()
    env.reset()
    action = "I look.\n" + bash("cat names.txt; echo oops >&2") + "\nmore"
    observation, reward, terminated, truncated, info = env.step(action)
    assert observation == "<bash_output>\nAda\nGrace Hopper\nLinus\noops\n</bash_output>"
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info == {
        "parsed_action": action.removesuffix("\nmore"),
        "tool_type": "terminal-bash",
    }


def test_only_the_first_call_is_run(make):
    env = make()
    env.reset()
    assert "one" in env.step(bash("echo one") + bash("echo two"))[0]
    assert "two" not in env.step(bash("echo one") + bash("echo two"))[0]


@pytest.mark.slow
def test_a_solved_task_is_paid_after_finish(make):
    env = make()
    env.reset()
    env.step(bash(SOLUTION))
    observation, reward, terminated, truncated, info = env.step(FINISH)
    assert (observation, reward, terminated, truncated) == (TERMINAL_STATE, 1.0, True, True)
    assert info["tool_type"] == "terminal-finish"


@pytest.mark.slow
def test_finish_alone_is_paid_nothing(make):
    env = make()
    env.reset()
    assert env.step(FINISH)[1] == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("action", ["I am done.", "<think>x</think>", "<bash>cmd: ls"])
def test_an_action_without_a_call_ends_the_episode_unpaid(make, action):
    env = make()
    env.reset()
    env.step(bash(SOLUTION))
    assert env.step(action)[:4] == (TERMINAL_STATE, 0.0, True, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("cmd: [", "cannot be parsed as YAML"),
        ("ls -l", "must be YAML with cmd"),
        ("command: ls", "must be YAML with cmd"),
        ("cmd: ls\ntimeout_secs: soon", "timeout_secs must be a number"),
        ("cmd: ls\ntimeout_secs: -1", "timeout_secs must be a number"),
    ],
)
def test_an_error_in_the_yaml_is_told_and_not_counted(make, body, said):
    env = make(max_retry=1)
    env.reset()
    observation, reward, terminated, truncated, _ = env.step(f"<bash>{body}</bash>")
    assert said in observation
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert env.error_count == 0


@pytest.mark.slow
def test_a_failed_command_counts_and_the_last_one_ends_the_episode(make):
    env = make(max_retry=2)
    env.reset()
    observation, _, terminated, _, _ = env.step(bash("echo no; exit 3"))
    assert "<bash_output>\nno\n</bash_output>" in observation
    assert "Exit status 3" in observation
    assert not terminated
    env.step(bash("true"))
    observation, reward, terminated, truncated, _ = env.step(bash("false"))
    assert "the episode ends" in observation
    assert (reward, terminated, truncated) == (0.0, True, True)


@pytest.mark.slow
def test_a_command_out_of_time_is_ended(make):
    env = make()
    env.reset()
    observation, *_ = env.step(bash("sleep 77; touch late", timeout_secs=0.1))
    assert "ended after 0.1 seconds" in observation
    assert "Exit status 124" in observation
    running, *_ = env.step(bash("cat /proc/[0-9]*/cmdline | tr '\\0' ' '"))
    assert "sleep" not in running


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weights", "does", "reward"),
    [
        ({}, "true", 1 / 3),
        ({}, "touch b", 2 / 3),
        ({"test_b": 3, "test_c": 1}, "touch b", 0.75),
        ({"test_outputs.py::test_b": 3, "test_a": 0}, "touch b", 1.0),
        ({"test_b": 1, "test_nowhere": 1}, "touch b", 0.5),
        ({"test_nowhere": 1}, "touch b", 2 / 3),
    ],
)
def test_the_reward_is_the_weighted_share_of_tests(make, scored, weights, does, reward):
    env = make(scored, weights)
    env.reset()
    env.step(bash(does))
    assert env.step(FINISH)[1] == pytest.approx(reward)


@pytest.mark.slow
@pytest.mark.parametrize("tests", ["sleep 77", "echo nothing"])
def test_tests_that_say_nothing_pay_0_and_info_says_why(make, scored, tests):
    (scored / "run-tests.sh").write_text(tests)
    env = make(scored, max_test_timeout_sec=0.2)
    env.reset()
    _, reward, terminated, _, info = env.step(FINISH)
    assert (reward, terminated) == (0.0, True)
    assert "The tests of" in info["reward_error"]


@pytest.mark.slow
def test_after_the_end_a_step_answers_with_an_error(make):
    env = make()
    for _ in range(2):
        env.reset()
        env.step(FINISH)
        observation, reward, terminated, truncated, info = env.step(bash("ls"))
        assert (observation, reward, terminated, truncated) == (TERMINAL_STATE, 0.0, True, True)
        assert "reset" in info["error"]


@pytest.mark.slow
def test_a_seed_decides_the_tasks(machines):
    configs = [TaskConfig(name, SAMPLES / name, {}) for name in ("greeting", "longest-word")]
    with contextlib.closing(DockerEnv(configs, ContainerConfig(), machine="local")) as env:
        drawn = [env.reset(seed=seed)[0] for seed in range(6)]
        assert drawn == [env.reset(seed=seed)[0] for seed in range(6)]
        assert len(set(drawn)) == 2


@pytest.mark.slow
def test_a_copy_goes_its_own_way(make):
    env = make()
    env.reset()
    env.step(bash("touch both"))
    twin = env.fork()
    try:
        twin.step(bash("touch mine"))
        assert "mine" in twin.step(bash("ls"))[0]
        listed = env.step(bash("ls"))[0]
        assert "both" in listed
        assert "mine" not in listed
    finally:
        twin.close()


@pytest.mark.slow
def test_without_a_choice_there_is_a_machine_that_works_here(machines):
    config = TaskConfig("greeting", SAMPLES / "greeting", {})
    with contextlib.closing(DockerEnv([config], ContainerConfig())) as env:
        env.reset()
        assert "Ada" in env.step(bash("cat names.txt"))[0]


def test_no_tasks_are_an_error():
    with pytest.raises(ConfigError, match="no task"):
        DockerEnv([], ContainerConfig())
    with pytest.raises(ConfigError, match=r"task\.yaml"):
        DockerEnv([TaskConfig("x", "/nowhere", {})], ContainerConfig())


@pytest.mark.slow
def test_tags_that_are_never_closed_take_linear_time(make):
    env = make()
    env.reset()
    assert env.step("<a>" * 200_000 + "".join(f"<t{n}>" for n in range(50_000)))[2]
