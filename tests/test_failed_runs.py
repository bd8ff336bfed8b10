"""Commands whose episodes fail: they say why, and a run of failures only has exit status 1."""

import json
import re

import cli
import pytest

from gem_agents.testing.endpoint_server import EndpointServer
from gem_rollout import read_trajectories

PLAYS = pytest.mark.parametrize("command", ["run", "eval"])
GUESS = "game:GuessTheNumber-v0-easy"


@pytest.fixture
def gem(install, plugins_in, tmp_path):
    """Run gem-core with the plugin ``failing`` in an empty folder."""
    plugins_in(install("failing"))
    return lambda *words: cli.gem(*words, "out=run", cwd=tmp_path)


@pytest.mark.slow
@PLAYS
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            ["fail:reset", "agent=random"],
            r"env \(RuntimeError\), 3 episodes, for example: It fails at reset",
        ),
        (
            ["fail:step", "agent=random"],
            r"env \(RuntimeError\), 3 episodes, for example: It fails at step",
        ),
        (["fail:never", "agent=failing"], r"agent \(ValueError\), 3 episodes, .*The agent fails"),
    ],
)
def test_a_run_of_failures_has_exit_status_1_and_says_why(gem, tmp_path, command, words, reason):
    """The reason has the place of the first error, and the file of the tracebacks is named."""
    done = gem(command, *words, "episodes=3")
    assert done.returncode == 1
    assert "3 failed" in done.stdout
    assert "success 0" not in done.stdout + done.stderr
    assert "Every episode failed." in done.stderr
    assert re.search(reason, done.stderr)
    assert re.search(r"raised at \S+failing\.py:\d+ in ", done.stderr)
    (log,) = re.findall(r"The tracebacks are in (\S+)", done.stderr)
    assert "Traceback" in (tmp_path / log).read_text()


@pytest.mark.slow
def test_missed_deadlines_are_a_reason(gem):
    done = gem("eval", "fail:sleep", "agent=random", "episodes=2", "turn_deadline=0.3")
    assert done.returncode == 1
    assert re.search(r"env \(DeadlineError\), 2 episodes", done.stderr)


@pytest.mark.slow
@PLAYS
def test_an_environment_that_cannot_be_made_is_an_error(gem, command):
    done = gem(command, "fail:make", "agent=random", "episodes=2")
    assert done.returncode == 1
    assert "It fails at make." in done.stderr


@pytest.mark.slow
@PLAYS
def test_too_many_failures_end_a_command_with_status_1(gem, command):
    """Half of the episodes fail: the figures are printed, and so is what to do."""
    words = (command, "fail:never", "fail:step", "agent=random", "episodes=4")
    done = gem(*words)
    assert done.returncode == 1
    assert "50% of the episodes failed, more than fail_on_error=0.2 accepts" in done.stderr
    assert "out=run resume=true repeat_errors=true" in done.stderr
    again = gem(*words, "resume=true", "repeat_errors=true", "fail_on_error=0.5")
    assert again.returncode == 0
    assert "repeat_errors" not in again.stderr
    refused = gem(*words, "resume=true", "fail_on_error=2")
    assert "fail_on_error" in refused.stderr


@pytest.mark.slow
@PLAYS
def test_episodes_with_an_error_are_played_again(gem, tmp_path, command):
    words = (command, "fail:never", "episodes=3")
    gem(*words, "agent=failing")
    done = gem(*words, "agent=random", "resume=true", "repeat_errors=true")
    assert done.returncode == 0
    kept = list(read_trajectories(tmp_path / "run" / "trajectories.jsonl"))
    assert [(one.agent, one.error) for one in kept] == [("random", None)] * 3


@pytest.mark.slow
@PLAYS
def test_a_run_in_which_one_of_two_environments_fails_can_be_accepted(gem, command):
    done = gem(command, "fail:never", "fail:step", "agent=random", "episodes=4", "fail_on_error=1")
    assert done.returncode == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if "fail:" in line}
    assert "4 failed" in lines["fail:step"]
    assert "100" in lines["fail:never"]
    assert re.search(r"Every episode of random in fail:step failed", done.stderr)
    assert "4 of 8 episodes ended with an error" in done.stderr


