"""Backends that ask a server: formats, faults, and what is asked how often."""

import asyncio
import json
import multiprocessing
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import msgpack
import pytest
from aiohttp import web
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core import make
from gem_tools.search import Document, SearchError, SearchTool
from gem_tools.search.google import GoogleBackend
from gem_tools.search.http import HttpBackend
from gem_tools.search.pages import matching_paragraphs
from gem_tools.search.serp import SerpBackend

RESULT = [{"document": {"id": "1", "contents": '"Cat"\nIt purrs.'}, "score": 2}]
CAT = Document('"Cat"\nIt purrs.', 2.0)
few = settings(max_examples=100 if thorough() else 25)


def search(backend, query="cat", topk=3, timeout=60.0):
    return backend.search(query, topk=topk, seconds=timeout)


def packed(value=RESULT):
    return web.Response(body=msgpack.packb({"result": value}))


# Formats


def test_the_request_is_msgpack_as_retrieval_servers_know_it(loopback):
    bodies = []

    async def answer(request):
        bodies.append(msgpack.unpackb(await request.read()))
        return packed()

    assert search(HttpBackend(url=loopback(answer)), topk=4) == (CAT,)
    assert bodies == [{"query": "cat", "topk": 4, "return_scores": True}]


@pytest.mark.parametrize("nested", [False, True], ids=["query", "queries"])
@pytest.mark.parametrize("status", [400, 415, 422])
def test_a_server_that_refuses_msgpack_is_asked_in_json_from_then_on(loopback, nested, status):
    formats = []

    async def answer(request):
        try:
            asked = await request.json()
        except ValueError:
            formats.append("other")
            return web.json_response({"detail": "not JSON"}, status=status)
        formats.append("json")
        assert asked["query"] == asked["queries"][0]
        return web.json_response({"result": [RESULT] if nested else RESULT})

    backend = HttpBackend(url=loopback(answer))
    assert search(backend) == search(backend, "dog") == (CAT,)
    assert formats == ["other", "json", "json"]


def test_a_requested_format_is_kept_after_a_refusal(loopback):
    async def answer(request):
        return web.Response(status=415)

    with pytest.raises(SearchError, match="415"):
        search(HttpBackend(url=loopback(answer), wire="msgpack"))


def test_documents_without_scores_and_without_their_level_are_read(loopback):
    async def answer(request):
        return web.json_response({"result": [[{"contents": '"Cat"\nIt purrs.'}]]})

    assert search(HttpBackend(url=loopback(answer), wire="json")) == (CAT._replace(score=None),)


@pytest.mark.slow
def test_an_answer_that_is_not_a_result_is_an_error_that_shows_it(loopback, subtests):
    for body in [
        b"",
        b"<html>",
        b"{}",
        b'{"result": 5}',
        b'{"result": [{"score": 1}]}',
        b'{"result": [5]}',
        b'{"result": [{"document": {"contents": 5}}]}',
        b'{"result": [{"document": {"contents": "a"}, "score": "high"}]}',
        msgpack.packb([1, 2]),
        msgpack.packb({"result": "a"}),
        b"\xc1\xff",
    ]:
        with subtests.test(body=body):

            async def answer(request, body=body):
                return web.Response(body=body)

            with pytest.raises(SearchError, match="not a result of a search"):
                search(HttpBackend(url=loopback(answer)))


def test_headers_are_sent_with_each_request(loopback):
    seen = []

    async def answer(request):
        seen.append(request.headers.get("Authorization"))
        return packed()

    search(HttpBackend(url=loopback(answer), headers={"Authorization": "Bearer x"}))
    assert seen == ["Bearer x"]


# Faults


@pytest.mark.slow
def test_an_overloaded_server_is_asked_again(loopback):
    statuses = [503, 429, 200]

    async def answer(request):
        status = statuses.pop(0)
        return packed() if status == 200 else web.Response(status=status)

    assert search(HttpBackend(url=loopback(answer))) == (CAT,)


def test_a_connection_that_breaks_is_opened_again(loopback):
    breaks = [True, False]

    async def answer(request):
        if breaks.pop(0):
            request.transport.abort()
        return packed()

    assert search(HttpBackend(url=loopback(answer))) == (CAT,)


