"""Run folders: what is recorded, what is kept secret, and what is not a run."""

import pytest

from gem_core.errors import ConfigError
from gem_rollout import Trajectory, TrajectoryFile
from gem_rollout.records.failures import Failure, Failures
from gem_rollout.records.runs import Run

CONFIG = {
    "agent": {"openai": {"api_key": "sk-1", "max_tokens": 5, "headers": {"Cookie": "b"}}},
    "env": {"id": "math:Sample", "answer_key": "answer", "api_key": None},
}


def create(path):
    words = ["eval", "agent.openai.api_key=sk-1", "episodes=3"]
    return Run.create(path, command=words, config=CONFIG, envs=["math:Sample"], agents=["openai"])


@pytest.mark.slow
def test_a_run_records_what_was_run(tmp_path):
    run = create(tmp_path / "new" / "run")
    info = run.info()
    assert info["envs"] == ["math:Sample"]
    assert info["agents"] == ["openai"]
    assert info["command"] == "eval 'agent.openai.api_key=(hidden)' episodes=3"
    assert "gem-core" in info["versions"]
    assert list(Run.open(run.path).trajectories()) == []


@pytest.mark.slow
@pytest.mark.parametrize("program", [["gem-core", "train", "sft"], ["gem-core train sft"]])
def test_what_was_typed_is_read_back(tmp_path, program):
    """Earlier versions wrote the command as one word."""
    words = ["env=math/Sample", "~tools", "name=a b"]
    for more in (words, ["--again=runs/a=b", *words]):
        info = {"config": {}, "envs": [], "agents": []}
        run = Run.create(tmp_path / more[0][:3], command=[*program, *more], **info)
        assert run.typed() == ("gem-core train sft", more)


@pytest.mark.slow
def test_secrets_are_not_written(tmp_path):
    run = create(tmp_path)
    assert "sk-1" not in (run.path / "run.json").read_text()
    assert run.info()["config"]["agent"]["openai"] == {
        "api_key": "(hidden)",
        "max_tokens": 5,
        "headers": {"Cookie": "(hidden)"},
    }
    assert run.info()["config"]["env"] == CONFIG["env"]


@pytest.mark.slow
def test_only_the_owner_can_read_a_run(tmp_path):
    run = create(tmp_path)
    with TrajectoryFile(run.trajectories_path) as file:
        file.append(Trajectory("game:X", "agent", 0, 1))
    assert {path.stat().st_mode & 0o777 for path in run.path.iterdir()} == {0o600}


def test_a_file_of_trajectories_is_a_run_without_info(tmp_path):
    path = tmp_path / "some.jsonl"
    with TrajectoryFile(path) as file:
        file.append(Trajectory("game:X", "agent", 0, 1))
    run = Run.open(path)
    assert run.trajectories_path == path
    assert run.info() == {}
    assert run.name == "some"
    assert [one.env_id for one in run.trajectories()] == ["game:X"]


@pytest.mark.slow
def test_a_run_is_called_by_its_date_and_time_or_its_folder(tmp_path):
    assert create(tmp_path / "2026-01-31" / "10-20-30").name == "2026-01-31/10-20-30"
    assert create(tmp_path / "mine").name == "mine"


@pytest.mark.slow
def test_the_name_of_a_run_may_have_a_dot(tmp_path):
    assert create(tmp_path / "qwen2.5-7b").name == "qwen2.5-7b"


@pytest.mark.slow
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


@pytest.mark.slow
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


def _failure(kind: str, where: str = "") -> Failure:
    record = {"boundary": "env", "type": kind, "message": f"{kind} happened.\nMore."}
    failure = Failure.of({**record, "traceback": where})
    assert failure is not None
    return failure


def test_failures_are_counted_and_explained_by_their_most_frequent_reasons():
    """The reasons have their number, an example and the place of the first one."""
    failures = Failures()
    assert not failures
    assert failures.lines() == []
    frames = '  File "outer.py", line 1, in run\n  File "/x/inner.py", line 7, in step\n'
    failures.add_episode("game:X", "a", _failure("A"))
    failures.add_episode("game:X", "a", _failure("B", frames))
    failures.add_episode("game:X", "a", _failure("B"))
    assert failures.is_total
    assert failures.lines("log.jsonl") == [
        "Every episode failed. The most frequent reasons:",
        "  env (B), 2 episodes, for example: B happened. (raised at /x/inner.py:7 in step)",
        "  env (A), 1 episode, for example: A happened.",
        "  The tracebacks are in log.jsonl",
    ]


def test_an_environment_in_which_every_episode_failed_is_named():
    """A run with other episodes has not failed."""
    failures = Failures()
    failures.add_episode("game:X", "a", _failure("A"))
    failures.add(Trajectory("game:Y", "a", 0, 1))
    assert not failures.is_total
    named, heading, *_ = failures.lines()
    assert named.startswith("Every episode of a in game:X failed")
    assert heading.startswith("1 of 2 episodes ended with an error")


@pytest.mark.slow
def test_a_record_that_is_nested_too_deeply_is_an_error(tmp_path):
    run = create(tmp_path)
    (tmp_path / "run.json").write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(ConfigError, match="nested too deeply"):
        run.info()
