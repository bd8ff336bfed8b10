"""The graphs of WikiGame: worlds, WordNet, folders, ZIM files; each of them in every variant."""

import functools
import importlib.util
import random
import re
import sys
from collections import deque
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough
from wikis import (
    MEANINGS,
    ZIM,
    KiwixWiki,
    MediaWiki,
    sample_pages,
    write_folder,
    write_zim,
)

from gem_core import make, make_agent
from gem_core.errors import DataError
from gem_games.wikigame.folder import Folder
from gem_games.wikigame.graph import PageGraph
from gem_games.wikigame.pages import BACK
from gem_games.wikigame.sources import open_source
from gem_games.wikigame.variants import VARIANTS
from gem_games.wikigame.wordnet import WordNet
from gem_games.wikigame.world import Worlds, make_world
from gem_games.wikigame.world_entities import RELATIONS
from gem_games.wikigame.world_facts import draw_facts
from gem_games.wikigame.zim import Zim

pages_of_the_wiki = functools.cache(sample_pages)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The graphs by name, as options of the environment; servers run while the tests do."""
    pages, quick = pages_of_the_wiki(), {"delay_ms": 0}
    folder = write_folder(tmp_path_factory.mktemp("wiki") / "wikispeedia", pages)
    zim = write_zim(folder.parent / "wiki.zim", pages)
    with KiwixWiki(pages) as kiwix, MediaWiki(pages) as wiki:
        yield {
            "world": {"graph_options": {"pages": 100, "worlds": 2}},
            "wordnet": {},
            "folder": {"data": str(folder)},
            "zim": {"data": str(zim)},
            "kiwix": {"data": kiwix.url, "graph_options": {**quick, "zimfile": ZIM}},
            "mw": {"data": wiki.url, "graph_options": quick},
        }


every_graph = pytest.mark.parametrize("graph", ["world", "wordnet", "folder", "zim", "kiwix", "mw"])


@pytest.mark.slow
@every_graph
def test_the_oracle_wins_in_every_variant_on_every_graph(subtests, sources, graph):
    for variant in VARIANTS:
        with subtests.test(variant):
            env = make("game:WikiGame-v0-hard", graph=graph, variant=variant, **sources[graph])
            oracle = make_agent("oracle")
            for seed in range(3 if thorough() else 2):
                observation, info = env.reset(seed=seed)
                oracle.reset(env)
                rewards = []
                while not rewards or rewards[-1] == -0.05:
                    step = env.step(oracle.act(observation, info))
                    observation, info = step.observation, step.info
                    rewards.append(step.reward)
                assert rewards[-1] == 1.0
                assert len(rewards) <= 4


@pytest.mark.slow
@every_graph
def test_a_seed_repeats_an_episode_and_a_fork_continues_it(subtests, sources, graph):
    def play(env):
        step, steps = None, []
        while step is None or not (step.terminated or step.truncated):
            back = len(steps) % 4 == 3
            step = env.step(f"\\boxed{{{BACK}}}" if back else env.sample_random_action())
            steps.append(step)
        return steps

    for variant in VARIANTS:
        with subtests.test(variant):
            one, other = (
                make("game:WikiGame-v0-hard", graph=graph, variant=variant, **sources[graph])
                for _ in range(2)
            )
            for seed in range(2):
                assert one.reset(seed=seed) == other.reset(seed=seed)
                one.step(one.sample_random_action())
                other.step(other.sample_random_action())
                if not one._ended:
                    fork = one.fork()
                    assert play(one) == play(other) == play(fork)


@every_graph
def test_environments_of_a_process_share_a_graph(sources, graph):
    options = {"graph": graph, **sources[graph]}
    one, other = make("game:WikiGame-v0-easy", **options), make("game:WikiGame-v0-hard", **options)
    one.reset(seed=0)
    assert one._source is other._source
    assert other._source.graph(one._number) is one.graph


@pytest.mark.slow
@every_graph
def test_distances_are_known_or_none(sources, graph):
    env = make("game:WikiGame-v0-easy", graph=graph, **sources[graph])
    _, info = env.reset(seed=1)
    assert info["distance"] is None or info["distance"] >= 1
    assert not env.graph.is_whole or 2 <= info["distance"] <= 4


# Worlds


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    pages=st.integers(60, 150),
    degree=st.floats(4, 20),
    dead_ends=st.floats(0, 0.4),
)
@settings(max_examples=15 if thorough() else 6)
def test_both_pages_of_a_fact_state_it_and_link_to_each_other(seed, pages, degree, dead_ends):
    entities = draw_facts(random.Random(seed), "train", pages, degree, dead_ends)
    graph = make_world(entities)
    assert len(graph) == pages
    stated = 0
    for entity in entities:
        page = graph.page(entity.title)
        if entity.is_stub:
            assert not page.links
            continue
        assert page.links
        for name in page.links:
            assert name in page.text
        for name, _, other in entity.facts:
            if not other.is_stub and other is not entity:
                assert entity.title in graph.page(other.title).text, (name, entity, other)
                assert entity.title in graph.page(other.title).links
                stated += 1
    assert stated
    assert sum(entity.is_stub for entity in entities) == pytest.approx(dead_ends * pages, abs=1)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6))
@settings(max_examples=10 if thorough() else 4)
def test_the_dates_of_a_world_do_not_contradict_each_other(seed):
    for entity in draw_facts(random.Random(seed), "test", 200, 14, 0.1):
        for author in entity.of("author"):
            assert author.year < entity.year <= author.figure
        for founder in entity.of("founder"):
            assert founder.year < entity.year <= founder.figure
        for person in entity.of("part"):
            assert person.year < entity.year <= person.figure
        for teacher in entity.of("taught"):
            assert teacher.year < entity.year < teacher.figure
        assert len(entity.of("died")) <= 1
        assert len(entity.of("married") + entity.of("married", is_subject=False)) <= 1


@pytest.mark.slow
def test_no_sentence_of_a_world_has_an_unfilled_place():
    for seed in range(3 if thorough() else 1):
        graph = make_world(draw_facts(random.Random(seed), "train", 300, 20, 0.1))
        texts = [graph.page(label).text for label in graph.labels]
        assert not [text for text in texts if re.search(r"[{}]|None|\b(a|an|the) \1\b|  ", text)]
        assert not [text for text in texts if re.search(r"\ba [aeio]|\ban [^aeiou]", text)]
    assert all(relation.said_back for relation in RELATIONS.values() if relation.back_rank)


@pytest.mark.slow
def test_worlds_for_training_and_testing_have_no_title_in_common():
    worlds = 4 if thorough() else 2
    titles = {
        split: {
            label
            for number in range(worlds)
            for label in Worlds(split=split, pages=1000).graph(number).labels
        }
        for split in ("train", "test")
    }
    assert len(titles["train"]) > 750 * worlds
    assert not titles["train"] & titles["test"]


@pytest.mark.slow
def test_the_number_the_seed_and_the_split_decide_a_world():
    def text(**options):
        number = options.pop("number", 0)
        graph = Worlds(**{"pages": 60, **options}).graph(number)
        return [graph.page(label) for label in graph.labels]

    assert text() == text()
    others = [text(number=1), text(world_seed=1), text(split="test"), text(pages=61)]
    assert not [other for other in others if other == text()]


@pytest.mark.slow
@pytest.mark.parametrize("degree", [8, 12, 20])
def test_a_world_has_about_the_degree_that_was_asked_for(degree):
    graph = Worlds(pages=600, degree=degree, dead_ends=0.1).graph(0)
    links = [len(graph.page(label).links) for label in graph.labels]
    assert links.count(0) == 60
    assert sum(links) / 540 == pytest.approx(degree, rel=0.15)


# WordNet


@pytest.mark.slow
def test_wordnet_has_three_thousand_concepts_with_definitions_and_links_among_them():
    graph = WordNet().graph(0)
    pages = [graph.page(label) for label in graph.labels]
    assert len(pages) == 3000
    assert all(page.text.endswith(".") for page in pages)
    assert sum(bool(page.links) for page in pages) > 2950
    assert "dog" in graph.labels
    assert {"vertebrate", "hair", "milk"} <= set(graph.page("mammal").links)


# Searches


edges = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40)


@pytest.mark.slow
@given(edges=edges, target=st.integers(0, 11))
@settings(max_examples=100 if thorough() else 40)
def test_distances_are_those_of_a_plain_search(edges, target):
    links = [sorted({b for a, b in edges if a == node}) for node in range(12)]
    graph = PageGraph("the test", [str(node) for node in range(12)], links, str)
    steps = graph.steps(graph.page(str(target)))
    for start in range(12):
        far, waiting = {start: 0}, deque([start])
        while waiting:
            node = waiting.popleft()
            for other in links[node]:
                if other not in far:
                    far[other] = far[node] + 1
                    waiting.append(other)
        assert steps(str(start)) == far.get(target)


def test_a_long_chain_has_its_distances():
    size = 700
    graph = PageGraph(
        "the test", [str(n) for n in range(size)], [[(n + 1) % size] for n in range(size)], str
    )
    assert graph.steps(graph.page(str(size - 1)))("0") == size - 1
    start, target = graph.draw(random.Random(0), 600, 600)
    assert (int(target.key) - int(start.key)) % size == 600


# Folders


def test_a_folder_has_the_pages_texts_and_links_of_its_files(tmp_path):
    pages = pages_of_the_wiki()
    graph = Folder(data=str(write_folder(tmp_path / "wiki", pages))).graph(0)
    assert list(graph.labels) == list(pages)
    for title, (text, links) in pages.items():
        page = graph.page(title)
        assert page.text.strip() == text
        assert list(page.links) == links


def test_a_folder_without_texts_can_be_played(tmp_path):
    (tmp_path / "articles.tsv").write_text("A\nB\n%C3%81ed%C3%A1n\n")
    (tmp_path / "links.tsv").write_text(
        "A\tB\nB\t%C3%81ed%C3%A1n\n%C3%81ed%C3%A1n\tA\nA\tA\nA\tB\n"
    )
    env = make("game:WikiGame-v0-easy", graph="folder", data=str(tmp_path))
    env.reset(seed=0, start="A", target="Áedán")
    assert "(no text)" in env.render()
    env.step(r"\boxed{B}")
    assert env.step(r"\boxed{Áedán}").reward == 1.0


@pytest.mark.parametrize(
    ("articles", "links", "message"),
    [
        (None, "", "articles.tsv cannot be read"),
        ("A\nB\n", None, "links.tsv cannot be read"),
        ("# nothing\n", "A\tB\n", "articles.tsv is empty"),
        ("Apple\nB\n", "Aple\tB\n", "no article 'Aple'. Did you mean 'Apple'"),
        ("A\nB\n", "A B\n", "two names with a tab"),
        ("A\nB\n", "A\tB\tC\n", "two names with a tab"),
    ],
)
def test_a_broken_folder_is_refused_with_the_place(tmp_path, articles, links, message):
    for name, text in (("articles.tsv", articles), ("links.tsv", links)):
        if text is not None:
            (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        open_source("folder", str(tmp_path), {})


# ZIM files


@pytest.fixture(scope="module")
def zim(tmp_path_factory):
    """The graph of a ZIM file."""
    path = tmp_path_factory.mktemp("zim") / "wiki.zim"
    return Zim(data=str(write_zim(path, pages_of_the_wiki()))).graph(0)


@pytest.mark.slow
def test_a_zim_file_has_the_pages_texts_and_links_of_the_wiki(zim):
    for title, (text, links) in pages_of_the_wiki().items():
        page = zim.page(title)
        assert (page.title, page.text) == (title, text)
        assert list(page.links) == links


@pytest.mark.slow
def test_a_zim_file_resolves_redirects_meanings_and_missing_names(zim):
    titles = list(pages_of_the_wiki())
    assert zim.page("The Old Name").title == titles[0]
    assert zim.page(MEANINGS).title == titles[3]
    person = next(title for title in titles if " (" not in title and len(title.split()) == 2)
    assert zim.page(person.split()[0][:-1]).title.startswith(person.split()[0][:-1])


def test_random_pages_of_a_zim_file_are_articles_with_links(zim):
    rng = random.Random(0)
    for _ in range(20):
        start, target = zim.draw(rng, 2, 3)
        assert start.links
        assert target.links
        assert start.key != target.key
        assert target.key not in start.links.values()


def test_a_file_that_is_not_a_zim_file_is_refused(tmp_path):
    path = tmp_path / "wiki.zim"
    path.write_text("nothing")
    with pytest.raises(DataError, match=r"wiki\.zim cannot be read as a ZIM file"):
        Zim(data=str(path))


NOUNS = """\
  1 A line of the licence, which begins with spaces.