@pytest.mark.parametrize(("retries", "asked"), [(0, 1), (1, 2)])
def test_a_server_that_stays_overloaded_is_given_up(loopback, retries, asked):
    requests = []

    async def answer(request):
        requests.append(request)
        return web.Response(status=503, text="too much to do")

    with pytest.raises(SearchError, match="503: too much to do"):
        search(HttpBackend(url=loopback(answer), retries=retries))
    assert len(requests) == asked


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_refusal_is_not_repeated(loopback, status):
    requests = []

    async def answer(request):
        requests.append(request)
        return web.Response(status=status, text="no such thing")

    with pytest.raises(SearchError, match=f"{status}: no such thing"):
        search(HttpBackend(url=loopback(answer), wire="msgpack"))
    assert len(requests) == 1


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_given_up_after_the_timeout(loopback):
    async def answer(request):
        await asyncio.sleep(30)

    with pytest.raises(SearchError, match=r"within 0\.2 seconds"):
        search(HttpBackend(url=loopback(answer)), timeout=0.2)


@pytest.mark.parametrize("user", ["", "me:password@"])
def test_the_address_of_an_unreachable_server_is_named_without_a_password(user):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{taken.getsockname()[1]}/retrieve"
        with pytest.raises(SearchError, match=f"http://{place} cannot be reached"):
            search(HttpBackend(url=f"http://{user}{place}", retries=1))


def test_a_failure_is_not_kept(loopback):
    statuses = [500, 200]

    async def answer(request):
        return packed() if statuses.pop(0) == 200 else web.Response(status=500)

    backend = HttpBackend(url=loopback(answer), retries=0)
    with pytest.raises(SearchError):
        search(backend)
    assert search(backend) == (CAT,)


# What is asked, and how often


def counting(requests, seconds=0.0):
    async def answer(request):
        asked = msgpack.unpackb(await request.read())
        requests.append((asked["query"], asked["topk"]))
        await asyncio.sleep(seconds)
        return packed()

    return answer


def test_a_result_is_asked_for_once_and_the_oldest_is_forgotten(loopback):
    requests = []
    backend = HttpBackend(url=loopback(counting(requests)), cache_size=2)
    for query in ("a", "b", "a", "c", "a", "b"):
        search(backend, query)
    search(backend, "b", topk=1)
    assert requests == [("a", 3), ("b", 3), ("c", 3), ("b", 3), ("b", 1)]


def test_without_a_cache_each_search_is_asked(loopback):
    requests = []
    backend = HttpBackend(url=loopback(counting(requests)), cache_size=0)
    search(backend)
    search(backend)
    assert len(requests) == 2


@pytest.mark.slow
def test_the_same_search_at_the_same_time_is_asked_once(loopback):
    requests = []
    backend = HttpBackend(url=loopback(counting(requests, 0.2)))
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda _: search(backend), range(16)))
    assert found == [(CAT,)] * 16
    assert requests == [("cat", 3)]


@pytest.mark.slow
def test_a_cancelled_search_goes_on_for_others_that_wait_for_it(loopback):
    requests = []
    backend = HttpBackend(url=loopback(counting(requests, 0.3)))

    async def wait():
        first = asyncio.create_task(backend.asearch("cat", topk=3, seconds=60))
        second = asyncio.create_task(backend.asearch("cat", topk=3, seconds=60))
        await asyncio.sleep(0.1)
        first.cancel()
        return await second

    assert asyncio.run(wait()) == (CAT,)
    assert len(requests) == 1


@pytest.mark.slow
def test_the_number_of_requests_is_limited_and_waiting_is_not_a_timeout(loopback):
    running, most = [], []

    async def answer(request):
        running.append(request)
        most.append(len(running))
        await asyncio.sleep(0.2)
        running.pop()
        return packed()

    backend = HttpBackend(url=loopback(answer), concurrency=2, retries=0)
    with ThreadPoolExecutor(24) as threads:
        found = list(threads.map(lambda n: search(backend, f"cat {n}", timeout=2), range(24)))
    assert found == [(CAT,)] * 24
    assert max(most) == 2


