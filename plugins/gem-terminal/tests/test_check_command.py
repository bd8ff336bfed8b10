"""``gem-core terminal check`` finds tasks whose tests are not fair, with real machines."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from gem_core.errors import ConfigError, UnknownIdError
from gem_sandbox.machines.local.provider import LocalProvider
from gem_terminal.commands import command
from gem_terminal.folders import read_folder
from gem_terminal.played_cheats import play_cheats
from gem_terminal.specs import CheatSpec
from gem_terminal.task_check import _TaskCheck, check_folders

REWARD = "/logs/verifier/reward.txt"
GRADE = f"[ -e /app/done ] && echo 1 > {REWARD} || echo 0 > {REWARD}"
SETTINGS = '[environment]\nnetwork_mode = "no-network"\n'


def task(
    folder: Path,
    *,
    solve: str = "touch /app/done",
    grade: str = GRADE,
    toml: str = SETTINGS,
    dockerfile: str = "FROM debian\nWORKDIR /app\n",
    instruction: str = "Make /app/done.",
) -> None:
    texts = {
        "task.toml": toml,
        "instruction.md": instruction,
        "environment/Dockerfile": dockerfile,
        "tests/test.sh": grade,
        "solution/solve.sh": solve,
    }
    for name, text in texts.items():
        if text:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)


FAULTS = {
    "flaky": {"grade": f"echo 0.$RANDOM > {REWARD}"},
    "easy": {"grade": f"echo all is well; echo 1 > {REWARD}"},
    "hard": {"solve": "echo I cannot; exit 3"},
    "broken": {"grade": "true"},
    "slow": {
        "toml": f"{SETTINGS}[agent]\ntimeout_sec = 0.1\n",
        "solve": "touch /app/done; sleep 60",
    },
    "online": {"toml": "[environment]\n", "solve": "false"},
    "unsolved": {"solve": ""},
    "unsolved-easy": {"solve": "", "grade": f"echo 1 > {REWARD}"},
    "ill": {
        "toml": f"{SETTINGS}[environment.healthcheck]\n"
        "command = 'false'\nretries = 1\ninterval_sec = 0.0\n"
    },
    "lacking": {"grade": f"no-such-program && {GRADE}"},
    "unmade": {"dockerfile": "FROM debian\nRUN exit 7\n"},
    "gpu": {"toml": "[environment]\ngpus = 1\n"},
    "staged": {"dockerfile": "FROM a\nFROM b\n"},
    "bad": {"toml": "agent = 3\n"},
}
"""Tasks that are not fair, or cannot be checked here."""


@pytest.fixture(scope="module")
def folder(provider, tmp_path_factory):
    """A folder with a fair task and all others."""
    made = tmp_path_factory.mktemp("tasks")
    for name, parts in {"fair": {}, **FAULTS}.items():
        task(made / name, **parts)
    return made


def run(*arguments: object):
    return CliRunner().invoke(command, ["check", *map(str, arguments)])


def checked(*arguments: object) -> dict[str, dict]:
    result = run(*arguments, "--format", "json")
    return {each["id"]: each for each in json.loads(result.stdout)["tasks"]}


@pytest.fixture(scope="module")
def reports(folder):
    """What is found of each task but ``easy``, which a test prints."""
    return checked(folder, *(name for name in ("fair", *FAULTS) if name != "easy"), "--no-cheats")


@pytest.mark.slow
class TestReports:
    def test_a_fair_task_is_played_by_each_agent_as_often_as_the_check_takes(self, reports):
        assert reports["fair"]["state"] == "ok"
        rewards = [(each["check"], each["reward"]) for each in reports["fair"]["attempts"]]
        assert rewards == [("oracle", 1)] * 2 + [("idle", 0)] * 2 + [("parallel", 1)] * 4

    def test_a_task_whose_tests_are_flaky_fails(self, reports):
        failure = reports["flaky"]["failures"][0]
        assert failure["check"] == "oracle"
        message = r"paid 0\.\d+, 0\.\d+, which must be 1 each time"
        assert re.fullmatch(message, failure["message"])

    def test_a_task_whose_solution_is_not_paid_fails_with_what_it_printed(self, reports):
        [failure] = reports["hard"]["failures"]
        assert failure["check"] == "oracle"
        assert failure["message"] == "paid 0, 0, which must be 1 each time"
        assert failure["output"].startswith("I cannot\n[exit status 3, in /app]\n")

    def test_a_task_whose_tests_give_no_reward_fails(self, reports):
        failures = reports["broken"]["failures"]
        assert [each["check"] for each in failures] == ["oracle", "idle"]
        assert "paid an error, an error" in failures[0]["message"]
        assert "wrote neither" in failures[0]["message"]

    def test_a_task_whose_solution_is_too_slow_fails(self, reports):
        [failure] = reports["slow"]["failures"]
        assert "longer than the agent's 0.1 s" in failure["message"]

    def test_the_failure_of_a_task_that_may_use_the_internet_says_so(self, reports):
        [failure] = reports["online"]["failures"]
        assert "may use the internet" in failure["message"]

    def test_a_task_without_a_solution_is_told_apart_unless_it_pays_for_nothing(self, reports):
        assert reports["unsolved"]["state"] == "no solution"
        assert "no solution" in reports["unsolved"]["reason"]
        assert reports["unsolved-easy"]["state"] == "failed"

    def test_a_machine_that_is_never_healthy_is_named(self, reports):
        [failure] = reports["ill"]["failures"]
        assert failure["check"] == "machine"

    def test_a_machine_that_cannot_be_made_is_not_the_fault_of_the_task(self, reports):
        assert (reports["unmade"]["state"], reports["ill"]["state"]) == ("fault", "fault")
        [failure] = reports["unmade"]["failures"]
        assert "line 2: RUN ended with exit status 7" in failure["message"]

    def test_nor_is_a_command_that_the_machine_lacks(self, reports):
        assert reports["lacking"]["state"] == "fault"
        reason = reports["lacking"]["reason"]
        assert reason.startswith("not found: no-such-program; the base is this host's programs")
        assert reports["hard"]["state"] == "failed"


RUNS = {
    "instruction": "Make /app/run.sh, which makes /app/done.",
    "grade": f"bash /app/run.sh; {GRADE}",
    "solve": "echo touch /app/done > /app/run.sh",
}
CHEATED = {
    "fair": {},
    "unsolved": {"solve": ""},
    "wrong": {**RUNS, "toml": f'{SETTINGS}[metadata.gem-core]\ntests_run = "no-programs"\n'},
    "forgeable": RUNS,
    "shared": {"toml": f'{SETTINGS}[verifier]\nenvironment_mode = "shared"\n'},
    "easy": {"grade": f"echo 1 > {REWARD}"},
}
"""Tasks that cheats are tried on; ``wrong`` says of its tests what is not so."""
SOME = [word for each in ("program-reward", "shell-*") for word in ("--cheat", each)]


@pytest.fixture(scope="module")
def cheated(provider, tmp_path_factory):
    """A folder with tasks that cheats are tried on."""
    made = tmp_path_factory.mktemp("cheated")
    for name, parts in CHEATED.items():
        task(made / name, **parts)
    return made


@pytest.fixture(scope="module")
def cheat_reports(cheated):
    return checked(cheated, *SOME)


@pytest.mark.slow
class TestCheats:
    def test_a_fair_task_pays_no_cheat(self, cheat_reports):
        for name in ("fair", "unsolved"):
            found = cheat_reports[name]["cheats"]
            assert found.pop("seconds") > 0
            assert found.pop("tried") >= 5
            assert found == {"paid": [], "voids": [], "flagged": False}
        assert cheat_reports["fair"]["state"] == "ok"

    def test_a_task_that_pays_a_cheat_fails(self, cheat_reports):
        report = cheat_reports["wrong"]
        [failure] = report["failures"]
        assert report["cheats"]["paid"] == ["program-reward"]
        count = f"1 of {report['cheats']['tried']}"
        assert failure["check"] == "cheats"
        assert failure["message"] == f"{count} cheats are paid: program-reward (1)"

    def test_a_task_that_is_flagged_may_pay_cheats_which_are_listed(self, cheat_reports):
        report = cheat_reports["forgeable"]
        assert (report["state"], report["cheats"]["flagged"]) == ("ok", True)
        count = f"1 of {report['cheats']['tried']}"
        assert report["notes"] == [f"forgeable: {count} cheats are paid: program-reward"]

    def test_no_cheat_is_tried_where_the_agent_is_trusted(self, cheat_reports):
        report = cheat_reports["shared"]
        assert (report["state"], report["cheats"]) == ("ok", None)
        assert report["notes"] == ["cheats: not tried: the mode shared trusts the agent"]

    def test_no_cheat_is_tried_on_a_task_that_pays_for_nothing(self, cheat_reports):
        assert cheat_reports["easy"]["cheats"] is None
        assert [each["check"] for each in cheat_reports["easy"]["failures"]] == ["idle"]

    def test_cheats_that_are_paid_are_printed(self, cheated):
        result = run(cheated, "wrong", "forgeable", "--cheat", "program-reward")
        assert result.exit_code == 1
        lines = result.stdout.splitlines()
        assert f"{' ' * 12}cheats: 1 of 1 cheats are paid: program-reward (1)" in lines
        assert f"{' ' * 12}forgeable: 1 of 1 cheats are paid: program-reward" in lines

    def test_a_cheat_that_voids_the_episode_fails_the_task(self, cheated):
        def broken(task):
            raise RuntimeError("no commands")

        cheats = [CheatSpec(id="broken", entry_point=broken)]
        [report] = check_folders(read_folder(cheated / "forgeable"), LocalProvider(), cheats=cheats)
        assert report.state == "failed"
        [failure] = report.failures
        assert failure.message == "1 of 1 void the episode: broken (RuntimeError: no commands)"

    def test_a_cheat_that_does_not_apply_is_not_tried(self, cheated):
        cheats = [CheatSpec(id="none", entry_point=lambda task: "")]
        [report] = check_folders(read_folder(cheated / "fair"), LocalProvider(), cheats=cheats)
        assert (report.state, report.cheats.tried) == ("ok", 0)


class NotIsolated:
    isolated = False

    def __getattr__(self, name):
        raise AssertionError(f"{name} must not be used")


def test_no_cheat_is_played_on_machines_that_are_not_isolated(tmp_path):
    task(tmp_path / "fair")
    [found] = read_folder(tmp_path)
    cheats = [CheatSpec(id="any", entry_point=lambda task: "touch /no-such-folder/file")]
    with pytest.raises(ConfigError, match="isolated machines only"):
        play_cheats(found.task, NotIsolated(), cheats, threading.Event())
    check = _TaskCheck(found, NotIsolated(), threading.Event(), cheats)
    assert list(check._failed_cheats(found.task)) == []
    assert check._notes == [
        "cheats: not tried: they would attack this host, as its machines are not isolated"
    ]


def test_a_pattern_that_matches_no_cheat_is_an_error_with_near_names(tmp_path):
    task(tmp_path / "fair")
    result = run(tmp_path, "--cheat", "program-kill")
    assert str(result.exception).startswith("No cheat matches 'program-kill'. Did you mean")


@pytest.mark.slow
def test_tasks_that_do_not_run_here_are_listed_and_do_not_fail_the_check(folder):
    result = run(folder, "fair", "gpu", "staged", "--no-cheats")
    assert result.exit_code == 0
    assert re.search(r"^ok +fair +\d", result.stdout, re.MULTILINE)
    assert "skipped     gpu  The task needs a GPU." in result.stdout
    assert "skipped     staged  the Dockerfile has 2 stages" in result.stdout
    assert "3 tasks: 1 ok, 0 no solution, 0 failed, 0 fault, 2 skipped." in result.stdout
    assert "Checking 3 tasks, 4 at a time." in result.stderr


@pytest.mark.slow
def test_a_task_that_pays_for_nothing_fails_the_check(folder):
    result = run(folder, "easy", "--no-cheats")
    assert result.exit_code == 1
    said = f"idle: paid 1, 1, which must be 0 each time\n{' ' * 14}all is well"
    assert said in result.stdout
    assert "oracle" not in result.stdout


@pytest.mark.slow
def test_a_malformed_task_fails_the_check(folder):
    result = run(folder, "bad", "unsolved", "--no-cheats")
    assert result.exit_code == 1
    assert "task: malformed: task.toml: agent: must be a table; got 3." in result.stdout


def test_the_check_fails_if_no_task_runs_here(folder):
    assert run(folder, "gpu").exit_code == 1


@pytest.mark.slow
def test_a_task_of_terminal_bench_is_checked(provider):
    samples = Path(__file__).parents[1] / "gem_terminal/samples_terminal_bench"
    assert checked(samples, "greeting", "--no-cheats")["greeting"]["state"] == "ok"


@pytest.mark.slow
@pytest.mark.usefixtures("provider")
def test_the_tasks_that_are_checked_can_be_narrowed(tmp_path):
    for name in ("a1", "a2", "b1", "b2"):
        task(tmp_path / name, solve="")
    assert list(checked(tmp_path, "a*", "b2", "--limit", 2, "--no-cheats")) == ["a1", "a2"]


@pytest.mark.slow
@pytest.mark.usefixtures("provider")
def test_a_sample_is_drawn_by_its_seed(tmp_path):
    for name in "abcdefgh":
        task(tmp_path / name, solve="")
    drawn = [
        set(checked(tmp_path, "--sample", 2, "--seed", seed, "--no-cheats")) for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[2]) == 2


def test_a_task_is_checked_on_other_machines(tmp_path):
    task(tmp_path / "fair")
    with pytest.warns(RuntimeWarning, match="without isolation"):
        found = checked(tmp_path, "--machine", "process")
    [failure] = found["fair"]["failures"]
    assert "no images" in failure["message"]


def test_a_folder_without_tasks_is_an_error(tmp_path):
    result = run(tmp_path)
    assert isinstance(result.exception, ConfigError)
    assert "No task.toml or task.yaml" in str(result.exception)


def test_a_missing_folder_is_an_error(tmp_path):
    result = run(tmp_path / "nowhere")
    assert "does not exist" in str(result.exception)


def test_a_pattern_that_matches_nothing_is_an_error_with_near_names(tmp_path):
    task(tmp_path / "backup")
    result = run(tmp_path, "bakup")
    assert str(result.exception) == "No task matches 'bakup'. Did you mean 'backup'?"


def test_an_unknown_provider_is_an_error(tmp_path):
    task(tmp_path / "fair")
    assert isinstance(run(tmp_path, "--machine", "lokal").exception, UnknownIdError)


@pytest.mark.slow
@pytest.mark.usefixtures("provider")
@pytest.mark.parametrize(
    ("number", "form"), [(signal.SIGINT, "text"), (signal.SIGTERM, "jsonl")], ids=["int", "term"]
)
def test_a_signal_keeps_what_was_found_and_leaves_no_machine(tmp_path, number, form):
    mark = f"{os.getpid()}.{time.monotonic_ns()}"
    task(tmp_path / "fair")
    task(tmp_path / "stuck", solve=f"sleep {mark}")
    check = ["terminal", "check", str(tmp_path), "--no-cheats"]
    arguments = [sys.executable, "-m", "gem_core", *check]
    process = subprocess.Popen(
        [*arguments, "--jobs", "2", "--format", form],
        stdout=-1,
        stderr=-1,
        text=True,
        process_group=0,
    )
    first = process.stdout.readline()  # as soon as it is known
    wait_until(lambda: runs(f"sleep {mark}"))
    os.killpg(process.pid, number)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 130
    if form == "jsonl":
        assert json.loads(first)["state"] == "ok"
        assert stdout == ""
    else:
        assert re.search(r"^ok +fair", first)
    assert "stuck" not in stdout
    assert "Interrupted: 1 of 2 tasks were not checked." in stderr
    assert "Traceback" not in stderr
    wait_until(lambda: not runs(f"sleep {mark}"))


@pytest.mark.slow
@pytest.mark.usefixtures("provider")
def test_closing_the_iterator_of_reports_ends_the_machines(tmp_path):
    mark = f"{os.getpid()}.{time.monotonic_ns()}"
    task(tmp_path / "unsolved", solve="")
    task(tmp_path / "stuck", solve=f"sleep {mark}")
    reports = check_folders(read_folder(tmp_path), LocalProvider())
    assert next(reports).id == "unsolved"
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
