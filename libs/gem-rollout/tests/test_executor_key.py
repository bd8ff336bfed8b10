"""The key ``executor`` of commands: the same episodes in workers, and clear errors."""

import json
from pathlib import Path
from typing import Any

import pytest
from cli import gem

from gem_core.errors import ConfigError, UnknownIdError, UnknownKwargError
from gem_core.factory import make_factory
from gem_rollout.episodes.executor import executor_of
from gem_rollout.records.store import read_trajectories

pytestmark = pytest.mark.timeout(120)
GUESS = "game:GuessTheNumber-v0-easy"


def ran(folder: Path, *words: str) -> list[Any]:
    """Return the episodes of a run, without times."""
    done = gem("run", GUESS, "episodes=6", "--format", "json", f"out={folder}", *words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"][0]["errors"] == 0
    found = sorted(read_trajectories(folder / "trajectories.jsonl"), key=lambda one: one.index)
    return [
        (one.seed, one.reset_info, one.final_observation, [turn.action for turn in one.turns])
        for one in found
    ]


@pytest.mark.slow
def test_a_run_in_worker_processes_has_the_same_episodes(tmp_path: Path) -> None:
    """With its id and a parameter."""
    words = ["executor=processes", "executor.max_workers=1"]
    assert ran(tmp_path / "there", *words) == ran(tmp_path / "here")


@pytest.mark.parametrize(
    ("executor", "error", "message"),
    [
        ({"id": "process"}, UnknownIdError, "Did you mean 'processes'"),
        ({"id": "processes", "max_worker": 1}, UnknownKwargError, "Did you mean 'max_workers'"),
        ({"id": "processes", "max_workers": "many"}, ConfigError, r"executor\.max_workers"),
        ({"cpus": 1}, ConfigError, "executor needs an id beside cpus"),
        ({"id": "threads"}, ConfigError, "'threads' runs vectors, and plays no episodes"),
    ],
)
def test_an_executor_that_cannot_be_used_is_an_error(
    executor: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The message names the parameter, and near names."""
    with pytest.raises(error, match=message), executor_of({"executor": executor}) as workers:
        workers.factory(make_factory(GUESS))


def test_without_an_executor_a_factory_stays_as_it_is() -> None:
    """Nothing is wrapped, and no worker starts."""
    factory = make_factory(GUESS)
    with executor_of({"executor": {}}) as workers:
        assert workers.factory(factory) is factory
