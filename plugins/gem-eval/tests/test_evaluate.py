"""``gem-core eval``, run as a user runs it."""

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest
from commands import Command

from gem_agents.testing.endpoint_server import EndpointServer
from gem_rollout import read_trajectories
from gem_rollout.records.runs import Run

GUESS = "game/GuessTheNumber-v0-easy"
EVAL = [sys.executable, "-m", "gem_core", "eval", f"env={GUESS}"]
"""The command as a process of its own."""


def rows(path):
    metrics = json.loads((path / "metrics.json").read_text())
    return {(row["agent"], row["scope"], row["name"]): row for row in metrics["rows"]}


def keys(path):
    return [(t.env_id, t.agent, t.index) for t in read_trajectories(path / "trajectories.jsonl")]


@pytest.mark.slow
def test_a_runs_folder_has_its_configuration_trajectories_and_figures(tmp_path, ok):
    shown = ok("eval", f"env={GUESS}", "agent=oracle", "episodes=6", "out=run", cwd=tmp_path)
    assert "100.0% [61.0, 100.0]" in shown
    run = Run.open(tmp_path / "run")
    info = run.info()
    assert info["envs"] == ["game:GuessTheNumber-v0-easy"]
    assert info["agents"] == ["oracle"]
    assert info["config"]["env"]["max_turns"] == 4
    assert len(list(run.trajectories())) == 6
    row = rows(tmp_path / "run")["oracle", "env", "game:GuessTheNumber-v0-easy"]
    assert row["success"]["value"] == 1.0
    assert json.loads(run.metrics_path.read_text())["missing"] == 0


@pytest.mark.slow
def test_without_out_a_run_has_a_folder_with_its_date(tmp_path, ok):
    ok("eval", f"env={GUESS}", "agent=oracle", "episodes=1", cwd=tmp_path)
    (folder,) = (tmp_path / "runs").glob("*/*")
    assert sorted(path.name for path in folder.iterdir()) == [
        "metrics.json",
        "run.json",
        "trajectories.jsonl",
    ]


@pytest.mark.slow
def test_agents_play_the_same_tasks_and_each_task_k_times(tmp_path, ok):
    agents = "agent=[oracle,random]"
    ok("eval", f"env={GUESS}", agents, "episodes=3", "samples=4", "out=run", cwd=tmp_path)
    seeds = {"oracle": [], "random": []}
    for one in read_trajectories(tmp_path / "run" / "trajectories.jsonl"):
        seeds[one.agent].append((one.group, one.sample, one.seed))
    assert sorted(seeds["oracle"]) == sorted(seeds["random"])
    assert len({seed for _, _, seed in seeds["oracle"]}) == 3
    assert list(
        rows(tmp_path / "run")["random", "env", "game:GuessTheNumber-v0-easy"]["pass_at"]
    ) == [
        "1",
        "2",
        "4",
    ]


@pytest.mark.slow
def test_several_environments_have_a_row_each_and_two_for_all(tmp_path, ok):
    ok(
        "eval",
        "envs=[game:GuessTheNumber-v0-easy,math:Sample]",
        "agent=oracle",
        "episodes=2",
        "out=run",
        cwd=tmp_path,
    )
    assert [(scope, name) for _, scope, name in rows(tmp_path / "run")] == [
        ("env", "game:GuessTheNumber-v0-easy"),
        ("env", "math:Sample"),
        ("pooled", "all episodes"),
        ("macro", "mean over environments"),
    ]


@pytest.mark.slow
def test_actions_of_the_wrong_form_are_counted_in_every_family(tmp_path, ok):
    envs = "envs=[game:GuessTheNumber-v0-easy,math:Sample,qa:Sample,code:Sample,rg:gcd]"
    ok("eval", envs, "agent=silent", "episodes=1", "out=run", cwd=tmp_path)
    assert {row["format_errors"] for row in rows(tmp_path / "run").values()} == {1.0}