00000001 03 n 01 entity 0 002 ~ 00000002 n 0000 ~ 00000004 n 0000 | that which exists
00000002 05 n 02 animal 0 beast 0 003 @ 00000001 n 0000 ~ 00000003 n 0000 + 00000009 v 0101 | \
a living entity; "animals move"
00000003 05 n 01 dog 0 001 @ 00000002 n 0000 | one of the animals that live on the bank
00000004 17 n 01 bank 0 001 @ 00000001 n 0000 | sloping land
00000005 14 n 02 bank 1 depository 0 001 @ 00000001 n 0000 | an entity for money
00000006 14 n 01 slut 0 001 @ 00000001 n 0000 | a word that is left out
"""
INDEX = """\
entity n 1 2 @ ~ 1 1 00000001
animal n 1 2 @ ~ 1 1 00000002
dog n 1 1 @ 1 1 00000003
bank n 2 1 @ 2 2 00000004 00000005
"""
COUNTS = "bank%1:17:00:: 1 20\nbank%1:14:01:: 2 5\ndog%1:05:00:: 1 9\nlive%2:42:00:: 1 99\n"


def test_the_extract_of_wordnet_has_definitions_and_links_between_concepts(tmp_path):
    for name, text in (("data.noun", NOUNS), ("index.noun", INDEX), ("cntlist.rev", COUNTS)):
        (tmp_path / name).write_text(text, encoding="latin-1")
    path = Path(__file__).parents[1] / "scripts" / "make_wordnet.py"
    spec = importlib.util.spec_from_file_location("make_wordnet", path)
    script = importlib.util.module_from_spec(spec)
    sys.modules["make_wordnet"] = script  # dataclasses look it up
    try:
        spec.loader.exec_module(script)
        rows = script.make_rows(tmp_path)
    finally:
        del sys.modules["make_wordnet"]
    titles = [title for title, _, _ in rows]
    assert titles == ["entity", "animal", "dog", "bank", "bank (depository)"]
    links = {title: [titles[number] for number in found] for title, _, found in rows}
    assert links["animal"] == ["entity", "dog"]
    assert links["dog"] == ["animal", "bank"]
    assert links["bank (depository)"] == ["entity"]
    assert rows[1][1] == "A living entity. Also called beast."
