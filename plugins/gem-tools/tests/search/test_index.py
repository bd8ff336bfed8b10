"""Corpora and BM25 indexes: what is found, saved, loaded and refused."""

import json
import math
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import ConfigError, DataError, NotInstalledError
from gem_tasks.bm25 import words
from gem_tools.search import make_backend
from gem_tools.search.index import IndexOptions, open_retriever
from gem_tools.search.passages import Passages

BM25 = IndexOptions(kind="bm25")
few = settings(max_examples=100 if thorough() else 25)


def made_up_passages(count, seed=0):
    """Passages of made-up words, some of which are much more common than others."""
    rng = random.Random(seed)
    made = ["".join(rng.choices("bdfgklmnprtvz", k=6)) for _ in range(400)]
    weights = [1 / rank for rank in range(1, len(made) + 1)]
    return [
        {"title": f"T{n}", "text": " ".join(rng.choices(made, weights, k=rng.randint(5, 60)))}
        for n in range(count)
    ]


def reference_bm25(texts, query, k1=0.9, b=0.4):
    """Score every text with the formula as it is written in textbooks."""
    bags = [Counter(words(text)) for text in texts]
    lengths = [bag.total() for bag in bags]
    mean = sum(lengths) / len(lengths)
    scores = [0.0] * len(texts)
    for word in words(query):
        having = sum(word in bag for bag in bags)
        rarity = math.log(1 + (len(bags) - having + 0.5) / (having + 0.5))
        for number, bag in enumerate(bags):
            held_back = k1 * (1 - b + b * lengths[number] / mean)
            scores[number] += rarity * bag[word] / (bag[word] + held_back)
    return scores


@pytest.mark.slow
def test_bm25_ranks_as_the_formula_does(write_corpus):
    rows = made_up_passages(500)
    texts = [f'"{row["title"]}"\n{row["text"]}' for row in rows]
    retriever = open_retriever(write_corpus(rows), BM25)
    rng = random.Random(1)
    for _ in range(40):
        query = " ".join(rng.choices(rng.choice(texts).split(), k=rng.randint(1, 6)))
        scores = reference_bm25(texts, query)
        order = sorted(range(len(texts)), key=lambda n: (-scores[n], n))
        best = [n for n in order if scores[n] > 0][:10]
        (found,) = retriever.search([query], 10)
        assert [score for _, score in found] == pytest.approx([scores[n] for n in best], rel=1e-4)
        # Where scores tie within rounding, either order will do.
        clear = {n for n in best if scores[n] > scores[best[-1]] * (1 + 1e-4)}
        assert clear <= {int(passage["title"][1:]) for passage, _ in found}


def test_case_accents_and_endings_make_no_difference():
    assert words("The Cafés of RÉUNION") == words("cafe reunion")
    assert words("running planets") == words("Run, planet!")


@pytest.mark.slow
@few
@given(st.text())
def test_any_text_can_be_searched_for(text):
    found = make_backend("bm25").search(
        text.encode("utf-8", "replace").decode(), topk=3, seconds=60
    )
    scores = [document.score for document in found]
    assert len(found) <= 3
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)


def test_ties_come_in_the_order_of_the_corpus(write_corpus):
    rows = [{"contents": f"Apple\nnumber {number}"} for number in range(50)]
    (found,) = open_retriever(write_corpus(rows), BM25).search(["apple"], 5)
    assert [passage["contents"] for passage, _ in found] == [row["contents"] for row in rows[:5]]


def test_what_else_a_passage_has_comes_back_with_it(write_corpus):
    corpus = write_corpus([{"title": "Cat", "text": "It purrs.", "url": "x"}])
    ((hit, _),) = open_retriever(corpus, BM25).search(["cat"], 1)[0]
    assert hit["contents"] == '"Cat"\nIt purrs.'
    assert hit["url"] == "x"


def test_lines_may_end_in_any_way(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b'\n{"contents": "a"}\r\n\n  \n{"contents": "b"}\n{"contents": "c"}')
    passages = Passages.open(path)
    assert [passage["contents"] for passage in passages] == ["a", "b", "c"]
    assert passages[-1]["contents"] == "c"
    assert [passage["contents"] for passage in passages[1:]] == ["b", "c"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be read"),
        ("\n\n", "is empty"),
        ('{"contents": "a"}\n{"contents":\n', "Passage 1 .* not JSON"),
        ('{"title": "a"}\n', "neither contents nor title and text"),
        ('{"contents": 5}\n', "neither contents"),
        ('["a"]\n', "neither contents"),
        ('{"contents": "the ..."}\n', "No text of the corpus .* has a word"),
    ],
)
def test_a_corpus_that_cannot_be_searched_is_refused(tmp_path, text, said):
    path = tmp_path / "corpus.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        open_retriever(path, BM25)


def test_a_corpus_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.jsonl"):
        open_retriever(tmp_path / "nowhere.jsonl", BM25)


@pytest.mark.slow
def test_a_saved_index_is_loaded_without_reading_the_corpus_again(write_corpus, tmp_path):
    corpus, place = write_corpus(made_up_passages(200)), tmp_path / "deep" / "index"
    steps = []

    def track(items, what, total):
        steps.append((what, total))
        return items

    built = open_retriever(corpus, BM25, index_path=place, track=track)
    loaded = open_retriever(corpus, BM25, index_path=place, track=track)
    assert steps == [("reading", 200)]
    queries = [passage["text"][:40] for passage in built.passages[:20]]
    assert loaded.search(queries, 5) == built.search(queries, 5)
    assert open_retriever(corpus, BM25).search(queries, 5) == built.search(queries, 5)


def test_an_index_of_another_corpus_is_refused_and_left_alone(write_corpus, tmp_path):
    place = tmp_path / "index"
    open_retriever(write_corpus(made_up_passages(20)), BM25, index_path=place)
    before = (place / "manifest.json").read_text()
    with pytest.raises(ConfigError, match="another one"):
        open_retriever(write_corpus(made_up_passages(20, seed=1), "b"), BM25, index_path=place)
    assert (place / "manifest.json").read_text() == before


def test_a_folder_without_an_index_is_refused(write_corpus, tmp_path):
    with pytest.raises(DataError, match="not a saved index"):
        open_retriever(write_corpus(made_up_passages(2)), BM25, index_path=tmp_path)


def test_an_interrupted_build_leaves_nothing_behind(tmp_path, write_corpus, monkeypatch):
    corpus = write_corpus(made_up_passages(20))
    folder = tmp_path / "indexes"

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(json, "dumps", interrupted)  # the manifest is written last
    with pytest.raises(KeyboardInterrupt):
        open_retriever(corpus, BM25, index_path=folder / "index")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("options", [{"kind": "bm52"}, {"faiss": "ivff"}, {"pooling": "max"}])
def test_options_of_an_index_are_checked(options):
    with pytest.raises(ConfigError, match="is one of"):
        IndexOptions(**options)


def test_what_dense_indexes_stand_on_is_asked_for(write_corpus, without):
    without("faiss-cpu")
    with pytest.raises(NotInstalledError, match=r"pip install 'gem-tools\[dense\]'"):
        open_retriever(str(write_corpus(made_up_passages(2))), IndexOptions(kind="dense"))


@pytest.mark.slow
def test_threads_find_in_one_index_what_one_thread_finds(write_corpus):
    rows = made_up_passages(300)
    backend = make_backend({"id": "bm25", "corpus": str(write_corpus(rows))})

    def search(row):
        return backend.search(row["text"], topk=3, seconds=60)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(search, rows))
    assert found == [search(row) for row in rows]
