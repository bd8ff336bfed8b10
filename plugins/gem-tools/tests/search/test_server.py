"""``gem-core serve-search`` as a process, asked over the loopback interface."""

import asyncio
import contextlib
import http.client
import json
import signal
import sys
import threading
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import aiohttp
import msgpack
import pytest
from cli import gem
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import DataError
from gem_tools.search import make_backend
from gem_tools.search.batcher import Batcher
from gem_tools.search.index import IndexOptions, open_retriever
from gem_tools.search.wire import read_request

few = settings(max_examples=100 if thorough() else 50)


def post(url, body, content_type=None):
    """Return the status and the body of the answer."""
    host, port = url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    headers = {"Content-Type": content_type} if content_type else {}
    connection.request("POST", "/retrieve", body, headers)
    response = connection.getresponse()
    found = response.status, response.read()
    connection.close()
    return found


def get(url):
    with urllib.request.urlopen(url, timeout=60) as response:  # noqa: S310 - loopback
        return response.read().decode()


def titles(result):
    return [hit["document"]["contents"].partition("\n")[0] for hit in result]


@pytest.mark.parametrize("content_type", [None, "application/msgpack", "application/octet-stream"])
def test_msgpack_is_answered_in_msgpack(server_url, content_type):
    asked = {"query": "planet with a great red spot", "topk": 2, "return_scores": True}
    status, body = post(server_url, msgpack.packb(asked), content_type)
    result = msgpack.unpackb(body)["result"]
    assert status == 200
    assert titles(result)[0] == '"Jupiter"'
    assert len(result) == 2
    assert result[0]["score"] > result[1]["score"] > 0


@pytest.mark.parametrize("content_type", [None, "application/json", "text/plain"])
def test_json_is_answered_in_json(server_url, content_type):
    status, body = post(server_url, json.dumps({"query": "lemurs", "topk": 1}), content_type)
    assert status == 200
    assert titles(json.loads(body)["result"]) == ['"Lemur"']


def test_several_queries_have_a_list_each(server_url):
    asked = {"queries": ["lemurs", "zzzz", "acorns"], "topk": 1, "return_scores": False}
    result = json.loads(post(server_url, json.dumps(asked))[1])["result"]
    assert [titles(of_query) for of_query in result] == [['"Lemur"'], [], ['"Oak"']]
    assert result[0][0]["score"] is None
    assert json.loads(post(server_url, b'{"queries": []}')[1]) == {"result": []}


def test_a_query_without_a_number_gets_three(server_url):
    for asked in ({"query": "river"}, {"query": "river", "topk": None}):
        assert len(msgpack.unpackb(post(server_url, msgpack.packb(asked))[1])["result"]) == 3


def test_what_cannot_be_answered_is_refused_with_the_reason(server_url, subtests):
    for body, content_type, said in [
        (b"{", "application/json", "not json"),
        (b"\xc1", None, "not msgpack"),
        (b"", None, "not msgpack"),
        (b"[]", None, "A request is a map"),
        (b"{}", None, "has a query"),
        (b'{"query": 5}', None, "has a query"),
        (b'{"queries": "a"}', None, "has a query"),
        (b'{"query": "a", "topk": 0}', None, "from 1 to 1000; got 0"),
        (b'{"query": "a", "topk": 1e9}', None, "topk"),
        (b'{"query": "a", "topk": true}', None, "topk"),
        (b'{"query": "a", "return_scores": 3}', None, "return_scores"),
        (json.dumps({"queries": ["a"] * 1025}).encode(), None, "At most 1024"),
    ]:
        with subtests.test(body=body):
            status, answer = post(server_url, body, content_type)
            assert status == 400
            assert said in json.loads(answer)["error"]


def test_other_paths_and_methods_and_bodies_that_are_too_long_are_refused(server_url):
    assert post(server_url, b"x" * (9 << 20))[0] == 413
    for path, status in (("/nothing", 404), ("/retrieve", 405)):
        with pytest.raises(urllib.error.HTTPError) as raised:
            get(server_url + path)
        assert raised.value.code == status
        raised.value.close()


def test_health_and_metrics_tell_what_there_is_and_what_was_done(server_url):
    def metrics():
        lines = get(f"{server_url}/metrics").splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line[0] != "#")
        return Counter({name: float(value) for name, value in pairs})

    before = metrics()
    post(server_url, b'{"query": "lemurs"}')
    post(server_url, b'{"queries": ["a", "b"]}')
    post(server_url, b"{")
    added = metrics() - before
    assert added['search_requests_total{status="200"}'] == 2
    assert added['search_requests_total{status="400"}'] == 1
    assert added['search_queries_total{wire="json"}'] == 3
    assert added["search_request_seconds_count"] == 3
    health = json.loads(get(f"{server_url}/health"))
    assert health["status"] == "ok"
    assert health["documents"] >= 250


