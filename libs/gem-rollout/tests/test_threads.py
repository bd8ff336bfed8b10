"""How many threads of the CPU a model in this process may use."""

import os
from pathlib import Path

import pytest
from cli import gem
from needs import needs

from gem_rollout.models.threads import set_threads, threads_for, usable_cores
from gem_rollout.models.tiny_model import save_tiny_model

GAME = "game:GuessTheNumber-v0-easy"


def test_a_small_model_has_one_thread_and_a_large_one_the_usable_cores() -> None:
    assert threads_for(300_000) == 1
    assert threads_for(135_000_000) == usable_cores() >= 1


@pytest.mark.parametrize(
    ("groups", "quota", "cores"),
    [
        ("0::/a/b", {"a/cpu.max": "250000 100000"}, 2),
        ("0::/a/b", {"a/b/cpu.max": "max 100000", "cpu.max": "50000 100000"}, 1),
        ("1:cpu,cpuacct:/a", {"cpu/cpu.cfs_quota_us": "300000"}, 3),
        ("1:cpu:/", {"cpu/cpu.cfs_quota_us": "-1"}, 64),
        ("1:cpuset:/", {"cpu.max": "100000 100000"}, 64),
        ("", {}, 64),
    ],
)
def test_the_usable_cores_heed_affinity_and_control_groups(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    groups: str,
    quota: dict[str, str],
    cores: int,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64), raising=False)
    for name, text in {**quota, "cpu/cpu.cfs_period_us": "100000"}.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(f"{groups}\n" if groups else "")
    assert usable_cores(tmp_path) == cores
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5}, raising=False)
    assert usable_cores(tmp_path) == 1
    assert usable_cores(tmp_path / "nothing") == 1


def test_a_command_sets_the_threads_of_the_models_that_it_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = needs("torch", "transformers")
    before = torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    words = [GAME, "agent=transformers", "agent.device=cpu", "agent.max_new_tokens=4", "episodes=1"]
    found = []
    set_threads(torch.nn.Linear(7072, 7072))  # a large model that was loaded before
    try:
        for number, more in enumerate(([], ["threads=3"], [])):
            model = save_tiny_model(tmp_path / f"model{number}")
            torch.set_num_threads(2)
            out = tmp_path / f"run{number}"
            done = gem("run", *words, *more, f"agent.model={model}", f"out={out}", cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            found.append(torch.get_num_threads())
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        torch.set_num_threads(2)
        set_threads(torch.nn.Linear(1, 1))
        assert (found, torch.get_num_threads()) == ([1, 3, 1], 2)
    finally:
        torch.set_num_threads(before)
