"""Search backends of plugins and of other modules."""

import pytest

import gem_core
from gem_core.errors import ConfigError
from gem_core.plugins import default_registry
from gem_core.specs import Spec
from gem_tools.search import Document, SearchBackend, make_backend
from gem_tools.search.checks import check_search_backend
from gem_tools.specs import SEARCH_BACKENDS


class Shelf:
    """Finds books by a word of their title."""

    waits = False

    def __init__(self, *, books=("Water\nIt is wet.",)):
        self.books = books

    def search(self, query, *, topk, seconds):
        return [Document(book) for book in self.books if query in book.lower()][:topk]

    async def asearch(self, query, *, topk, seconds):
        return self.search(query, topk=topk, seconds=seconds)


class Hoard(Shelf):
    """Returns more than it is asked for, and nothing to an event loop."""

    def search(self, query, *, topk, seconds):
        return [Document("Water")] * 5

    async def asearch(self, query, *, topk, seconds):
        return []


@pytest.fixture
def shelf(plugins_in):
    plugins_in()
    default_registry().add(
        Spec(kind=SEARCH_BACKENDS, id="shelf", entry_point=Shelf, description="a shelf")
    )
    return "shelf"


def test_a_backend_of_a_plugin_is_chosen_by_its_id(shelf):
    assert isinstance(Shelf(), SearchBackend)
    tools = [{"id": "search", "backend": {"id": shelf, "books": ["Ash\nIt is grey."]}}]
    with gem_core.make("qa:Sample", tools=tools) as env:
        env.reset(seed=0)
        assert "It is grey." in env.step("<search>ash</search>").observation
    assert make_backend(shelf) is make_backend({"id": shelf})
    assert check_search_backend(shelf).ok


def test_a_backend_of_any_module_is_chosen_by_its_entry_point():
    backend = make_backend({"id": f"{__name__}:Shelf", "books": ["Ash"]})
    assert backend.search("ash", topk=1, seconds=1) == [Document("Ash")]
    with pytest.raises(ConfigError, match="must return a SearchBackend"):
        make_backend("builtins:dict")


def test_the_check_finds_what_a_backend_does_wrong():
    (finding,) = check_search_backend(f"{__name__}:Hoard").findings
    assert "at most topk=2 documents" in finding.message


def test_our_backends_keep_the_contract():
    assert check_search_backend("bm25").ok
    assert check_search_backend("serp").unchecked == ["its searches, as they need an API key"]