@pytest.mark.slow
def test_a_hundred_concurrent_clients_are_all_answered(server_url):
    questions = files("gem_qa").joinpath("data/qa_sample.jsonl").read_text(encoding="utf-8")
    queries = [json.loads(line)["question"] for line in questions.splitlines()]
    expected = {
        (query, topk): [
            d.contents for d in make_backend("bm25").search(query, topk=topk, seconds=60)
        ]
        for query in queries
        for topk in (1, 2, 5)
    }

    async def client(session, number):
        failed = 0
        for step in range(10):
            query, topk = queries[(number + 7 * step) % len(queries)], (1, 2, 5)[number % 3]
            asked = {"query": query, "topk": topk, "return_scores": bool(step % 2)}
            pack, unpack = (msgpack.packb, msgpack.unpackb)
            if (number + step) % 2:
                pack, unpack = (lambda value: json.dumps(value).encode(), json.loads)
            async with session.post(f"{server_url}/retrieve", data=pack(asked)) as response:
                result = unpack(await response.read())["result"]
            scored = all((hit["score"] is not None) == bool(step % 2) for hit in result)
            found = [hit["document"]["contents"] for hit in result]
            failed += not (scored and found == expected[query, topk])
        return failed

    async def all_clients():
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            return await asyncio.gather(*(client(session, number) for number in range(100)))

    assert asyncio.run(all_clients()) == [0] * 100


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM] if thorough() else [signal.SIGINT]
)
def test_a_signal_ends_the_server_once_its_requests_are_answered(run_server, number):
    asked = json.dumps({"queries": ["the moon of a river in winter"] * 400, "topk": 100}).encode()
    with run_server() as (process, url), ThreadPoolExecutor(4) as threads:
        answers = [threads.submit(post, url, asked) for _ in range(4)]
        while "requests_running 4.0" not in get(f"{url}/metrics"):
            assert not any(answer.done() for answer in answers), "ask for more"
        process.send_signal(number)
        for answer in answers:
            status, body = answer.result(timeout=60)
            assert status == 200
            assert len(json.loads(body)["result"]) == 400
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == ""


@pytest.mark.slow
def test_a_port_in_use_is_reported_in_a_sentence(server_url):
    done = gem("serve-search", "--port", server_url.rpartition(":")[2])
    assert done.returncode == 1
    assert done.stderr.startswith("Error: Cannot listen at 127.0.0.1:")
    assert "Traceback" not in done.stderr


def test_an_unreadable_corpus_is_reported_in_a_sentence(write_corpus):
    done = gem("serve-search", "--corpus", write_corpus([{"body": "x"}]))
    assert done.returncode == 1
    assert "neither contents nor title and text" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_an_index_that_the_server_saves_is_loaded_again(run_server, write_corpus, tmp_path):
    corpus, place = write_corpus([{"title": "Cat", "text": "It purrs."}]), tmp_path / "index"
    arguments = ("--corpus", str(corpus), "--index-path", str(place), "--topk", "1")
    with run_server(*arguments) as (_, url):
        result = json.loads(post(url, b'{"query": "cat"}')[1])["result"]
        assert titles(result) == ['"Cat"']

    def refuse(items, what, total):
        raise AssertionError(f"{what} again")

    retriever = open_retriever(corpus, IndexOptions(kind="bm25"), index_path=place, track=refuse)
    ((passage, _),) = retriever.search(["cat"], 1)[0]
    assert passage["contents"] == '"Cat"\nIt purrs.'


@pytest.mark.slow
@few
@given(st.binary(max_size=40), st.sampled_from(["", "application/json", "application/msgpack"]))
def test_any_body_is_read_or_refused(body, content_type):
    with contextlib.suppress(DataError):
        request = read_request(body, content_type, most=10)
        assert all(isinstance(query, str) for query in request.queries)


# Batches


def test_queries_that_gather_while_others_are_searched_for_go_together():
    sizes, started, release = [], threading.Event(), threading.Event()

    def search(queries, topk):
        started.set()
        release.wait(60)
        return [[query] * topk for query in queries]

    async def ask():
        batcher = Batcher(search, largest=4, observe=sizes.append)
        first = asyncio.create_task(batcher.search(["a"], 1))
        await asyncio.to_thread(started.wait, 60)
        others = [asyncio.create_task(batcher.search([str(n)], 1 + n % 2)) for n in range(6)]
        await asyncio.sleep(0)
        release.set()
        found = [await first, *[await other for other in others]]
        batcher.close()
        return found

    found = asyncio.run(ask())
    assert found == [[["a"]], *[[[str(n)] * (1 + n % 2)] for n in range(6)]]
    assert sizes == [1, 4, 2]


def test_as_many_searches_as_threads_run_concurrently():
    both, started = threading.Barrier(2), threading.Event()

    def search(queries, topk):
        started.set()
        both.wait(60)  # nobody passes alone
        return [[query] for query in queries]

    async def ask():
        batcher = Batcher(search, threads=2)
        first = asyncio.create_task(batcher.search(["a"], 1))
        await asyncio.to_thread(started.wait, 60)
        found = [await batcher.search(["b"], 1), await first]
        batcher.close()
        return found

    assert asyncio.run(ask()) == [[["b"]], [["a"]]]


def test_a_query_that_arrives_while_the_last_batch_ends_is_answered():
    async def ask():
        late = []

        class Hits(list):
            def __getitem__(self, part):  # taken for the answer, just before the batch ends
                late.append(asyncio.create_task(batcher.search(["late"], 1)))
                return list(self)[part]

        def search(queries, topk):
            return [Hits([query]) if query == "first" else [query] for query in queries]

        batcher = Batcher(search)
        first = await batcher.search(["first"], 1)
        found = [first, await asyncio.wait_for(late[0], timeout=60)]
        batcher.close()
        return found

    assert asyncio.run(ask()) == [[["first"]], [["late"]]]


def test_a_failed_search_fails_for_its_callers_only():
    def search(queries, topk):
        if "bad" in queries:
            raise DataError("no")
        return [[query] for query in queries]

    async def ask():
        batcher = Batcher(search)
        with pytest.raises(DataError):
            await batcher.search(["bad", "worse"], 1)
        found = await batcher.search(["good"], 1)
        batcher.close()
        return found

    assert asyncio.run(ask()) == [["good"]]
