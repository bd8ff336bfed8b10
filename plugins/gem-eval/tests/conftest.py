"""Helpers that several test modules use."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from cli import gem

from gem_core.agent import Generation
from gem_core.seeding import child_seed
from gem_eval.episodes import EpisodeRecord
from gem_rollout import Trajectory, TrajectoryFile, Turn

sys.path.insert(0, str(Path(__file__).parent))  # of the modules that several tests use


@pytest.fixture
def trajectory() -> Callable[..., Trajectory]:
    """Return a function that makes a trajectory of one turn."""

    def make(
        success: bool | None = True,  # noqa: FBT001, FBT002 - a test says success first
        *,
        env_id: str = "game:X-v0-easy",
        agent: str = "a",
        group: int = 0,
        sample: int = 0,
        k: int = 1,
        seed: int = 0,
        reward: float | None = None,
        error: str = "",
        generation: Generation | None = None,
        observation: Any = "Go.",
        **info: Any,
    ) -> Trajectory:
        reward = float(bool(success)) if reward is None else reward
        turn = Turn(agent, observation, "x", reward, True, False, info, 0.5, 0.25, generation)
        made = Trajectory(env_id, agent, group * k + sample, child_seed(seed, group), [turn])
        made.group, made.sample, made.success, made.setup_seconds = group, sample, success, 0.125
        if error:
            made.error = {"boundary": error, "type": "Broken", "message": "", "traceback": ""}
            made.success = False
        return made

    return make


@pytest.fixture
def episode(trajectory: Callable[..., Trajectory]) -> Callable[..., EpisodeRecord]:
    """Return a function that makes the record of an episode."""
    return lambda *args, **kwargs: EpisodeRecord.of(trajectory(*args, **kwargs))


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a run and returns its folder."""

    def run(name: str, trajectories: Iterable[Trajectory], **config: Any) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "run.json").write_text(json.dumps({"config": config}))
        with TrajectoryFile(folder / "trajectories.jsonl") as file:
            for one in trajectories:
                file.append(one)
        return folder

    return run


@pytest.fixture(name="gem")
def gem_fixture() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs gem-core."""
    return gem


@pytest.fixture
def ok() -> Callable[..., str]:
    """Return a function that runs gem-core, which must succeed, and returns what it prints."""

    def run(*args: Any, **kwargs: Any) -> str:
        done = gem(*args, **kwargs)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    return run
