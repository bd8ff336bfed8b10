"""The search tool: what it takes for a call, what an agent sees, how it is configured."""

import asyncio
import pickle

import pytest

from gem_core import make, make_tool
from gem_core.errors import ConfigError, UnknownIdError, UnknownKwargError
from gem_core.testing import check_tool
from gem_core.tool import ToolCall
from gem_tools.search import Document, SearchError, SearchTool, make_backend


class Shelf:
    """A backend with a few documents, that remembers what it was asked."""

    waits = False

    def __init__(self, *documents, error=None):
        self.documents, self.error, self.asked = documents, error, []

    def search(self, query, *, topk, seconds):
        self.asked.append((query, topk))
        if self.error:
            raise self.error
        return self.documents[:topk]

    async def asearch(self, query, *, topk, seconds):
        return self.search(query, topk=topk, seconds=seconds)


CAT = Document('"Cat"\nA small animal.\nIt purrs.', 2.5)
DOG = Document('"Dog"\nIt barks.', 1.0)


def call(tool, **arguments):
    return tool.run(ToolCall("search", arguments, ""))


def test_the_tool_keeps_the_contract():
    calls = ["<search>deepest lake</search>", "First I look it up. <search> moon\n</search>"]
    report = check_tool("search", calls=calls)
    assert report.ok, str(report)


def test_the_first_search_of_an_action_is_the_call_and_what_follows_it_is_dropped():
    action = "<think>hm</think> <search>\n one\ntwo </search> so <search>three</search>"
    found = SearchTool().parse(action)
    assert found.arguments == {"query": "one\ntwo"}
    assert found.text == "<think>hm</think> <search>\n one\ntwo </search>"


def test_an_action_without_a_search_is_not_a_call(subtests):
    for action in [
        "",
        "search",
        "<search>open",
        "closed</search>",
        "</search><search>",
        "<Search>a</Search>",
        7,
    ]:
        with subtests.test(action=action):
            assert SearchTool().parse(action) is None


def test_documents_are_numbered_with_their_first_line_as_title():
    text = 'Doc 1(Title: "Cat") A small animal.\nIt purrs.\nDoc 2(Title: "Dog") It barks.\n'
    bare = call(SearchTool(backend=Shelf(CAT, DOG), wrapped=False), query="pets")
    wrapped = call(SearchTool(backend=Shelf(CAT, DOG)), query="pets")
    assert bare.output == text
    assert wrapped.output == f"\n\n<information>{text}</information>\n\n"
    assert bare.ok
    assert bare.info == {"scores": [2.5, 1.0]}


def test_a_search_without_result_says_so():
    result = call(SearchTool(backend=Shelf()), query="zebra")
    assert result.ok
    assert "<information>No document" in result.output


def test_a_call_may_ask_for_another_number_of_documents():
    shelf = Shelf(CAT, DOG)
    tool = SearchTool(backend=shelf, topk=2)
    call(tool, query="pets")
    call(tool, query="pets", topk=1)
    assert shelf.asked == [("pets", 2), ("pets", 1)]


def test_a_call_that_cannot_be_run_fails_with_the_reason(subtests):
    for arguments, said in [
        ({"query": "  "}, "query is empty"),
        ({}, "query is empty"),
        ({"query": 5}, "query is empty"),
        ({"query": "a", "topk": 0}, "from 1 to 100; got 0"),
        ({"query": "a", "topk": "many"}, "'many'"),
        ({"query": "a", "topk": True}, "True"),
    ]:
        with subtests.test(arguments=arguments):
            result = call(SearchTool(backend=Shelf(CAT)), **arguments)
            assert not result.ok
            assert result.output.strip().startswith("<information>[SearchTool Error: ")
            assert said in result.output


def test_a_backend_that_fails_is_a_failed_call_in_both_worlds():
    tool = SearchTool(backend=Shelf(error=SearchError("the shelf is empty.")), wrapped=False)
    waited = asyncio.run(tool.arun(ToolCall("search", {"query": "a"}, "")))
    assert waited == call(tool, query="a")
    assert (waited.ok, waited.output) == (False, "[SearchTool Error: the shelf is empty.]")


def test_the_function_takes_a_query_and_perhaps_a_number():
    (function,) = SearchTool(topk=7).functions()
    assert function.name == "search"
    assert function.parameters["required"] == ["query"]
    assert set(function.parameters["properties"]) == {"query", "topk"}
    assert "7" in function.parameters["properties"]["topk"]["description"]


def test_the_instructions_name_every_tag():
    text = SearchTool().instructions()
    assert all(f"<{tag}>" in text for tag in ("think", "search", "information", "answer"))


