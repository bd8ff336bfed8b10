"""Patches of reasoning-gym change no items, and one that does not apply is an error."""

import json
import os
import re
import subprocess
import sys

import pytest
from selection import some

import gem_core
from gem_core.errors import EntryPointError
from gem_rg import datasets
from gem_rg.catalog import DESCRIPTIONS
from gem_rg.patches import _LISTS
from gem_tasks.parsing import last_boxed, last_tagged
from gem_workers import WorkerPool

PATCHED = (
    "binary_matrix",
    "codeio",
    "game_of_life_halting",
    "n_queens",
    "number_sequence",
    "polynomial_multiplication",
    "puzzle24",
    "simple_integration",
    "spiral_matrix",
    "string_insertion",
)
"""The tasks that ``gem_rg.patches`` changes, or whose scorers use what it changes."""
RENAMED = """
sys.modules["reasoning_gym.games.queens"] = sys.modules.pop("reasoning_gym.games.n_queens")
sys.modules["reasoning_gym.games.n_queens"] = None
"""
CHANGES = {
    RENAMED: "read_lists_without_eval.* reasoning_gym.games.n_queens",
    "sys.modules['reasoning_gym.algorithmic.spiral_matrix'] = reasoning_gym.games.maze": (
        "module 'reasoning_gym.algorithmic.spiral_matrix' does not call eval"
    ),
    "del reasoning_gym.cognition.number_sequences.PatternRule.apply": (
        "stop_exploding_sequences.* has no attribute 'apply'"
    ),
}
"""What another version may have changed, and the error: each of them needs its own process."""
ALONE = """
import json, os, random, sys
import numpy, reasoning_gym
from reasoning_gym.factory import DATASETS

names, changes = json.load(sys.stdin)
items = {}
for name in names:
    dataset = reasoning_gym.create_dataset(name, size=500, seed=42)
    for number in range(60, -1, -1) if name == "number_sequence" else (5, 0):
        random.seed(f"42 {number}"), numpy.random.seed(42 + number)
        entry = dataset[number]
        items[f"{name} {number}"] = [entry["question"], entry["answer"]]
evaluating = [
    dataset.__module__
    for dataset, _ in DATASETS.values()
    if {"eval", "exec", "compile"} & set(dataset.score_answer.__code__.co_names)
]
errors = {}
for change in changes:
    here, there = os.pipe()
    if not os.fork():
        exec(change)
        try:
            import gem_rg.worker
        except Exception as error:
            os.write(there, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(there)
    errors[change] = open(here).read()
print("\\n" + json.dumps([items, evaluating, errors]))
"""
"""Looks at reasoning-gym in a process without patches."""


@pytest.fixture(scope="module")
def alone():
    """Items of reasoning-gym without patches, its modules that evaluate, and errors of patches."""
    names = some(name for name in DESCRIPTIONS if name != "composite")
    names += [name for name in PATCHED if name not in names]
    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        input=json.dumps([names, list(CHANGES)]),
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_items_are_those_of_reasoning_gym_in_any_process(subtests, alone):
    """Patches, batches and processes do not change items."""
    for key, (question, answer) in alone[0].items():
        with subtests.test(key):
            name, number = key.split()
            env = gem_core.make(f"rg:{name}", hint="")
            assert env.reset(idx=int(number))[0] == question
            if answer is not None:
                action = env.solution()
                assert answer in (last_boxed(action), last_tagged(action))


@pytest.mark.slow
def test_no_other_scorer_evaluates_answers(alone):
    """A scorer of a new version that calls ``eval`` fails here, so that it gets a patch."""
    evaluates_its_gold = {"reasoning_gym.algorithmic.number_sorting"}
    assert set(alone[1]) == {*_LISTS, *evaluates_its_gold}


@pytest.mark.slow
def test_the_error_of_a_patch_names_what_is_missing_and_the_tested_version(subtests, alone):
    for change, missing in CHANGES.items():
        with subtests.test(change):
            assert re.search(f"^PluginError: .*{missing}", alone[2][change], re.DOTALL)
            assert "pip install reasoning-gym==0.1.25" in alone[2][change]


@pytest.mark.slow
def test_a_reset_raises_the_error_of_a_patch(monkeypatch, tmp_path):
    change = f"import sys\nimport reasoning_gym\n{RENAMED}"
    (tmp_path / "other_version.py").write_text(change)
    monkeypatch.syspath_prepend(tmp_path)
    pool = WorkerPool(preload=("other_version", "gem_rg.worker"))
    monkeypatch.setattr(datasets, "pool", lambda: pool)
    env = gem_core.make("rg:n_queens", dataset_seed=11)  # its items are in no cache
    try:
        with pytest.raises(EntryPointError, match=CHANGES[RENAMED]) as caught:
            env.reset()
    finally:
        pool.close()
    assert "pip install reasoning-gym==0.1.25" in str(caught.value)
