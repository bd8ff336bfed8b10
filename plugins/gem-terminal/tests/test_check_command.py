"""``gem-core terminal check`` finds tasks whose tests are not fair, with real machines."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from gem_core.errors import ConfigError, MachineError, UnknownIdError
from gem_core.machine import MachineSpec
from gem_terminal.commands import command
from gem_terminal.folders import read_folder
from gem_terminal.task_check import check_folders

local = pytest.importorskip("gem_sandbox.machines.local.provider")

REWARD = "/logs/verifier/reward.txt"
GRADE = f"[ -e /app/done ] && echo 1 > {REWARD} || echo 0 > {REWARD}"
SETTINGS = '[environment]\nnetwork_mode = "no-network"\n'


def task(
    folder: Path, *, solve: str = "touch /app/done", grade: str = GRADE, toml: str = ""
) -> None:
    texts = {
        "task.toml": toml or SETTINGS,
        "instruction.md": "Make /app/done.",
        "environment/Dockerfile": "FROM debian\nWORKDIR /app\n",
        "tests/test.sh": grade,
        "solution/solve.sh": solve,
    }
    for name, text in texts.items():
        if text:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)


@pytest.fixture(scope="session")
def machines() -> None:
    try:
        with local.LocalProvider() as provider:
            provider.start(MachineSpec()).close()
    except MachineError as error:
        pytest.skip(f"no machine can be started here: {error}")


def run(*arguments: object):
    return CliRunner().invoke(command, ["check", *map(str, arguments)])


def checked(*arguments: object) -> dict[str, dict]:
    result = run(*arguments, "--format", "json")
    return {each["id"]: each for each in json.loads(result.stdout)["tasks"]}


@pytest.mark.usefixtures("machines")
class TestATask:
    def test_that_is_fair_is_ok(self, tmp_path):
        task(tmp_path / "fair")
        result = run(tmp_path / "fair")
        assert result.exit_code == 0
        assert re.search(r"^ok +fair +\d", result.stdout)
        assert "1 tasks: 1 ok, 0 failed, 0 skipped." in result.stdout
        assert "1/1 tasks checked" in result.stderr

    def test_is_played_by_each_agent_as_often_as_it_takes(self, tmp_path):
        task(tmp_path / "fair")
        attempts = checked(tmp_path)["fair"]["attempts"]
        rewards = [(each["check"], each["reward"]) for each in attempts]
        assert rewards == [("oracle", 1)] * 2 + [("idle", 0)] * 2 + [("parallel", 1)] * 4

    def test_whose_tests_are_flaky_fails(self, tmp_path):
        task(tmp_path / "flaky", grade=f"echo 0.$RANDOM > {REWARD}")
        result = run(tmp_path)
        assert result.exit_code == 1
        assert re.search(r"oracle: paid 0\.\d+, 0\.\d+, which must be 1 each time", result.stdout)

    def test_that_pays_for_nothing_fails(self, tmp_path):
        task(tmp_path / "easy", grade=f"echo all is well; echo 1 > {REWARD}")
        result = run(tmp_path)
        assert result.exit_code == 1
        assert "idle: paid 1, 1, which must be 0 each time\n          all is well" in result.stdout
        assert "oracle" not in result.stdout

    def test_whose_solution_is_not_paid_fails_and_says_what_it_printed(self, tmp_path):
        task(tmp_path / "hard", solve="echo I cannot; exit 3")
        [failure] = checked(tmp_path)["hard"]["failures"]
        assert failure["check"] == "oracle"
        assert failure["message"] == "paid 0, 0, which must be 1 each time"
        assert failure["output"].startswith("I cannot\n[exit status 3, in /app]\n")

    def test_whose_tests_give_no_reward_fails(self, tmp_path):
        task(tmp_path / "broken", grade="true")
        found = checked(tmp_path)["broken"]
        assert [each["check"] for each in found["failures"]] == ["oracle", "idle"]
        assert "paid an error, an error" in found["failures"][0]["message"]
        assert "wrote neither" in found["failures"][0]["message"]

    def test_whose_solution_is_too_slow_fails(self, tmp_path):
        toml = SETTINGS + "[agent]\ntimeout_sec = 0.1\n"
        task(tmp_path / "slow", toml=toml, solve="touch /app/done; sleep 60")
        [failure] = checked(tmp_path)["slow"]["failures"]
        assert "longer than the agent's 0.1 s" in failure["message"]

    def test_that_may_use_the_internet_says_so_where_it_fails(self, tmp_path):
        task(tmp_path / "online", toml="[environment]\n", solve="false")
        [failure] = checked(tmp_path)["online"]["failures"]
        assert "may use the internet" in failure["message"]

    def test_without_a_solution_is_skipped_unless_it_pays_for_nothing(self, tmp_path):
        task(tmp_path / "a", solve="")
        task(tmp_path / "b", solve="", grade=f"echo 1 > {REWARD}")
        found = checked(tmp_path)
        assert {name: each["state"] for name, each in found.items()} == {
            "a": "skipped",
            "b": "failed",
        }
        assert "no solution" in found["a"]["reason"]

    def test_whose_machine_is_never_healthy_fails(self, tmp_path):
        check = "[environment.healthcheck]\ncommand = 'false'\nretries = 1\ninterval_sec = 0.0\n"
        task(tmp_path / "ill", toml=SETTINGS + check)
        [failure] = checked(tmp_path)["ill"]["failures"]
        assert failure["check"] == "machine"

    def test_whose_image_cannot_be_built_here_is_skipped(self, tmp_path):
        task(tmp_path / "unmade")
        (tmp_path / "unmade/environment/Dockerfile").write_text("FROM debian\nRUN exit 7\n")
        found = checked(tmp_path)["unmade"]
        assert found["state"] == "skipped"
        assert "line 2: RUN ended with exit status 7" in found["reason"]


@pytest.mark.usefixtures("machines")
class TestAFolder:
    def test_lists_what_does_not_run_here_and_is_ok_all_the_same(self, tmp_path):
        task(tmp_path / "fair")
        task(tmp_path / "gpu", toml="[environment]\ngpus = 1\n")
        task(tmp_path / "staged")
        (tmp_path / "staged/environment/Dockerfile").write_text("FROM a\nFROM b\n")
        result = run(tmp_path)
        assert result.exit_code == 0
        assert "skipped gpu  The task needs a GPU." in result.stdout
        assert "skipped staged  it needs machines of 'docker'" in result.stdout
        assert "3 tasks: 1 ok, 0 failed, 2 skipped." in result.stdout

    def test_fails_if_a_task_is_malformed(self, tmp_path):
        task(tmp_path / "fair")
        task(tmp_path / "bad", toml="agent = 3\n")
        result = run(tmp_path)
        assert result.exit_code == 1
        assert "task: malformed: agent must be a table; got 3." in result.stdout

    def test_fails_if_nothing_runs_here(self, tmp_path):
        task(tmp_path / "gpu", toml="[environment]\ngpus = 1\n")
        assert run(tmp_path).exit_code == 1

    def test_of_terminal_bench_is_checked(self):
        folder = Path(__file__).parents[1] / "gem_terminal/samples_terminal_bench"
        assert checked(folder, "greeting")["greeting"]["state"] == "ok"

    def test_can_be_narrowed(self, tmp_path):
        for name in ("a1", "a2", "b1", "b2"):
            task(tmp_path / name)
        assert list(checked(tmp_path, "a*", "b2", "--limit", 2)) == ["a1", "a2"]

    def test_is_checked_on_other_machines(self, tmp_path):
        task(tmp_path / "fair")
        with pytest.warns(RuntimeWarning, match="without isolation"):
            found = checked(tmp_path, "--machine", "process")
        assert "no images" in found["fair"]["reason"]


class TestWhatCannotBeChecked:
    def test_a_folder_without_tasks_is_an_error(self, tmp_path):
        result = run(tmp_path)
        assert isinstance(result.exception, ConfigError)
        assert "No task.toml or task.yaml" in str(result.exception)

    def test_a_missing_folder_is_an_error(self, tmp_path):
        result = run(tmp_path / "nowhere")
        assert "does not exist" in str(result.exception)

    def test_a_pattern_that_matches_nothing_is_an_error_with_near_names(self, tmp_path):
        task(tmp_path / "backup")
        result = run(tmp_path, "bakup")
        assert str(result.exception) == "No task matches 'bakup'. Did you mean 'backup'?"

    def test_an_unknown_provider_is_an_error(self, tmp_path):
        task(tmp_path / "fair")
        assert isinstance(run(tmp_path, "--machine", "lokal").exception, UnknownIdError)


@pytest.mark.usefixtures("machines")
class TestBeingInterrupted:
    def test_prints_what_was_found_and_leaves_no_machine(self, tmp_path):
        mark = f"{os.getpid()}.{time.monotonic_ns()}"
        task(tmp_path / "fair")
        task(tmp_path / "stuck", solve=f"sleep {mark}")
        arguments = [sys.executable, "-m", "gem_core", "terminal", "check", str(tmp_path)]
        process = subprocess.Popen(
            [*arguments, "--jobs", "2"], stdout=-1, stderr=-1, text=True, process_group=0
        )
        wait_until(lambda: runs(f"sleep {mark}") and "1/2" in process.stderr.readline())
        os.killpg(process.pid, signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
        assert process.returncode == 130
        assert re.search(r"^ok +fair", stdout)
        assert "stuck" not in stdout
        assert "Interrupted: 1 of 2 tasks were not checked." in stderr
        assert "Traceback" not in stderr
        wait_until(lambda: not runs(f"sleep {mark}"))

    def test_closing_the_iterator_ends_the_machines(self, tmp_path):
        mark = f"{os.getpid()}.{time.monotonic_ns()}"
        task(tmp_path / "fair")
        task(tmp_path / "stuck", solve=f"sleep {mark}")
        reports = check_folders(read_folder(tmp_path))
        assert next(reports).id == "fair"
        wait_until(lambda: runs(f"sleep {mark}"))
        reports.close()
        wait_until(lambda: not runs(f"sleep {mark}"))


def runs(command_line: str) -> bool:
    wanted = command_line.encode().replace(b" ", b"\0")
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().rstrip(b"\0") == wanted:
                return True
        except OSError:
            continue
    return False


def wait_until(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