@pytest.mark.slow
def test_rewards_of_tools_do_not_make_a_wrong_answer_a_success(tmp_path, ok):
    script = r"agent.actions=['<python>print(1)</python>','\boxed{no}']"
    tools = ["tools=[python]", "+tool_use.tool_reward=2.0"]
    ok(
        "eval",
        "env=math/Sample",
        "agent=scripted",
        script,
        *tools,
        "episodes=1",
        "out=run",
        cwd=tmp_path,
    )
    row = rows(tmp_path / "run")["scripted", "env", "math:Sample"]
    assert row["mean_return"]["value"] == 2.0
    assert row["success"]["value"] == 0.0
    assert (row["tool_calls"], row["tool_success"]) == (1.0, 1.0)
    assert row["seconds"]["tool"] > 0


@pytest.mark.slow
def test_agents_of_one_kind_have_different_names(tmp_path, ok):
    overrides = ["+agent@agent.low=scripted", r"agent.low.actions=['\boxed{1}']"]
    overrides += ["+agent@agent.high=scripted", r"agent.high.actions=['\boxed{9}']"]
    ok("eval", f"env={GUESS}", *overrides, "episodes=3", "out=run", cwd=tmp_path)
    actions = {
        (one.agent, one.turns[0].action) for one in Run.open(tmp_path / "run").trajectories()
    }
    assert actions == {("low", r"\boxed{1}"), ("high", r"\boxed{9}")}


@pytest.mark.slow
def test_the_parameters_of_the_only_agent_need_not_name_it(tmp_path, ok, gem):
    overrides = ["agent=scripted", r"agent.actions=['\boxed{1}']", "episodes=1", "out=run"]
    ok("eval", f"env={GUESS}", *overrides, cwd=tmp_path)
    assert Run(tmp_path / "run").info()["config"]["agent"]["scripted"]["actions"] == [r"\boxed{1}"]
    done = gem("eval", f"env={GUESS}", "agent=scripted", "agent.action=[x]", cwd=tmp_path)
    assert "Did you mean 'actions'" in done.stderr


MISTAKES = {
    "agent=oracle episodes=0": "episodes: Input should be greater than or equal to 1",
    "agent=oracle episode=3": "Did you mean 'episodes'",
    "agent=orcale": "Did you mean 'oracle'?",
    "": "agent: give at least one",
    "agent=scripted": "agent.scripted.actions needs a value",
}
"""What is said about overrides that are wrong."""


@pytest.mark.slow
def test_a_mistake_is_reported_in_one_clear_message(tmp_path, gem, subtests):
    for overrides, message in MISTAKES.items():
        with subtests.test(overrides):
            done = gem("eval", f"env={GUESS}", *overrides.split(), cwd=tmp_path)
            assert done.returncode == 1
            assert message in done.stderr
            assert "Traceback" not in done.stderr


def test_a_run_goes_on_where_it_was_and_repeats_nothing(tmp_path, ok, gem):
    base = ["eval", f"env={GUESS}", "agent=random", "samples=2", "out=run"]
    ok(*base, "episodes=2", cwd=tmp_path)
    before = (tmp_path / "run" / "trajectories.jsonl").read_bytes()
    refused = gem(*base, "episodes=4", cwd=tmp_path)
    assert refused.returncode == 1
    assert "add resume=true" in refused.stderr
    ok(*base, "episodes=4", "resume=true", cwd=tmp_path)
    assert (tmp_path / "run" / "trajectories.jsonl").read_bytes().startswith(before)
    assert sorted(index for _, _, index in keys(tmp_path / "run")) == list(range(8))


@pytest.mark.slow
def test_a_line_that_was_cut_is_played_again(tmp_path, ok):
    base = ["eval", f"env={GUESS}", "agent=oracle", "episodes=3", "out=run"]
    ok(*base, cwd=tmp_path)
    path = tmp_path / "run" / "trajectories.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    ok(*base, "resume=true", cwd=tmp_path)
    assert sorted(index for _, _, index in keys(tmp_path / "run")) == [0, 1, 2]


@pytest.mark.slow
def test_an_agent_can_join_a_run(tmp_path, ok):
    base = ["eval", f"env={GUESS}", "episodes=2", "out=run"]
    ok(*base, "agent=random", cwd=tmp_path)
    ok(*base, "agent=oracle", "resume=true", cwd=tmp_path)
    assert Run(tmp_path / "run").info()["agents"] == ["random", "oracle"]
    assert {agent for agent, _, _ in rows(tmp_path / "run")} == {"random", "oracle"}


