"""WikiGame on servers of kiwix and MediaWiki, and what happens when they fail."""

import random
from types import SimpleNamespace

import pytest
from wikis import MEANINGS, ZIM, KiwixWiki, MediaWiki, path_of, sample_pages

from gem_core import make
from gem_core.agent import RandomAgent
from gem_games.wikigame.errors import PageFault, PageNotFoundError
from gem_games.wikigame.http import Server
from gem_games.wikigame.kiwix import Kiwix
from gem_games.wikigame.mediawiki import MediaWiki as MediaWikiSource
from gem_rollout import collect

PAGES = sample_pages()
TITLES = list(PAGES)
WIKIS = {
    "kiwix": (KiwixWiki, Kiwix, {"zimfile": ZIM}),
    "mw": (MediaWiki, MediaWikiSource, {}),
}
QUICK = {"delay_ms": 0, "attempts": 2, "timeout": 5.0}
both = pytest.mark.parametrize("name", WIKIS)


@pytest.fixture
def wiki(name):
    """A running server."""
    with WIKIS[name][0](PAGES) as server:
        yield server


def graph_of(name, wiki, **options):
    return WIKIS[name][1](data=wiki.url, **{**QUICK, **WIKIS[name][2], **options}).graph(0)


def env_of(name, wiki, **options):
    options = {**QUICK, **WIKIS[name][2], **options}
    return make("game:WikiGame-v0-easy", graph=name, data=wiki.url, graph_options=options)


@both
def test_a_page_has_its_text_and_all_its_links(name, wiki):
    graph = graph_of(name, wiki)
    for title, (text, links) in PAGES.items():
        page = graph.page(title)
        assert (page.title, page.text) == (title, text)
        assert sorted(page.links) == sorted(links)


def test_all_batches_of_links_are_read():
    with MediaWiki(PAGES) as wiki:
        title = max(TITLES, key=lambda one: len(PAGES[one][1]))
        assert len(PAGES[title][1]) > 3 * wiki.batch
        assert len(graph_of("mw", wiki).page(title).links) == len(PAGES[title][1])
        assert len(wiki.requests) == -(-len(PAGES[title][1]) // wiki.batch)


@both
def test_a_redirect_leads_to_the_page_itself(name, wiki):
    assert graph_of(name, wiki).page("The Old Name").title == TITLES[0]


@both
def test_a_page_of_meanings_stands_for_the_first_one_that_exists(name, wiki):
    assert graph_of(name, wiki).page(MEANINGS).title == TITLES[3]


@both
def test_a_missing_page_stands_for_the_first_hit_of_a_search(name, wiki):
    word = TITLES[10].split()[-1]
    wanted = next(title for title in TITLES if word.lower() in title.lower())
    assert graph_of(name, wiki).page(f"{word} xyz").title == wanted


def test_a_missing_page_without_a_hit_is_a_fault():
    with MediaWiki(PAGES) as wiki, pytest.raises(PageNotFoundError, match="has no page 'xyz'"):
        graph_of("mw", wiki).page("xyz")


@both
def test_every_page_is_asked_for_once(name, wiki):
    graph = graph_of(name, wiki)
    graph.page(TITLES[0])
    asked = len(wiki.requests)
    graph.page(TITLES[0])
    assert len(wiki.requests) == asked
    graph.forget()
    graph.page(TITLES[0])
    assert len(wiki.requests) == 2 * asked


@both
def test_only_the_last_pages_are_kept(name, wiki):
    graph = graph_of(name, wiki, kept=3)
    for title in TITLES[:10]:
        graph.page(title)
    assert len(graph._pages) == 3


@both
@pytest.mark.parametrize("failure", [500, 503, "drop"])
def test_a_request_that_fails_once_is_repeated(name, wiki, failure):
    wiki.failures.append(failure)
    assert graph_of(name, wiki).page(TITLES[0]).title == TITLES[0]


@both
def test_a_server_that_does_not_answer_in_time_is_a_fault(name, wiki):
    wiki.failures.extend(["hang"] * 2)
    graph = graph_of(name, wiki, timeout=0.1)
    with pytest.raises(PageFault, match=r"failed 2 times, .*time(d )?out"):
        graph.page(TITLES[0])


@both
def test_a_fault_in_a_step_leaves_the_episode_as_it_was(name, wiki):
    env = env_of(name, wiki, attempts=1)
    env.reset(seed=0, start=key(name, TITLES[0]), target=key(name, TITLES[20]))
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
    with WIKIS[name][0](PAGES) as wiki:
        pass
    with pytest.raises(PageFault, match="Check that the server runs"):
        env_of(name, wiki, attempts=1).reset(seed=0)


def test_something_that_is_not_an_api_is_a_fault():
    with KiwixWiki(PAGES) as wiki:
        graph = MediaWikiSource(data=f"{wiki.url}/raw/{ZIM}/content/{path_of(TITLES[0])}").graph(0)
        with pytest.raises(PageFault, match="is not an API"):
            graph.page("x")


def test_without_an_index_kiwix_draws_the_page_itself():
    with KiwixWiki(PAGES) as wiki:
        wiki.has_index = False
        assert graph_of("kiwix", wiki).random_key(random.Random(0)) == path_of(TITLES[5])


def test_requests_wait_for_each_other(monkeypatch):
    slept = []
    clock = SimpleNamespace(monotonic=lambda: 100.0, sleep=slept.append)
    monkeypatch.setattr("gem_games.wikigame.http.time", clock)
    with KiwixWiki(PAGES) as wiki:
        server = Server(wiki.url, delay_ms=500, attempts=1, timeout=5)
        for title in TITLES[:3]:
            server.get(f"/raw/{ZIM}/content/{path_of(title)}")
    assert slept == [0.5, 0.5]


def key(name, title):
    return path_of(title) if name == "kiwix" else title