def test_connections_are_used_again(loopback):
    peers = set()

    async def answer(request):
        peers.add(request.transport.get_extra_info("peername"))
        return packed()

    backend = HttpBackend(url=loopback(answer))
    for number in range(10):
        search(backend, f"cat {number}")
    assert len(peers) == 1


def test_an_event_loop_goes_on_while_a_search_waits(loopback):
    released = threading.Event()

    async def answer(request):
        await asyncio.to_thread(released.wait, 60)
        return packed()

    backend = HttpBackend(url=loopback(answer))

    async def wait():
        waiting = asyncio.create_task(backend.asearch("cat", topk=3, seconds=60))
        await asyncio.sleep(0.05)
        released.set()  # only a loop that goes on comes here
        return await waiting

    assert asyncio.run(wait()) == (CAT,)


@pytest.mark.slow
@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork"
)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_of_the_process_searches_over_its_own_connections(loopback):
    async def answer(request):
        return packed()

    backend = HttpBackend(url=loopback(answer))
    search(backend, "before")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=lambda: queue.put(search(backend, "in the child")))
    child.start()
    assert queue.get(timeout=60) == (CAT,)
    child.join(60)
    assert search(backend, "after") == (CAT,)


@pytest.mark.slow
def test_a_process_that_has_searched_ends_in_silence(loopback, run_python):
    async def answer(request):
        return packed()

    code = f"""
from gem_tools.search.http import HttpBackend
print(len(HttpBackend(url={loopback(answer)!r}).search("cat", topk=3, seconds=60)))
"""
    assert run_python(code) == "1\n"


@pytest.mark.slow
def test_a_process_that_ends_in_the_midst_of_a_search_does_not_wait_for_it(
    loopback, run_python, tmp_path
):
    asked = tmp_path / "asked"

    async def answer(request):
        asked.touch()
        await asyncio.sleep(30)

    code = f"""
import threading, time
from pathlib import Path
from gem_tools.search.http import HttpBackend
backend = HttpBackend(url={loopback(answer)!r})
options = {{"topk": 3, "seconds": 30}}
threading.Thread(target=backend.search, args=["cat"], kwargs=options, daemon=True).start()
while not Path({str(asked)!r}).exists():
    time.sleep(0.01)
threading.excepthook = lambda args: None
"""
    assert run_python(code) == ""


@pytest.mark.slow
def test_many_episodes_search_through_the_wrapper_and_none_fails(loopback):
    requests = []
    tool = {"id": "search", "search_url": loopback(counting(requests, 0.01)), "timeout": 5}

    def play(number):
        env = make("qa:Sample", tools=[tool])
        env.reset(seed=number)
        return env.step(f"<search>cat {number}</search>")

    with ThreadPoolExecutor(32) as threads:
        steps = list(threads.map(play, range(128)))
    assert all(step.info["tool_success_counter"] == 1 for step in steps)
    assert len(requests) == 128


# SerpApi

SERP = {
    "answer_box": {"title": "Cat", "answer": "feline", "snippet": "It purrs."},
    "organic_results": [
        {"position": 1, "title": "About cats", "snippet": "Cats sleep."},
        {"position": 2, "link": "http://x"},
    ],
    "related_questions": [{"question": "Why do cats purr?", "snippet": "They like it."}],
}


def serving(value, requests, status=200):
    async def answer(request):
        requests.append(dict(request.query))
        return web.json_response(value, status=status)

    return answer


def test_serp_gives_the_answer_then_results_then_questions(loopback):
    requests = []
    backend = SerpBackend(url=loopback(serving(SERP, requests)), api_key="secret", engine="bing")
    contents = [document.contents for document in search(backend, topk=10)]
    assert contents == [
        '"Cat"\nfeline It purrs.',
        '"About cats"\nCats sleep.',
        '"No title."\nNo snippet available.',
        '"Why do cats purr?"\nThey like it.',
    ]
    assert [document.contents for document in search(backend, topk=2)] == contents[:2]
    assert requests[0] == {"engine": "bing", "q": "cat", "api_key": "secret"}


def test_serp_without_results_finds_nothing(loopback):
    backend = SerpBackend(url=loopback(serving({"error": "no results"}, [])), api_key="k")
    assert search(backend) == ()


