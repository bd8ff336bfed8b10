"""For every task, the gold scores 1 and no text raises."""

import pytest
from selection import some

import gem_core
from gem_rg.catalog import DESCRIPTIONS

ODD = ("", "?", "9" * 5000, "-1 -1", "[1", "{", "\x00\ud800", "None", "0/0", "[[1, 2], [3]]")


@pytest.mark.slow
@pytest.mark.parametrize("name", some(DESCRIPTIONS))
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


@pytest.mark.slow
def test_a_missing_answer_scores_0(subtests):
    for name in some(DESCRIPTIONS):
        with subtests.test(name):
            env = gem_core.make(f"rg:{name}")
            for text in ("", "I do not know.", r"\boxed{}", "<answer> </answer>"):
                env.reset(idx=0)
                assert env.step(text).reward == 0.0