def test_invalid_options_are_refused_immediately(monkeypatch, subtests):
    for options, error, said in [
        ({"topk": 0}, ConfigError, "topk"),
        ({"timeout": 0}, ConfigError, "timeout"),
        ({"backend": "bm52"}, UnknownIdError, "Did you mean 'bm25'"),
        ({"backend": {"corpus": "x"}}, ConfigError, "needs an 'id'"),
        ({"backend": 5}, ConfigError, "got 5"),
        ({"backend": {"id": "bm25", "corpsu": "x"}}, UnknownKwargError, "corpus"),
        ({"backend": "http"}, ConfigError, "SEARCH_URL"),
        ({"backend": {"id": "http", "url": "localhost:8000"}}, ConfigError, "http://"),
        ({"backend": {"id": "http", "url": "http://a", "wire": "xml"}}, ConfigError, "msgpack"),
        ({"backend": {"id": "http", "url": "http://a", "retries": -1}}, ConfigError, "retries"),
        ({"backend": "bm25", "search_url": "http://a"}, ConfigError, "search_url"),
        ({"backend": "serp"}, ConfigError, "SERP_API_KEY"),
        ({"backend": "google"}, ConfigError, "GOOGLE_CSE_ID"),
    ]:
        with subtests.test(options=options):
            for name in ("SEARCH_URL", "SERP_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CSE_ID"):
                monkeypatch.delenv(name, raising=False)
            with pytest.raises(error, match=said):
                SearchTool(**options)


def test_the_environment_variable_says_where_to_search(monkeypatch):
    monkeypatch.delenv("SEARCH_URL", raising=False)
    assert not SearchTool().blocking
    monkeypatch.setenv("SEARCH_URL", "http://localhost:1/retrieve")
    assert SearchTool().backend.url == "http://localhost:1/retrieve"
    assert SearchTool().blocking
    assert SearchTool(search_url="http://localhost:2/r").backend.url == "http://localhost:2/r"
    assert SearchTool(backend="http").backend.url == "http://localhost:1/retrieve"
    assert not SearchTool(backend="bm25").blocking


@pytest.mark.slow
def test_without_a_backend_one_warning_names_the_corpus(run_python):
    code = """
import logging, sys
logging.basicConfig(stream=sys.stdout)
import gem_core
for _ in range(2):
    tool = gem_core.make_tool("search")
print(tool.run(tool.parse("<search>lemur</search>")).ok)
"""
    said = run_python(code, SEARCH_URL="")
    assert said.count("small corpus") == 1
    assert said.endswith("True\n")


@pytest.mark.slow
def test_a_tool_imports_nothing_heavy_before_it_searches(run_python):
    code = """
import sys, gem_core
env = gem_core.make("qa:Sample", tools=[{"id": "search", "backend": "bm25"}])
env.reset(seed=1)
heavy = {"aiohttp", "bm25s", "msgpack", "numpy", "prometheus_client", "torch"}
print(sorted(heavy & set(sys.modules)))
"""
    assert run_python(code) == "[]\n"


def test_tools_with_the_same_options_share_a_backend(write_corpus):
    corpus = str(write_corpus([{"title": "Cat", "text": "It purrs."}]))
    options = {"id": "bm25", "corpus": corpus}
    first = make_tool("search", backend=options)
    assert make_tool("search", backend=dict(options)).backend is first.backend
    assert make_tool("search", backend="bm25").backend is not first.backend


def test_half_of_a_surrogate_pair_is_searched_for_like_any_other_text():
    assert call(SearchTool(), query="deepest lake \ud800").ok


def test_an_error_of_a_search_can_be_sent_between_processes():
    error = pickle.loads(pickle.dumps(SearchError("gone.")))  # noqa: S301 - our own
    assert (type(error), str(error)) == (SearchError, "gone.")


@pytest.mark.parametrize(
    ("wrapper", "reward"), [("search_tool", 0.3), ("search_tool_no_int_reward", 0.0)]
)
def test_the_presets_pay_for_calls_and_allow_five(wrapper, reward):
    env = make("qa:Sample", wrappers=[{"id": wrapper, "backend": "bm25"}])
    env.reset(seed=1)
    steps = [env.step("<search>lake</search>") for _ in range(6)]
    assert [step.reward for step in steps] == [reward] * 5 + [0.0]
    assert steps[5].terminated


def test_a_fork_of_an_episode_searches_the_same_backend():
    env = make("qa:Sample", tools=[{"id": "search", "backend": "bm25"}])
    env.reset(seed=1)
    twin = env.fork()
    assert twin.tools[0].backend is env.tools[0].backend is make_backend("bm25")
    assert twin.step("<search>moon</search>") == env.step("<search>moon</search>")
