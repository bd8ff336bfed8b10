"""Tasks of Harbor with steps: what is read of them, and how their episodes are played and paid."""

from pathlib import Path

import pytest

from gem_core.errors import MachineError
from gem_tasks.task_source import ListedTasks
from gem_terminal.env import TerminalEnv
from gem_terminal.harbor import read_harbor
from gem_terminal.oracle import SolutionOracle

TOML = """\
schema_version = "1.4"
artifacts = ["/app/log"]
[agent]
timeout_sec = 50
[environment]
workdir = "/app"
[[steps]]
name = "first"
min_reward = 0.5
[steps.agent]
timeout_sec = 40
[[steps]]
name = "second"
artifacts = [{source = "/app/b", exclude = ["*.o"]}]
[steps.verifier]
timeout_sec = 30
env = {WANTED = "b"}
[steps.healthcheck]
command = "test -f fixture.ready"
interval_sec = 0.1
retries = 2
"""
FILES = {
    "steps/first/instruction.md": "Write a.",
    "steps/first/tests/test.sh": "r() { echo $1 > /logs/verifier/reward.txt; }\n"
    "case $(cat /app/a) in a) r 1;; half) r 0.5;; *) r 0;; esac\n",
    "steps/first/solution/solve.sh": "echo a > /app/a\n",
    "steps/second/instruction.md": "Write b, from the fixture.",
    "steps/second/workdir/fixture": "b\n",
    "steps/second/workdir/setup.sh": "cp fixture fixture.ready; rm -- $0\n",
    "steps/second/solution/solve.sh": "cp fixture b\n",
    "tests/test.sh": "[ $(cat /app/b) = $WANTED ] && . /tests/helper\n"
    "[ -f /logs/verifier/reward.txt ] || echo 0 > /logs/verifier/reward.txt\n",
    "tests/helper": "echo 1 > /logs/verifier/reward.txt\n",
}


