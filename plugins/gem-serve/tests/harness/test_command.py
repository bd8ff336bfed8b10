import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli import gem
from commands import Command

from gem_rollout.records.runs import Run


@pytest.fixture
def harness(tasks, engine, provider, tmp_path):
    """Run the command in a folder of its own."""

    def run(program, *arguments, where=f"engine={engine.url}"):
        words = [program, "terminal:Harbor", f"env.data={tasks}", *where.split(), *arguments]
        return gem("harness", *words, cwd=tmp_path)

    return run


@pytest.mark.slow
def test_it_plays_episodes_that_can_be_read_as_a_run(harness, tmp_path):
    done = harness("python-loop", "episodes=2", "out=run", "options.mode=continue")
    assert done.returncode == 0, done.stderr
    assert "2/2 episodes, mean reward 1.000, 4 turns, 2 ended." in done.stdout
    assert "gem-core view run" in done.stdout
    again = harness("python-loop", "--format", "json", "progress=off")
    run = Run.open(tmp_path / "run")
    found = list(run.trajectories())
    assert sorted(one.index for one in found) == [0, 1]
    assert all(one.success and len(one.tokens()) == 1 for one in found)
    assert run.info()["envs"] == ["terminal:Harbor"]
    assert run.info()["agents"] == ["python-loop"]
    assert json.loads(again.stdout)["statuses"] == {"ended": 1}
    assert run.info()["config"]["options"] == {"mode": "continue"}


@pytest.mark.slow
def test_a_gateway_that_runs_already_is_used(harness, gateway, monkeypatch):
    monkeypatch.setenv("GEM_GATEWAY_TOKEN", gateway.admin_token)
    done = harness("python-loop", where=f"gateway={gateway.admin_url}")
    assert done.returncode == 0, done.stderr
    assert gateway.gateway.counts["episodes"] >= 1


@pytest.mark.slow
def test_a_program_of_a_folder_is_found_there(harness, tmp_path):
    tools = tmp_path / "tools"
    (tools / "bin").mkdir(parents=True)
    for parent in (tmp_path, *tmp_path.parents):
        if parent.name.startswith(("pytest-", "test_")):
            parent.chmod(0o755)
    program = tools / "bin" / "mine"
    program.symlink_to("/usr/bin/python3")
    done = harness("python-loop", "harness.python=mine", f"programs=[{tools}]")
    assert "1 ended" in done.stdout, done.stderr
    missing = harness("python-loop", "harness.python=mine")
    assert missing.returncode == 1
    assert "The machine has no program 'mine'" in missing.stderr


@pytest.mark.slow
def test_the_exit_status_is_1_if_every_episode_failed(harness):
    done = harness("python-loop", "episodes=2", "concurrency=2", "harness.turns=0")
    assert done.returncode == 1
    assert "2 NoCallError" in done.stdout
    assert "without asking the model anything" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "where", "part"),
    [
        ((), "", "Give engine=URL, or gateway=URL"),
        ((), "engine=x gateway=y", "Give engine=URL, or gateway=URL"),
        (("--env", "terminal:Sample"), None, "Write env=VALUE"),
        (("math:Sample",), None, "env.data needs env=ID"),
        (("programs=[/no/such]",), None, "no folder /no/such"),
        (("programs=[/usr]", "env.machine=docker"), None, "leave out env.machine"),
        (("options.calls=-1",), None, "calls must be 0 or more"),
        (("options.modee=engine",), None, "Did you mean 'mode'"),
        (("harness.turn=1",), None, "Did you mean 'turns'"),
        ((), "gateway=http://127.0.0.1:9", "cannot be reached"),
        ((), "engine=http://127.0.0.1:9", "127.0.0.1:9"),
    ],
)
def test_what_cannot_work_is_said_before_an_episode_begins(harness, arguments, where, part):
    where = {} if where is None else {"where": where}
    done = harness("python-loop", *arguments, **where)
    assert done.returncode != 0
    assert part in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_program_suggests_near_names(harness):
    done = harness("codes")
    assert done.returncode != 0
    assert "codex" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "part"),
    [
        ([], "Name the program"),
        (["codex", "math:Sample", "logic:Sample"], "one environment at a time"),
    ],
)
def test_a_program_plays_one_environment(words, part):
    done = gem("harness", *words, "engine=x")
    assert done.returncode == 1
    assert part in done.stderr


@pytest.mark.slow
def test_ctrl_c_ends_the_programs_and_keeps_what_was_played(
    tasks, start_engine, provider, tmp_path
):
    engine = start_engine("echo hello > /app/greeting.txt", "echo begun; sleep 1000")
    words = ["python-loop", "terminal:Harbor", f"env.data={tasks}"]
    words += [f"engine={engine.url}", "out=run", "concurrency=1"]
    process = Command(
        [sys.executable, "-m", "gem_core", "harness", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    while len(engine.log) < 2:  # the program then sleeps
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "0/1 episodes" in stdout
    assert "Interrupted" in stderr
    assert json.loads(Path(tmp_path, "run", "run.json").read_text())["agents"] == ["python-loop"]