CHANGES = {
    "env.max_turns=9": "env.max_turns: 4 -> 9",
    "seed=5": "seed: 0 -> 5",
    "samples=3": "samples: 1 -> 3",
    "wrappers=[concat]": "wrappers",
    "agent.scripted.repeat=true": "agent.scripted.repeat: False -> True",
}
"""What is said about overrides that a run was not made with."""


@pytest.mark.slow
def test_a_run_is_not_continued_with_another_configuration(tmp_path, ok, gem, subtests):
    base = ["eval", f"env={GUESS}", "agent=scripted", r"agent.actions=['\boxed{1}']", "out=run"]
    ok(*base, "episodes=1", cwd=tmp_path)
    done = gem(*base, "episodes=2", "resume=true", *CHANGES, cwd=tmp_path)
    assert done.returncode == 1
    assert len(keys(tmp_path / "run")) == 1
    for override, told in CHANGES.items():
        with subtests.test(override):
            assert told in done.stderr


@pytest.mark.slow
def test_a_run_of_a_version_that_hid_ordinary_text_is_continued(tmp_path, ok, gem):
    base = ["eval", f"env={GUESS}", "agent=oracle", "out=run"]
    told = "answer_instruction='Author_key: 5. Guess.'"
    ok(*base, told, "episodes=1", cwd=tmp_path)
    path = tmp_path / "run" / "run.json"
    path.write_text(path.read_text().replace("Author_key: 5.", "Author_key: (hidden)"))
    ok(*base, told, "episodes=2", "resume=true", cwd=tmp_path)
    assert Run(tmp_path / "run").info()["config"]["answer_instruction"] == "Author_key: 5. Guess."
    path.write_text(path.read_text().replace("Author_key: 5.", "Author_key: (hidden)"))
    other = "answer_instruction='Author_key: 5. Say it.'"
    refused = gem(*base, other, "episodes=3", "resume=true", cwd=tmp_path)
    assert "answer_instruction: 'Author_key: (hidden) Guess.' -> " in refused.stderr


@pytest.mark.slow
def test_errors_are_reported_and_can_be_repeated(tmp_path, ok, gem):
    """The scripted action is not text, so that the game refuses it."""
    base = ["eval", f"env={GUESS}", "agent=scripted", "out=run", "episodes=2"]
    done = gem(*base, "agent.actions=[1]", cwd=tmp_path)
    assert done.returncode == 1
    assert "env (InvalidActionError), 2 episodes, for example: An action of" in done.stderr
    assert "Every episode failed." in done.stderr
    assert "2 failed" in done.stdout
    again = ["eval", f"env={GUESS}", "agent=oracle", "out=run", "episodes=2", "resume=true"]
    ok(*again, cwd=tmp_path)
    assert len(keys(tmp_path / "run")) == 4
    ok(*again, "repeat_errors=true", cwd=tmp_path)
    assert {agent for _, agent, _ in keys(tmp_path / "run")} == {"oracle"}


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["budget.episodes=5", "budget.turns=5", "budget.seconds=1e-9"])
def test_a_limit_ends_the_run_and_is_reported(tmp_path, gem, limit):
    done = gem(
        "eval", f"env={GUESS}", "agent=random", "episodes=200", "out=run", limit, cwd=tmp_path
    )
    assert done.returncode == 0
    assert f"The limit {limit.partition('=')[0]} leaves no room" in done.stderr
    assert 200 - json.loads((tmp_path / "run" / "metrics.json").read_text())["missing"] == len(
        keys(tmp_path / "run")
    )
    assert len(keys(tmp_path / "run")) < 30


def started(folder, **streams):
    """Start an endless run in a process, and return it when there are some episodes."""
    command = [*EVAL, "agent=random", "episodes=1000000", "out=run"]
    running = Command(command, cwd=folder, **streams)
    file = folder / "run" / "trajectories.jsonl"
    while not file.exists() or file.stat().st_size < 10_000:
        assert running.poll() is None
        time.sleep(0.01)
    return running


