"""The questions of the sample are well formed and graded correctly."""

import json
from collections import Counter
from importlib.resources import files

import pytest

from gem_core import make
from gem_core.testing import check_env
from gem_qa.scoring import exact_match, normalize_answer


@pytest.fixture(scope="module")
def rows():
    text = files("gem_qa").joinpath("data/qa_sample.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_there_are_many_different_questions_on_many_topics(rows):
    assert len(rows) >= 60
    assert len({normalize_answer(row["question"]) for row in rows}) == len(rows)
    topics = Counter(row["topic"] for row in rows)
    assert len(topics) >= 8
    assert min(topics.values()) >= 4


def test_questions_are_well_formed_and_do_not_contain_their_answers(rows, subtests):
    for row in rows:
        question, golds = row["question"], row["answer"]
        with subtests.test(question):
            assert set(row) == {"question", "answer", "topic"}
            assert question == " ".join(question.split())
            assert question[-1] in "?."
            assert len({normalize_answer(gold) for gold in golds}) == len(golds) > 0
            assert all(normalize_answer(gold) for gold in golds)
            asked = f" {normalize_answer(question)} "
            assert not any(f" {normalize_answer(gold)} " in asked for gold in golds)


def test_every_gold_is_graded_correct_and_another_questions_gold_is_not(rows):
    env = make("qa:Sample")
    for idx, row in enumerate(rows):
        for gold in row["answer"]:
            env.reset(idx=idx)
            assert env.step(f"<answer>{gold}</answer>").reward == 1.0
        other = next(
            other["answer"][0]
            for other in rows[idx + 1 :] + rows
            if not exact_match(other["answer"][0], row["answer"])
        )
        env.reset(idx=idx)
        assert env.step(f"<answer>{other}</answer>").reward == 0.0


@pytest.mark.parametrize("env_id", ["qa:Sample", "logic:Sample"])
def test_the_samples_pass_the_conformance_kit(env_id):
    report = check_env(env_id)
    assert report.ok, str(report)