def make(folder: Path, toml: str = TOML, **files: str):
    for name, text in {**FILES, "task.toml": toml, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return read_harbor(folder)


@pytest.fixture
def started(provider, tmp_path):
    """Return an environment that has begun a task made from a text and files."""
    envs = []

    def start(toml=TOML, files=None, **options):
        task = make(tmp_path, toml, **(files or {}))
        envs.append(TerminalEnv(tasks=ListedTasks([task]), machine=provider, **options))
        envs[-1].reset(seed=0)
        return envs[-1]

    yield start
    for env in envs:
        env.close()


def run(env, commands):
    return env.step(env.bash(commands))


def finish(env):
    return env.step(env.finish_action)


def test_every_field_of_a_step_is_read_and_the_rest_comes_from_the_task(tmp_path):
    task = make(tmp_path, **{"steps/third/instruction.md": "not named"})
    first, second = task.steps
    assert (task.id, task.instruction) == (tmp_path.name, "Write a.")
    assert (first.name, second.name) == ("first", "second")
    assert (first.task.agent_timeout, second.task.agent_timeout) == (40, 50)
    assert (first.task.verifier_timeout, second.task.verifier_timeout) == (600, 30)
    assert (first.task.verifier_env, second.task.verifier_env) == ({}, {"WANTED": "b"})
    assert first.min_reward == {"reward": 0.5}
    assert sorted(first.task.tests) == ["helper", "test.sh"]
    assert b"half" in first.task.tests["test.sh"]
    assert sorted(second.files) == ["fixture", "setup.sh"]
    assert (first.task.artifacts, second.task.artifacts) == (("/app/log",), ("/app/log", "/app/b"))
    assert task.unread == ("steps[2].artifacts[1].exclude", "steps/third")


def test_the_oracle_is_paid_for_each_step_and_the_mean_at_the_end(started):
    env = started()
    oracle = SolutionOracle()
    oracle.reset(env)
    infos, rewards = [], []
    while not infos or "correct" not in infos[-1]:
        step = env.step(oracle.act("", {}))
        infos.append(step.info)
        rewards.append(step.reward)
    assert step.terminated
    assert rewards == [0, 0, 0, 1]
    assert infos[1]["step"] == {"name": "second", "number": 2, "count": 2}
    assert infos[1]["step_rewards"] == {"first": 1}
    assert infos[1]["grading"]["verdict"] == "correct"
    assert infos[-1]["step_rewards"] == {"first": 1, "second": 1}
    assert infos[-1]["correct"]


def test_a_step_begins_where_the_last_one_ended_with_its_files_and_its_own_limits(started):
    env = started(max_turns=3)
    assert "Write a." in env.instruction
    run(env, "sleep 500 & cd /tmp; x=kept; echo a > /app/a")
    step = finish(env)
    assert "Write b, from the fixture." in step.observation
    assert "Step 2 of 2" in step.observation
    assert env.seconds_allowed == 50
    step = run(env, "echo $x $PWD $(pgrep -c sleep); ls /app /tests")
    assert step.observation.startswith("kept /tmp 1\n")
    assert "fixture.ready" in step.observation
    assert "setup.sh" not in step.observation  # it has removed itself
    assert "test.sh" not in step.observation
    assert not run(env, "true").truncated  # the turns of the first step do not count
    assert run(env, "true").truncated


def test_a_limit_ends_a_step_and_the_next_one_begins(started):
    env = started(max_turns=2)
    run(env, "echo half > /app/a")
    step = run(env, "true")
    assert not step.terminated
    assert not step.truncated
    assert step.info["truncated_by"] == "max_turns"
    assert step.info["step_rewards"] == {"first": 0.5}
    assert "Write b" in step.observation
    run(env, "cp fixture b")
    step = run(env, "true")
    assert (step.reward, step.truncated) == (0.75, True)


def test_an_ungraded_step_is_paid_nothing_and_ends_the_episode(started):
    env = started(max_turns=1, grade_truncated=False)
    step = run(env, "echo a > /app/a")
    assert (step.reward, step.truncated) == (0, True)
    assert step.info["grading"]["reason"].startswith("max_turns was reached")


def test_the_episode_ends_where_a_minimum_is_not_reached(started):
    step = finish(started())
    assert (step.reward, step.terminated) == (0, True)
    assert step.info["step"]["name"] == "first"
    assert step.info["step_rewards"] == {"first": 0}
    assert "1 steps were not reached" in step.info["grading"]["reason"]


def test_a_minimum_may_be_given_for_each_reward_and_one_that_is_missing_is_below(started):
    both = 'echo \'{"speed": 0.2, "taste": 1}\' > /logs/verifier/reward.json\n'
    files = {"steps/first/tests/test.sh": both}
    env = started(TOML.replace("= 0.5", "= {speed = 0.2, taste = 0.9}"), files)
    assert "Write b" in finish(env).observation
    step = finish(env)
    assert step.info["rewards"] == {"speed": 0.1, "taste": 0.5, "reward": 0}
    assert step.reward == 0
    assert finish(started(TOML.replace("= 0.5", "= {other = -1}"), files)).terminated
    assert finish(started(TOML, files)).terminated  # 0.5 is the minimum of `reward`


def test_the_final_reward_may_be_that_of_the_last_step_alone(started):
    env = started('multi_step_reward_strategy = "final"\n' + TOML)
    run(env, "echo half > /app/a")
    finish(env)
    run(env, "cp fixture b")
    assert finish(env).reward == 1


def test_a_fork_goes_on_in_the_step_of_its_parent(started):
    env = started()
    run(env, "echo a > /app/a")
    finish(env)
    twin = env.fork()
    try:
        run(twin, "cp fixture b")
        assert finish(twin).reward == 1
    finally:
        twin.close()
    assert finish(env).reward == 0.5


@pytest.mark.parametrize("mode", ["fresh", "shared"])
def test_what_a_verifier_leaves_buys_nothing_in_later_steps(started, mode):
    """A program of the agent that runs on sees no tests, and its reward file pays nothing."""
    spy = "while sleep .05; do cat /tests/* >> /app/seen; echo 1 > /logs/verifier/reward.txt; done"
    env = started(mode=mode)
    run(env, "echo a > /app/a; mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt")
    run(env, f"({spy}) > /dev/null 2>&1 &")
    finish(env)
    assert "helper" not in run(env, "ls /tests; cat /app/seen").observation
    run(
        env, "mkdir -p /tests /logs/verifier; echo 1 | tee /tests/test.sh /logs/verifier/reward.txt"
    )
    assert finish(env).info["step_rewards"] == {"first": 1, "second": 0}


def test_a_step_that_cannot_begin_by_the_agents_doing_is_paid_nothing(started):
    env = started()
    run(env, "echo a > /app/a; mkdir fixture.ready")
    run(env, "mkdir -p /app/fixture.ready/fixture")
    step = finish(env)
    assert (step.reward, step.terminated) == (0.5, True)
    assert step.info["step_rewards"] == {"first": 1, "second": 0}
    assert "setup.sh" in step.info["ended_by"] or "health check" in step.info["ended_by"]


def test_a_health_check_that_never_succeeds_is_a_fault(started):
    env = started(files={"steps/second/workdir/setup.sh": "true\n"})
    run(env, "echo a > /app/a")
    with pytest.raises(MachineError, match="health check of step 'second' has failed"):
        finish(env)


def test_a_machine_that_the_agent_ends_leaves_what_earlier_steps_were_paid(started):
    env = started()
    run(env, "echo a > /app/a")
    finish(env)
    env.machine.close()
    step = run(env, "true")
    assert (step.reward, step.terminated) == (0.5, True)
    assert step.info["step_rewards"] == {"first": 1, "second": 0}


def test_the_result_of_the_call_that_finishes_a_step_is_the_next_instruction(started):
    env = started(call_format="hermes")
    run(env, "echo a > /app/a")
    step = env.step('<tool_call>{"name": "finish", "arguments": {}}</tool_call>')
    assert "Write b" in step.observation
    assert "Write b" in step.info["tool_messages"][-1]["content"]
