"""Run folders: what is recorded, what is kept secret, and what is not a run."""

import pytest

from gem_core.errors import ConfigError
from gem_rollout import Trajectory, TrajectoryFile
from gem_rollout.failures import Failures
from gem_rollout.runs import Run, without_secrets

CONFIG = {
    "agent": {"openai": {"api_key": "sk-1", "max_tokens": 5, "headers": {"a": "b"}}},
    "env": {"id": "math:Sample", "answer_key": "answer", "api_key": None},
}


def create(path):
    words = ["eval", "agent.openai.api_key=sk-1", "episodes=3"]
    return Run.create(path, command=words, config=CONFIG, envs=["math:Sample"], agents=["openai"])


def test_a_run_records_what_was_run(tmp_path):
    run = create(tmp_path / "new" / "run")
    info = run.info()
    assert info["envs"] == ["math:Sample"]
    assert info["agents"] == ["openai"]
    assert info["command"] == "eval 'agent.openai.api_key=(hidden)' episodes=3"
    assert "gem-core" in info["versions"]
    assert list(Run.open(run.path).trajectories()) == []


def test_secrets_are_not_written(tmp_path):
    run = create(tmp_path)
    assert "sk-1" not in (run.path / "run.json").read_text()
    assert run.info()["config"]["agent"]["openai"] == {
        "api_key": "(hidden)",
        "max_tokens": 5,
        "headers": "(hidden)",
    }
    assert run.info()["config"]["env"] == CONFIG["env"]


@pytest.mark.parametrize("key", ["token", "hf_token", "password", "Authorization", "access_key"])
def test_keys_that_sound_secret_are_hidden(key):
    assert without_secrets([{key: "x"}]) == [{key: "(hidden)"}]


@pytest.mark.parametrize("key", ["question_key", "eos_token", "max_tokens", "author"])
def test_keys_that_do_not_are_kept(key):
    assert without_secrets({key: "x"}) == {key: "x"}


def test_a_file_of_trajectories_is_a_run_without_info(tmp_path):
    path = tmp_path / "some.jsonl"
    with TrajectoryFile(path) as file:
        file.append(Trajectory("game:X", "agent", 0, 1))
    run = Run.open(path)
    assert run.trajectories_path == path
    assert run.info() == {}
    assert run.name == "some"
    assert [one.env_id for one in run.trajectories()] == ["game:X"]


def test_a_run_is_called_by_its_date_and_time_or_its_folder(tmp_path):
    assert create(tmp_path / "2026-01-31" / "10-20-30").name == "2026-01-31/10-20-30"
    assert create(tmp_path / "mine").name == "mine"


def test_a_name_may_have_a_dot(tmp_path):
    assert create(tmp_path / "qwen2.5-7b").name == "qwen2.5-7b"


def test_a_path_without_a_run_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="There is no run at"):
        Run.open(tmp_path / "missing")
    with pytest.raises(ConfigError, match=r"it has no trajectories\.jsonl"):
        Run.open(tmp_path)
    run = create(tmp_path)
    (run.path / "run.json").write_text("[1]")
    with pytest.raises(ConfigError, match="must hold a JSON object"):
        run.info()
    (run.path / "run.json").write_text("{")
    with pytest.raises(ConfigError, match="is not JSON"):
        run.info()


def test_a_run_that_is_continued_keeps_what_it_has(tmp_path):
    run = create(tmp_path)
    first = run.info()
    run.check_can_write(resume=False)
    with TrajectoryFile(run.trajectories_path) as file:
        file.append(Trajectory("game:X", "agent", 0, 1))
    with pytest.raises(ConfigError, match="add resume=true"):
        run.check_can_write(resume=False)
    run.check_can_write(resume=True)
    again = Run.create(tmp_path, command=["eval"], config={}, envs=["game:X"], agents=["openai"])
    assert again.info()["created"] == first["created"]
    assert again.info()["envs"] == ["math:Sample", "game:X"]
    assert again.info()["agents"] == ["openai"]
    assert len(list(again.trajectories())) == 1
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_failures_are_counted_and_the_most_frequent_is_named():
    failures = Failures()
    assert not failures
    failures.add(Trajectory("game:X", "agent", 0, 1))
    assert failures.all_failed(0) == ""
    for kind in ("A", "B", "B"):
        failures.add_error("env", kind, f"{kind} happened.\nMore.")
    assert failures.lines()[0] == "env (B), 2 episodes, for example: B happened."
    assert failures.all_failed(4) == ""
    assert failures.all_failed(3) == (
        "Every episode failed. The most frequent error (2 of 3) came from the boundary 'env': "
        "B: B happened."
    )
