"""``gem-core replay``: what an unchanged and a changed environment make of stored actions."""

import json

import pytest

from gem_core.agent import Generation
from gem_rollout import TrajectoryFile
from gem_rollout.records.runs import Run

NOTHING = "Nothing changes"


@pytest.fixture
def played(tmp_path, ok):
    """Return a function that evaluates into a folder."""

    def run(*overrides):
        ok("eval", *overrides, "out=run", cwd=tmp_path)
        return tmp_path / "run"

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        ("env=game/GuessTheNumber-v0-easy", "agent=random"),
        ("env=math/Sample", "agent=random", "tools=[python]", "wrappers=[concat]"),
        ("envs=[game:Sudoku-v0-easy,logic:Sample]", "agent=[random,oracle]"),
        ("env=math/Sample", "env.shuffle=false", "agent=oracle"),
        (
            "+env@mixture.a=game/GuessTheNumber-v0-easy",
            "+env@mixture.b=logic/Sample",
            "agent=random",
        ),
    ],
)
def test_nothing_changes_where_nothing_has_changed(played, ok, overrides):
    run = played(*overrides, "episodes=3", "samples=2")
    assert NOTHING in ok("replay", run)


@pytest.mark.slow
def test_a_changed_reward_shows_what_it_changes(played, ok, tmp_path):
    run = played("env=math/Sample", "agent=silent", "episodes=4")
    shown = ok("replay", run, "env.use_format_error_reward=true", "--out", tmp_path / "again")
    assert "4 of 4 episodes change: 4 in their rewards" in shown
    assert "0.000 -> -0.100" in shown
    again = Run.open(tmp_path / "again")
    assert again.info()["replay_of"] == str(run)
    assert again.info()["config"]["env"]["use_format_error_reward"] is True
    assert [one.episode_return for one in again.trajectories()] == [-0.1] * 4
    assert NOTHING in ok("replay", again.path)


@pytest.mark.slow
def test_successes_that_come_and_go_are_counted(played, ok):
    run = played("env=game/GuessTheNumber-v0-easy", "agent=random", "episodes=30")
    plain = json.loads(ok("replay", run, "env.max_turns=1", "--format", "json"))
    assert plain["episodes"] == 30
    lost = [one for one in plain["changed"] if one["success_before"] and not one["success_after"]]
    assert lost
    assert f"0 now succeed, {len(lost)} now fail" in plain["verdict"]


@pytest.mark.slow
def test_an_episode_that_continues_after_the_stored_actions_is_reported(played, ok):
    run = played(
        "env=game/GuessTheNumber-v0-easy", "env.max_turns=1", "agent=random", "episodes=30"
    )
    shown = ok("replay", run, "env.max_turns=5")
    assert "The stored actions end before the episode ends" in shown


@pytest.mark.slow
def test_an_environment_with_other_observations_is_reported(played, ok):
    run = played("env=game/GuessTheNumber-v0-easy", "agent=oracle", "episodes=2")
    trajectories = list(Run.open(run).trajectories())
    trajectories[1].turns[0].observation = "Something else."
    (run / "trajectories.jsonl").unlink()
    with TrajectoryFile(run / "trajectories.jsonl") as file:
        for one in trajectories:
            file.append(one)
    assert "1 in their observations" in ok("replay", run)


@pytest.mark.slow
def test_a_replay_keeps_the_stored_generations(trajectory, write, ok, tmp_path):
    made = trajectory(
        env_id="math:Sample", agent="m", generation=Generation(completion_tokens=7, token_ids=[1])
    )
    run = write("run", [made], env={"id": "math:Sample"})
    ok("replay", run, "--out", tmp_path / "again")
    (again,) = Run.open(tmp_path / "again").trajectories()
    assert again.turns[0].generation == made.turns[0].generation
    assert again.turns[0].agent_seconds == 0.5
    assert (again.index, again.group, again.agent) == (0, 0, "m")


@pytest.mark.slow
def test_a_file_of_trajectories_alone_is_played_with_the_environments_as_registered(played, ok):
    run = played("env=game/GuessTheNumber-v0-easy", "agent=oracle", "episodes=2")
    assert NOTHING in ok("replay", run / "trajectories.jsonl")


@pytest.mark.slow
def test_a_replay_of_gem_core_run_changes_nothing(ok, tmp_path):
    ok("run", "env=game/GuessTheNumber-v0-easy", "env.max_turns=2", "episodes=9", cwd=tmp_path)
    (run,) = (tmp_path / "runs").glob("*/*")
    assert NOTHING in ok("replay", run)


@pytest.mark.slow
def test_a_mistake_is_reported_in_one_clear_message(played, gem, subtests):
    run = played("env=game/GuessTheNumber-v0-easy", "agent=oracle", "episodes=1")
    for arguments, message in (
        (["env.max_turn=3"], "Did you mean 'max_turns'"),
        (["episodes=3"], "An override is KEY=VALUE"),
        (["--out", run], "already holds a run"),
    ):
        with subtests.test(message):
            done = gem("replay", run, *arguments)
            assert done.returncode == 1
            assert message in done.stderr
            assert "Traceback" not in done.stderr