@pytest.mark.slow
def test_ctrl_c_keeps_finished_episodes_and_says_how_to_continue(tmp_path):
    running = started(tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    running.send_signal(signal.SIGINT)
    shown, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Interrupted" in told
    assert "out=run resume=true" in told
    assert "random" in shown
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert (
        metrics["rows"][0]["episodes"]
        == len(keys(tmp_path / "run"))
        == 1000000 - metrics["missing"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_does_not_wait_for_a_model_that_does_not_answer(tmp_path, times):
    with EndpointServer(faults={"hang": 1.0}) as server:
        command = [*EVAL, "agent=openai", "episodes=9", "agent.model=scripted"]
        command += [f"agent.base_url={server.url}", "out=run", "preflight=false"]
        running = Command(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        while server.in_flight < 9:
            assert running.poll() is None
            time.sleep(0.01)
        for _ in range(times):
            running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    # A second signal that comes as the process exits ends it; shells call that 130 too.
    assert running.returncode == 130 or (times == 2 and running.returncode == -signal.SIGINT)
    assert "9 episodes are missing" in told or times == 2
    assert "Traceback" not in told


@pytest.mark.slow
def test_a_killed_run_only_loses_unfinished_episodes(tmp_path, ok):
    running = started(tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    running.kill()
    running.wait()
    done = len(keys(tmp_path / "run"))
    more = ["agent=random", f"episodes={done + 5}", "out=run", "resume=true"]
    ok("eval", f"env={GUESS}", *more, cwd=tmp_path)
    assert sorted(index for _, _, index in keys(tmp_path / "run")) == list(range(done + 5))


@pytest.mark.slow
def test_progress_is_in_lines_where_there_is_no_terminal(tmp_path, gem):
    done = gem("eval", f"env={GUESS}", "agent=oracle", "episodes=5", cwd=tmp_path)
    assert (
        "game:GuessTheNumber-v0-easy oracle: 5/5 episodes, success 100.0% [57%, 100%]"
        in done.stderr
    )
    assert "\x1b[" not in done.stdout + done.stderr
    quiet = gem("eval", f"env={GUESS}", "agent=oracle", "episodes=5", "progress=off", cwd=tmp_path)
    assert "5/5" not in quiet.stderr


@pytest.mark.slow
def test_progress_is_live_at_a_terminal(tmp_path):
    child, descriptor = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.environ["TERM"] = "xterm"
        os.execv(sys.executable, [*EVAL, "agent=random", "episodes=3000", "out=run"])
    seen = b""
    try:
        while chunk := os.read(descriptor, 4096):
            seen += chunk
    except OSError:  # what Linux says at the end of a terminal
        pass
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert b"/3000" in seen
    assert b"turns/s" in seen
    assert b"left" in seen


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "csv", "md"])
def test_figures_come_in_other_formats_alone_on_the_output(tmp_path, ok, form):
    shown = ok("eval", f"env={GUESS}", "agent=oracle", "episodes=2", "--format", form, cwd=tmp_path)
    if form == "json":
        assert json.loads(shown)["rows"][0]["success"]["value"] == 1.0
    else:
        assert len(shown.strip().splitlines()) == {"csv": 2, "md": 3}[form]


@pytest.mark.slow
def test_a_sweep_has_a_folder_for_each_job(tmp_path, ok):
    ok(
        "eval",
        "-m",
        f"env={GUESS},game/GuessTheNumber-v0-hard",
        "agent=oracle",
        "episodes=1",
        "out=runs/all",
        cwd=tmp_path,
    )
    assert len(keys(tmp_path / "runs" / "all" / "0")) == 1
    assert len(keys(tmp_path / "runs" / "all" / "1")) == 1


@pytest.mark.slow
def test_an_evaluation_imports_nothing_heavy(tmp_path):
    code = (
        "import sys; sys.argv = ['gem-core', *sys.argv[1:]]\n"
        "from gem_core.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "heavy = ('scipy.stats', 'pandas', 'duckdb', 'torch', 'aiohttp')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, "eval", f"env={GUESS}", "agent=oracle", "episodes=2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
