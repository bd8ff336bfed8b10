"""The index of a large corpus is built once, and kept in the cache folder for all processes."""

import json
import os
import subprocess
import sys
import warnings

import pytest

from gem_core.errors import DataError
from gem_tools.search.index import IndexOptions, open_retriever

pytestmark = pytest.mark.slow
BM25 = IndexOptions(kind="bm25")
QUERIES = ["red lamp 7", "blue", "garden 1200", "nothing"]
SEARCH = """
import json, sys
from gem_tools.search.index import IndexOptions, open_retriever
steps = []
def track(items, what, total):
    steps.append(what)
    return items
retriever = open_retriever(sys.argv[1], IndexOptions(kind="bm25"), track=track)
found = retriever.search(json.loads(sys.argv[2]), 5)
print(json.dumps([len(steps), [[(p["contents"], s) for p, s in one] for one in found]]))
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder of the kept indexes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gem-core" / "search"


@pytest.fixture
def corpus(write_corpus):
    return write_corpus(rows())


def rows(last="end"):
    """Return passages of more than 4 MB in all, of which few bytes are indexed."""
    colours, things = ("red", "blue"), ("lamp", "garden", "chair")
    words = [f"{colours[n % 2]} {things[n % 3]} {n % 700}" for n in range(2_100)]
    return [{"contents": one, "note": "x" * 2_000} for one in [*words, last]]


def found(retriever):
    hits = retriever.search(QUERIES, 5)
    return [[[passage["contents"], score] for passage, score in one] for one in hits]


def steps_of(corpus):
    """Open the corpus; return its retriever, and how often its passages were read for an index."""
    steps = []

    def track(items, what, total):
        steps.append(what)
        return items

    return open_retriever(corpus, BM25, track=track), len(steps)


def test_it_finds_what_an_index_in_memory_finds(cache, corpus, write_corpus):
    few = write_corpus([{"contents": row["contents"]} for row in rows()], "few.jsonl")
    wanted = found(open_retriever(few, BM25))
    assert not cache.exists()
    for built in (1, 0):
        retriever, steps = steps_of(corpus)
        assert steps == built
        assert found(retriever) == wanted


def test_a_changed_corpus_gets_a_new_index_in_place_of_the_old_one(cache, corpus):
    steps_of(corpus)
    before = corpus.stat()
    text = corpus.read_text().replace("red garden 10", "red carpet 10")
    corpus.write_text(text)
    os.utime(corpus, ns=(before.st_mtime_ns, before.st_mtime_ns))
    assert corpus.stat().st_size == before.st_size
    retriever, steps = steps_of(corpus)
    assert steps == 1
    assert retriever.search(["carpet"], 1)[0][0][0]["contents"].startswith("red carpet 10")
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:40]),
        lambda path: path.write_bytes(b""),
        lambda path: path.unlink(),
    ],
)
def test_an_index_that_cannot_be_read_is_built_again(cache, corpus, damage):
    wanted = found(steps_of(corpus)[0])
    (place,) = cache.glob("*/index")
    for name in sorted(path.name for path in place.iterdir() if "vocab." not in path.name):
        damage(place / name)
        retriever, steps = steps_of(corpus)
        assert (name, steps) == (name, 1)
        assert found(retriever) == wanted


def test_processes_that_start_together_build_one_index(cache, corpus):
    command = [sys.executable, "-c", SEARCH, str(corpus), json.dumps(QUERIES)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    results = [json.loads(process.communicate()[0]) for process in started]
    assert sum(steps for steps, _ in results) == 1
    assert all(hits == results[0][1] for _, hits in results)
    (place,) = cache.iterdir()
    assert [path.name for path in place.iterdir()] == ["index"]


def test_without_room_for_it_the_index_stays_in_memory_and_a_line_says_so(cache, corpus):
    code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n{SEARCH}"
    command = [sys.executable, "-c", code, str(corpus), json.dumps(QUERIES)]
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environ)
    assert done.stderr.count("stays in memory, as it cannot be kept in") == 1
    assert json.loads(done.stdout)[1] == found(steps_of(corpus)[0])


def test_a_folder_that_cannot_be_written_is_named_in_a_warning(corpus, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    with pytest.warns(UserWarning, match="cannot be kept in /proc/nowhere/gem-core"):
        assert found(open_retriever(corpus, BM25))[0]


def test_an_index_path_that_cannot_be_written_is_refused(corpus):
    with pytest.raises(DataError, match="The index cannot be written to /proc/nowhere/index"):
        open_retriever(corpus, BM25, index_path="/proc/nowhere/index")


def test_a_small_corpus_leaves_the_cache_folder_alone(cache, write_corpus):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert open_retriever(write_corpus(rows()[:9]), BM25).search(["red"], 1)[0]
    assert not cache.exists()
