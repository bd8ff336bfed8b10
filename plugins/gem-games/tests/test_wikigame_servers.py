"""WikiGame on servers of kiwix and MediaWiki, and what happens when they fail."""

import functools
import random
from itertools import product
from types import SimpleNamespace

import pytest
from selection import some
from wikis import MEANINGS, ZIM, KiwixWiki, MediaWiki, path_of, sample_pages

from gem_core import make
from gem_core.agent import RandomAgent
from gem_games.wikigame.errors import PageFault, PageNotFoundError
from gem_games.wikigame.http import PageServer
from gem_games.wikigame.kiwix import Kiwix
from gem_games.wikigame.mediawiki import MediaWiki as MediaWikiSource
from gem_rollout import collect

pages_of_the_wiki = functools.cache(sample_pages)
WIKIS = {
    "kiwix": (KiwixWiki, Kiwix, {"zimfile": ZIM}),
    "mw": (MediaWiki, MediaWikiSource, {}),
}
QUICK = {"delay_ms": 0, "attempts": 2, "timeout": 5.0}
both = pytest.mark.parametrize("name", WIKIS)


@pytest.fixture
def wiki(name):
    """A running server."""
    with WIKIS[name][0](pages_of_the_wiki()) as server:
        yield server


@pytest.fixture(scope="module")
def titles():
    """The titles of the pages, in their order."""
    return list(pages_of_the_wiki())


def graph_of(name, wiki, **options):
    return WIKIS[name][1](data=wiki.url, **{**QUICK, **WIKIS[name][2], **options}).graph(0)


def env_of(name, wiki, **options):
    options = {**QUICK, **WIKIS[name][2], **options}
    return make("game:WikiGame-v0-easy", graph=name, data=wiki.url, graph_options=options)


@pytest.mark.slow
@both
def test_a_page_has_its_text_and_all_its_links(name, wiki):
    graph = graph_of(name, wiki)
    for title, (text, links) in pages_of_the_wiki().items():
        page = graph.page(title)
        assert (page.title, page.text) == (title, text)
        assert sorted(page.links) == sorted(links)


def test_all_batches_of_links_are_read(titles):
    pages = pages_of_the_wiki()
    with MediaWiki(pages) as wiki:
        title = max(titles, key=lambda one: len(pages[one][1]))
        count = len(pages[title][1])
        assert count > 3 * wiki.batch
        assert len(graph_of("mw", wiki).page(title).links) == count
        assert len(wiki.requests) == -(-count // wiki.batch)


@both
def test_a_redirect_leads_to_the_page_itself(name, wiki, titles):
    assert graph_of(name, wiki).page("The Old Name").title == titles[0]


@both
def test_a_page_of_meanings_stands_for_the_first_one_that_exists(name, wiki, titles):
    assert graph_of(name, wiki).page(MEANINGS).title == titles[3]


@both
def test_a_missing_page_stands_for_the_first_hit_of_a_search(name, wiki, titles):
    word = titles[10].split()[-1]
    wanted = next(title for title in titles if word.lower() in title.lower())
    assert graph_of(name, wiki).page(f"{word} xyz").title == wanted


def test_a_missing_page_without_a_hit_is_a_fault():
    with MediaWiki(pages_of_the_wiki()) as wiki:
        graph = graph_of("mw", wiki)
        with pytest.raises(PageNotFoundError, match="has no page 'xyz'"):
            graph.page("xyz")


@both
def test_every_page_is_asked_for_once(name, wiki, titles):
    graph = graph_of(name, wiki)
    graph.page(titles[0])
    asked = len(wiki.requests)
    graph.page(titles[0])
    assert len(wiki.requests) == asked
    graph.forget()
    graph.page(titles[0])
    assert len(wiki.requests) == 2 * asked


@pytest.mark.slow
@both
def test_only_the_last_pages_are_kept(name, wiki, titles):
    graph = graph_of(name, wiki, kept=3)
    for title in titles[:10]:
        graph.page(title)
    assert len(graph._pages) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("name", "failure"), some(product(WIKIS, [500, 503, "drop"])))
def test_a_request_that_fails_once_is_repeated(name, wiki, failure, titles):
    wiki.failures.append(failure)
    assert graph_of(name, wiki).page(titles[0]).title == titles[0]


@pytest.mark.slow
@both
def test_a_server_that_does_not_answer_in_time_is_a_fault(name, wiki, titles):
    wiki.failures.extend(["hang"] * 2)
    graph = graph_of(name, wiki, timeout=0.1)
    with pytest.raises(PageFault, match=r"failed 2 times, .*time(d )?out"):
        graph.page(titles[0])


@both
def test_a_fault_in_a_step_leaves_the_episode_as_it_was(name, wiki, titles):
    env = env_of(name, wiki, attempts=1)
    env.reset(seed=0, start=key(name, titles[0]), target=key(name, titles[20]))
    before = env.snapshot()
    label = next(iter(env.page.links))
    wiki.failures.append(500)
    with pytest.raises(PageFault, match="failed 1 times"):
        env.step(rf"\boxed{{{label}}}")
    assert env.snapshot() == before
    assert env.step(rf"\boxed{{{label}}}").reward == -0.05


class Saboteur(RandomAgent):
    """A random player that breaks the server before its second move."""

    def __init__(self, wiki):
        super().__init__()
        self.wiki, self.moves = wiki, 0

    def act(self, observation, info):
        self.moves += 1
        if self.moves == 2:
            self.wiki.failures.extend([500] * 1000)
        return super().act(observation, info)


@both
def test_a_fault_is_recorded_as_the_environments_and_never_as_a_reward(name, wiki):
    env = env_of(name, wiki, attempts=1, kept=1)
    (trajectory,) = collect(lambda: env, lambda: Saboteur(wiki), episodes=1)
    assert trajectory.error["boundary"] == "env"
    assert trajectory.error["type"] == "PageFault"
    assert [turn.reward for turn in trajectory.turns] == [-0.05]


@both
def test_a_dead_server_is_a_fault_that_says_what_to_check(name):
    with WIKIS[name][0](pages_of_the_wiki()) as wiki:
        pass
    with pytest.raises(PageFault, match="Check that the server runs"):
        env_of(name, wiki, attempts=1).reset(seed=0)


def test_something_that_is_not_an_api_is_a_fault(titles):
    with KiwixWiki(pages_of_the_wiki()) as wiki:
        graph = MediaWikiSource(data=f"{wiki.url}/raw/{ZIM}/content/{path_of(titles[0])}").graph(0)
        with pytest.raises(PageFault, match="is not an API"):
            graph.page("x")


def test_without_an_index_kiwix_draws_the_page_itself(titles):
    with KiwixWiki(pages_of_the_wiki()) as wiki:
        wiki.has_index = False
        assert graph_of("kiwix", wiki).random_key(random.Random(0)) == path_of(titles[5])


def test_requests_wait_for_each_other(monkeypatch, titles):
    slept = []
    clock = SimpleNamespace(monotonic=lambda: 100.0, sleep=slept.append)
    monkeypatch.setattr("gem_games.wikigame.http.time", clock)
    with KiwixWiki(pages_of_the_wiki()) as wiki:
        server = PageServer(wiki.url, delay_ms=500, attempts=1, timeout=60)
        for title in titles[:3]:
            server.get(f"/raw/{ZIM}/content/{path_of(title)}")
    assert slept == [0.5, 1.0]


def key(name, title):
    return path_of(title) if name == "kiwix" else title
