"""The corpus that ships answers every question of qa:Sample."""

import json
import re
from importlib.resources import files

import pytest

from gem_qa.scoring import normalize_answer
from gem_tools.search import make_backend

LINES = files("gem_tools.search").joinpath("data/corpus.jsonl").read_text(encoding="utf-8")
PASSAGES = [json.loads(line) for line in LINES.splitlines()]
QUESTIONS = files("gem_qa").joinpath("data/qa_sample.jsonl").read_text(encoding="utf-8")
GOLDS = {row["question"]: row["answer"] for row in map(json.loads, QUESTIONS.splitlines())}


def words_of(text):
    return f" {normalize_answer(text)} "


def test_every_passage_is_a_quoted_title_above_a_short_text_and_none_is_there_twice():
    titles = []
    for passage in PASSAGES:
        found = re.fullmatch(r'"([^"\n]+)"\n([^\n]{40,400}[.])', passage["contents"])
        assert found, passage
        titles.append(found[1])
    assert len(titles) >= 250
    assert len(set(titles)) == len(titles) == len({passage["id"] for passage in PASSAGES})


def test_each_question_has_its_searches(sample_searches):
    assert [row["question"] for row in sample_searches] == list(GOLDS)


@pytest.mark.slow
def test_every_search_finds_its_passage_among_the_first_five(sample_searches):
    backend = make_backend("bm25")
    missed = []
    for row in sample_searches:
        for search in row["searches"]:
            found = backend.search(search["query"], topk=5, seconds=60)
            if f'"{search["title"]}"' not in [document.title for document in found]:
                missed.append(search)
    assert not missed


def test_the_last_passage_of_a_question_says_a_gold_answer(sample_searches):
    texts = {json.dumps(p["contents"].partition("\n")[0]): p["contents"] for p in PASSAGES}
    missed = []
    for row in sample_searches:
        text = words_of(texts[json.dumps(f'"{row["searches"][-1]["title"]}"')])
        golds = GOLDS[row["question"]]
        if not set(golds) & {"yes", "no"} and not any(words_of(gold) in text for gold in golds):
            missed.append(row["question"])
    assert not missed


def test_more_than_half_of_the_passages_answer_no_question(sample_searches):
    needed = {search["title"] for row in sample_searches for search in row["searches"]}
    assert len(PASSAGES) > 2 * len(needed)
