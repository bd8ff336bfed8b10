"""The questions of the sample are well formed and graded correctly."""

import json
from collections import Counter
from importlib.resources import files

import pytest

from gem_core import make
from gem_core.testing import check_env
from gem_qa.scoring import exact_match, normalize_answer

TEXT = files("gem_qa").joinpath("data/qa_sample.jsonl").read_text(encoding="utf-8")
ROWS = [json.loads(line) for line in TEXT.splitlines()]


def test_there_are_many_different_questions_on_many_topics():
    assert len(ROWS) >= 60
    assert len({normalize_answer(row["question"]) for row in ROWS}) == len(ROWS)
    topics = Counter(row["topic"] for row in ROWS)
    assert len(topics) >= 8
    assert min(topics.values()) >= 4


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["question"][:40])
def test_a_question_is_well_formed_and_its_golds_differ_after_normalisation(row):
    assert set(row) == {"question", "answer", "topic"}
    question, golds = row["question"], row["answer"]
    assert question == " ".join(question.split())
    assert question[-1] in "?."
    assert len({normalize_answer(gold) for gold in golds}) == len(golds) > 0
    assert all(normalize_answer(gold) for gold in golds)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["question"][:40])
def test_a_question_does_not_give_its_answer_away(row):
    asked = f" {normalize_answer(row['question'])} "
    assert not any(f" {normalize_answer(gold)} " in asked for gold in row["answer"])


def test_every_gold_is_graded_correct_and_another_questions_gold_is_not():
    env = make("qa:Sample")
    for idx, row in enumerate(ROWS):
        for gold in row["answer"]:
            env.reset(idx=idx)
            assert env.step(f"<answer>{gold}</answer>").reward == 1.0
        other = next(
            other["answer"][0]
            for other in ROWS[idx + 1 :] + ROWS
            if not exact_match(other["answer"][0], row["answer"])
        )
        env.reset(idx=idx)
        assert env.step(f"<answer>{other}</answer>").reward == 0.0


@pytest.mark.parametrize("env_id", ["qa:Sample", "logic:Sample"])
def test_the_samples_pass_the_conformance_kit(env_id):
    report = check_env(env_id)
    assert report.ok, str(report)
