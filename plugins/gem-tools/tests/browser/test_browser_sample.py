"""Tasks in a browser: the oracle, what is worth nothing, forks, a machine without Chromium."""

import contextlib
import json
import os
import shutil
import signal

import pytest
from browser_visit import below

import gem_core
from gem_core.errors import DataError, ForkError, NotInstalledError
from gem_tasks.grader import GraderError
from gem_tools.mcpmark import MCPMarkEnv

ID = "mcp:Browser-Sample"
ANSWERS = {"hearth_shop/best_pan", "ticket_tracker/import_table", "coast_cottages/three_prices"}


def tool_call(name, **arguments):
    text = json.dumps(arguments)
    return f"<tool_call> <tool_name>{name}</tool_name> <arguments>{text}</arguments> </tool_call>"


@pytest.fixture(scope="module")
def sample(running):
    with gem_core.make(ID, shuffle=False) as env:
        yield env


def play(env, calls, last):
    for call in calls:
        step = env.step(tool_call(call["name"], **call["arguments"]))
        assert step.observation.startswith("Page: http://site.test/")
    return env.step(last)


def start(env, name):
    """Begin an episode of a task."""
    for idx in range(8):
        observation, info = env.reset(idx=idx)
        if info["task_name"] == name:
            return observation
    raise LookupError(name)


@pytest.mark.slow
@pytest.mark.parametrize("idx", range(8))
def test_the_oracle_is_paid_and_what_lacks_its_last_step_is_not(sample, idx):
    sample.reset(idx=idx)
    task = sample.unwrapped
    calls, last = task.script(), task.solution()
    assert play(sample, calls, last).reward == 1.0
    sample.reset(idx=idx)
    is_answer = task.row["name"] in ANSWERS
    assert is_answer == (last != "Done.")
    if is_answer:
        step = sample.step(f"I looked at everything.\n{last}")
    else:
        step = play(sample, calls[:-1], last)
    assert step.reward == 0.0
    assert step.info["verification"]


@pytest.mark.parametrize("idx", range(8))
def test_nothing_done_is_worth_nothing(sample, idx):
    sample.reset(idx=idx)
    assert sample.step("Done.").reward == 0.0


def test_an_agent_reads_where_the_site_is_and_acts_there(sample):
    observation = start(sample, "ticket_tracker/root_blocker")
    assert "The site is at http://site.test/." in observation
    step = play(sample, sample.unwrapped.script(), "Done.")
    assert step.reward == 1.0


def test_a_fork_has_the_tabs_and_the_site_of_the_episode_and_its_own_from_then_on(sample):
    start(sample, "ticket_tracker/root_blocker")
    calls = sample.unwrapped.script()
    for call in calls[:6]:
        sample.step(tool_call(call["name"], **call["arguments"]))
    with sample.fork() as fork:
        page = sample.step(tool_call("browser_snapshot")).observation
        priority = 'combobox "Priority"'
        assert priority in page
        assert play(fork, calls[5:], "Done.").reward == 1.0
    assert sample.step("Done.").reward == 0.0


def test_a_crash_of_the_browser_is_a_fault_of_the_episode_alone(sample):
    sample.reset(idx=0)
    sample.step(tool_call("browser_snapshot"))
    for pid in below(os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    sample.step(tool_call("browser_snapshot"))
    with pytest.raises(GraderError, match="The browser crashed"):
        sample.step("Done.")
    sample.reset(idx=0)
    assert play(sample, sample.unwrapped.script(), sample.unwrapped.solution()).reward == 1.0


def test_a_task_of_others_is_refused_with_the_reason(sample, tmp_path):
    folder = tmp_path / "web/live"
    folder.mkdir(parents=True)
    (folder / "description.md").write_text("Look.")
    (folder / "verify.py").write_text("raise SystemExit(1)")
    with pytest.raises(DataError, match=r"'web/live' .*it takes place at web sites that are not"):
        MCPMarkEnv(tasks=tmp_path, service="playwright")


@pytest.mark.parametrize("state", ["", "[]", '{"site": "shop"}', '{"site": "mall", "seed": 1}'])
def test_an_initial_state_that_is_no_site_is_named(sample, tmp_path, state):
    task = tmp_path / "tasks/web/look"
    shutil.copytree(sample.unwrapped.row["folder"], task)
    (task / "meta.json").write_text('{"category_id": "web"}')
    (tmp_path / "states/web").mkdir(parents=True)
    (tmp_path / "states/web/site.json").write_text(state)
    with (
        MCPMarkEnv(
            tasks=tmp_path / "tasks", environments=tmp_path / "states", service="playwright"
        ) as env,
        pytest.raises(DataError, match="site"),
    ):
        env.reset()


def test_a_machine_without_chromium_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotInstalledError, match="apt-get install chromium-headless-shell"):
        gem_core.make(ID)


def test_a_fork_of_the_process_is_told_to_make_its_own(sample):
    sample.reset(idx=0)
    child = os.fork()
    if not child:
        status = 1
        with contextlib.suppress(BaseException):
            try:
                sample.unwrapped.reset(idx=0)
            except ForkError:
                status = 0
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sample.step("Done.").reward == 0.0
