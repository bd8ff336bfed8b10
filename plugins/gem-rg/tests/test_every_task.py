"""For every task, the gold scores 1 and no text raises."""

import json
import os
import subprocess
import sys

import pytest

import gem_core
from gem_rg.catalog import DESCRIPTIONS
from gem_tasks.parsing import last_boxed, last_tagged

ODD = ("", "?", "9" * 5000, "-1 -1", "[1", "{", "\x00\ud800", "None", "0/0", "[[1, 2], [3]]")


@pytest.mark.thorough
@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_the_gold_scores_one_and_odd_answers_score_something_from_zero_to_one(name):
    env = gem_core.make(f"rg:{name}")
    for idx in range(3):
        observation, info = env.reset(idx=idx)
        assert observation.endswith(r"in \boxed{}, in exactly the form asked for above.")
        assert set(info) == {"idx", "task_id"}
        step = env.step(env.solution())
        assert (step.reward, step.terminated, step.info["correct"]) == (1.0, True, True)
        assert step.info["task"] == name or name == "composite"
    for odd in ODD:
        env.reset(idx=1)
        step = env.step(f"<answer>{odd}</answer>")
        assert 0.0 <= step.reward <= 1.0
        assert step.info["score"] == step.reward
        assert step.info["correct"] == (step.reward == 1.0)


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_missing_answer_scores_0(name):
    env = gem_core.make(f"rg:{name}")
    for text in ("", "I do not know.", r"\boxed{}", "<answer> </answer>"):
        env.reset(idx=0)
        assert env.step(text).reward == 0.0


def test_items_are_those_of_reasoning_gym_in_any_process():
    """Patches, batches and processes do not change items."""
    code = """
import json, sys, numpy, random, reasoning_gym
made = {}
for name in json.load(sys.stdin):
    dataset = reasoning_gym.create_dataset(name, size=500, seed=42)
    for number in range(60, -1, -1) if name == "number_sequence" else (5, 0):
        random.seed(f"42 {number}"), numpy.random.seed(42 + number)
        entry = dataset[number]
        made[f"{name} {number}"] = [entry["question"], entry["answer"]]
print("\\n" + json.dumps(made))
"""
    names = [name for name in DESCRIPTIONS if name != "composite"]
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(names),
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    for key, (question, answer) in json.loads(done.stdout.splitlines()[-1]).items():
        name, number = key.split()
        env = gem_core.make(f"rg:{name}", hint="")
        assert env.reset(idx=int(number))[0] == question, key
        if answer is not None:
            action = env.solution()
            assert answer in (last_boxed(action), last_tagged(action)), key