@pytest.mark.slow
@PLAYS
@pytest.mark.parametrize("fault", ["400", "404", "422"])
def test_a_refused_request_is_not_repeated(gem, command, fault):
    with EndpointServer(reply="x") as server:
        server.set_faults([fault] * 3)
        agent = ["agent=openai", "agent.model=nonexistent", f"agent.base_url={server.url}"]
        done = gem(command, GUESS, *agent, "episodes=3")
        asked = len(server.asked)
    assert done.returncode == 1
    assert f"answered {fault}" in done.stderr
    assert asked <= 3


def model(server):
    return ["agent=openai", "agent.model=any", f"agent.base_url={server.url}"]


@pytest.mark.slow
@PLAYS
def test_a_dead_endpoint_is_found_before_the_first_episode(gem, tmp_path, command):
    with EndpointServer(reply="x") as server:
        agent = model(server)
    done = gem(command, GUESS, *agent, "episodes=2")
    assert done.returncode == 1
    assert "cannot be reached; check base_url, and whether the server is running" in done.stderr
    assert not (tmp_path / "run" / "run.json").exists()
    done = gem(command, GUESS, *agent, "episodes=2", "preflight=false")
    assert done.returncode == 1
    for one in read_trajectories(tmp_path / "run" / "trajectories.jsonl"):
        assert "attempts: 3" in one.error["message"]


@pytest.mark.slow
@PLAYS
def test_a_preflight_that_fails_loses_nothing_of_a_run(gem, tmp_path, command):
    """The episodes with an error stay until they are played again."""
    file = tmp_path / "run" / "trajectories.jsonl"
    with EndpointServer(reply="x") as server:
        gem(command, "fail:step", *model(server), "episodes=2", "agent.max_attempts=1")
        before, info = file.read_bytes(), (file.parent / "run.json").read_bytes()
        server.set_faults({"401": 1.0})
        words = (command, "fail:step", *model(server), "episodes=3", "agent.max_attempts=1")
        done = gem(*words, "resume=true", "repeat_errors=true")
    assert done.returncode == 1
    assert "the key is missing or wrong" in done.stderr
    assert "Set the key in OPENAI_API_KEY" in done.stderr
    assert (file.read_bytes(), (file.parent / "run.json").read_bytes()) == (before, info)


@pytest.mark.slow
@PLAYS
def test_a_run_whose_model_is_lost_ends_and_goes_on(gem, tmp_path, command):
    words = (command, GUESS, "agent.max_attempts=1", "concurrency=2", "episodes=30")
    with EndpointServer(reply=r"\boxed{5}") as server:
        server.set_faults([None] * 20 + ["503"] * 100)
        done = gem(*words, *model(server), "abort_after=4")
        assert done.returncode == 1
        assert "4 episodes in a row could not ask their model" in done.stderr
        assert "out=run resume=true repeat_errors=true" in done.stderr
        kept = list(read_trajectories(tmp_path / "run" / "trajectories.jsonl"))
        good = sum(one.error is None for one in kept)
        assert 0 < good < len(kept) < 30
        server.set_faults({})
        done = gem(*words, *model(server), "resume=true", "repeat_errors=true")
    assert done.returncode == 0
    kept = list(read_trajectories(tmp_path / "run" / "trajectories.jsonl"))
    assert sorted(one.index for one in kept) == list(range(30))
    assert all(one.error is None for one in kept)


@pytest.mark.slow
def test_figures_of_failures_stay_in_the_metrics(gem, tmp_path):
    """Programs that read the figures find numbers, not words."""
    gem("eval", "fail:step", "agent=random", "episodes=2")
    (row,) = json.loads((tmp_path / "run" / "metrics.json").read_text())["rows"]
    assert row["errors"] == {"env": 2}
    assert row["episodes"] == 2