@pytest.mark.parametrize("status", [401, 503])
def test_no_message_tells_a_key(loopback, status):
    url = loopback(serving({"error": "Invalid API key"}, [], status))
    for backend in (
        SerpBackend(url=url, api_key="secret", retries=0),
        GoogleBackend(url=url, api_key="secret", cse_id="secret", retries=0),
    ):
        with pytest.raises(SearchError, match=str(status)) as raised:
            search(backend)
        assert "secret" not in repr(raised.value)


@pytest.mark.parametrize("text", ["<html>", "[1]"])
def test_a_service_that_answers_with_something_else_is_an_error(loopback, text):
    async def answer(request):
        return web.Response(text=text)

    with pytest.raises(SearchError, match="is not"):
        search(SerpBackend(url=loopback(answer), api_key="k"))


# Google

PAGE = """<html><head><title>x</title><script>var a = "cats are small furry animals";</script>
<body><p>Menu</p><p>Long ago, <b>cats</b> are   small furry animals that hunt.</p>
<p>Nothing.</p><div>They like to sleep <br>in the sun for many hours.</div></body>"""


def google(loopback, items, pages=None, **options):
    requests, pages = [], pages or {}

    async def answer(request):
        if request.path in pages:
            text, content_type = pages[request.path]
            if text is None:
                await asyncio.sleep(30)
            return web.Response(text=text, content_type=content_type)
        requests.append(dict(request.query))
        here = f"http://{request.host}"
        links = [{**item, "link": here + item["link"]} for item in items]
        return web.json_response({"items": links} if links else {})

    url = loopback(answer)
    return GoogleBackend(url=url, api_key="k", cse_id="c", **options), requests


ITEM = {
    "title": "Cats",
    "link": "/page",
    "snippet": "Old ... cats are small furry animals that hunt ... x",
}


def test_google_is_asked_without_punctuation(loopback):
    backend, requests = google(loopback, [])
    assert search(backend, "what's a cat, really?", topk=20) == ()
    assert requests == [{"key": "k", "cx": "c", "q": "what s a cat really", "num": "10"}]


def test_google_can_return_snippets_without_reading_pages(loopback):
    backend, _ = google(loopback, [ITEM], {"/page": (PAGE, "text/html")}, snippet_only=True)
    assert [d.contents for d in search(backend)] == [f'"Cats"\n{ITEM["snippet"]}']


def test_a_page_yields_the_paragraphs_that_its_snippet_comes_from(loopback):
    backend, _ = google(loopback, [ITEM], {"/page": (PAGE, "text/html")})
    text = "Long ago, cats are small furry animals that hunt."
    assert [d.contents for d in search(backend)] == [f'"Cats"\n{text}']


@pytest.mark.slow
@few
@given(st.text(alphabet="<>/![]-=\"' apdivscript&;", max_size=60))
@example("<![x]>")
def test_any_page_can_be_read(page):
    found = matching_paragraphs(page.encode(), ["a"])
    assert all("a" in text for text in found)


@pytest.mark.parametrize(
    ("item", "page"),
    [
        (ITEM, ("cats are small furry animals that hunt", "text/plain")),
        (ITEM, ("<p>gone</p>", "text/html")),
        (ITEM, (None, "text/html")),
        ({**ITEM, "link": "/missing"}, ("", "text/html")),
        ({**ITEM, "link": "/file.pdf"}, ("", "text/html")),
        ({**ITEM, "snippet": "too short"}, (PAGE, "text/html")),
    ],
    ids=["no html", "no such piece", "slow", "no page", "pdf", "short"],
)
def test_the_snippet_replaces_a_page_that_cannot_be_read(loopback, item, page):
    backend, _ = google(loopback, [item], {"/page": page}, page_timeout=0.2)
    assert [d.contents for d in search(backend)] == [f'"Cats"\n{item["snippet"]}']


def test_the_tool_shows_what_failed(loopback):
    async def answer(request):
        return web.Response(status=404, text=json.dumps({"error": "no route"}))

    tool = SearchTool(search_url=loopback(answer), wrapped=False)
    result = tool.run(tool.parse("<search>cat</search>"))
    assert not result.ok
    assert result.output.startswith("[SearchTool Error: http://127.0.0.1")
    assert "404" in result.output
