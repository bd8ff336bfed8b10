"""A patch that does not apply to the installed reasoning-gym is an error, never left out."""

import subprocess
import sys

import pytest

import gem_core
from gem_core.errors import EntryPointError
from gem_rg import datasets
from gem_rg.patches import _LISTS
from gem_workers import WorkerPool

OTHER_VERSION = """
import sys
import reasoning_gym
{change}
"""
"""A module that changes reasoning-gym in its process, as another version would."""
RENAMED = """
sys.modules["reasoning_gym.games.queens"] = sys.modules.pop("reasoning_gym.games.n_queens")
sys.modules["reasoning_gym.games.n_queens"] = None
"""


@pytest.fixture
def workers_with(monkeypatch, tmp_path):
    """Return a function that runs gem-rg with a changed reasoning-gym."""
    pools = []

    def use(change):
        (tmp_path / "other_version.py").write_text(OTHER_VERSION.format(change=change))
        monkeypatch.syspath_prepend(tmp_path)
        pools.append(WorkerPool(preload=("other_version", "gem_rg.worker")))
        monkeypatch.setattr(datasets, "pool", lambda: pools[0])

    yield use
    for pool in pools:
        pool.close()


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        (
            RENAMED,
            "read_lists_without_eval.* reasoning_gym.games.n_queens",
        ),
        (
            "sys.modules['reasoning_gym.algorithmic.spiral_matrix'] = reasoning_gym.games.maze",
            "module 'reasoning_gym.algorithmic.spiral_matrix' does not call eval",
        ),
        (
            "del reasoning_gym.cognition.number_sequences.PatternRule.apply",
            "stop_exploding_sequences.* has no attribute 'apply'",
        ),
    ],
    ids=["renamed module", "changed module", "renamed method"],
)
def test_the_error_names_what_is_missing_and_the_tested_version(workers_with, change, missing):
    workers_with(change)
    env = gem_core.make("rg:n_queens", dataset_seed=11)  # its items are in no cache
    with pytest.raises(EntryPointError, match=missing) as caught:
        env.reset()
    assert "pip install reasoning-gym==0.1.25" in str(caught.value)


def test_no_other_scorer_evaluates_answers():
    """A scorer of a new version that calls ``eval`` fails here, so that it gets a patch."""
    code = """
from reasoning_gym.factory import DATASETS
for dataset, _ in DATASETS.values():
    names = dataset.score_answer.__code__.co_names
    if {"eval", "exec", "compile"} & set(names):
        print(dataset.__module__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    evaluates_its_gold = {"reasoning_gym.algorithmic.number_sorting"}
    assert set(done.stdout.split()) == {*_LISTS, *evaluates_its_gold}
