"""WikiGame with the classes and arguments of gem-llm, offline and against running servers."""

import pytest
from wikis import MEANINGS, ZIM, KiwixWiki, MediaWiki, path_of, sample_pages

import gem
from gem.envs.game_env.wikigame import WikiGameEnv
from gem.envs.game_env.wikigame.backend import KiwixWikiTrawler, MediaWikiTrawler
from gem.envs.game_env.wikigame.dynamics import EideticDynamics, WikiGameDynamics
from gem.envs.game_env.wikigame.errors import (
    BackendFailureException,
    DisambiguationException,
    QueryPageNotFoundException,
)
from gem.envs.game_env.wikigame.rewards import WikiGameReward
from gem.envs.game_env.wikigame.wikipage import WikipediaPage

PAGES = sample_pages()
TITLES = list(PAGES)


@pytest.mark.parametrize(
    ("last", "reward"),
    [("no box", -0.2), (r"\boxed{not a link}", -0.2), (r"\boxed{domestic animal}", 0.0)],
)
def test_both_flags_are_true_at_the_limit_whatever_the_last_action_is(last, reward):
    env = WikiGameEnv(max_turns=2, backend="wordnet")
    env._reset_fixed_page("dog", "animal")
    assert env.step("no box")[1:4] == (-0.2, False, False)
    assert env.step(last)[1:4] == (reward, True, True)


def test_the_game_goes_on_after_its_end_with_a_warning():
    env = WikiGameEnv(max_turns=1)
    env.step("")
    with pytest.warns(UserWarning, match="has ended"):
        assert env.step("")[1:4] == (-0.2, True, True)


def test_pages_can_be_fixed():
    env = WikiGameEnv(backend="wordnet")
    observation, info = env._reset_fixed_page("dog", "animal", seed=1)
    assert "Target page: animal" in observation
    assert info["suffix"].startswith("Current page: dog")


def test_the_pages_of_an_episode_have_the_names_of_gem_llm():
    env = WikiGameEnv(backend="wordnet")
    env._reset_fixed_page("dog", "animal")
    assert isinstance(env.current_page, WikipediaPage)
    assert (env.current_page.title, env.target_page.title) == ("dog", "animal")
    assert env.current_page.content
    assert env.current_page.links == env.labels()
    env.step(r"\boxed{domestic animal}")
    assert env.current_page.page_id == "domestic animal"
    assert isinstance(env.dynamics, WikiGameDynamics)


def test_a_saved_position_of_wikigame_can_be_assigned_later():
    env = WikiGameEnv(backend="wordnet", max_turns=9)
    env._reset_fixed_page("dog", "animal")
    saved = {key: getattr(env, key) for key in ("current_page", "target_page", "turn_count")}
    env._reset_fixed_page("house", "building")
    for key, value in saved.items():
        setattr(env, key, value)
    assert env.get_task_suffix().startswith("Current page: dog\nTarget page: animal")
    env.step(r"\boxed{domestic animal}")
    assert env.step(r"\boxed{animal}")[1:3] == (1.0, True)
    env.current_page = "dog"
    assert env.current_page == saved["current_page"]


def test_a_step_back_is_noted_until_the_next_move(subtests):
    for variant, again in (("oneback", -0.2), ("freenav", -0.05)):
        with subtests.test(variant):
            env = WikiGameEnv(backend="wordnet", variant=variant)
            env._reset_fixed_page("dog", "entity")
            for _ in range(2):
                follow = rf"\boxed{{{env.current_page.links[0]}}}"
                assert (env.step(follow)[1], env.backtracked) == (-0.05, False)
            assert (env.step(r"\boxed{<PREV_PAGE>}")[1], env.backtracked) == (-0.05, True)
            assert (env.step("no box")[1], env.backtracked) == (-0.2, True)
            assert env.step(r"\boxed{<PREV_PAGE>}")[1] == again
            env.step(rf"\boxed{{{env.current_page.links[0]}}}")
            assert not env.backtracked
            env.backtracked = True
            assert env.step(r"\boxed{<PREV_PAGE>}")[1] == again
            env.reset()
            assert not env.backtracked


def test_the_return_from_a_dead_end_is_a_step_back():
    pages = {"A": ("A.", ["B", "D"]), "B": ("B.", ["A", "C"]), "C": ("C.", ["A"]), "D": ("D.", [])}
    # The constructor plays at random: from most pages a target must be near.
    pages |= {chr(n): ("Text.", [chr(n - 1) if n > ord("E") else "A"]) for n in range(69, 91)}
    with MediaWiki(pages) as wiki:
        arguments = {"url": wiki.url, "query_delay_ms": 0}
        env = WikiGameEnv(9, "mw", arguments, variant="oneback")
        env._reset_fixed_page("A", "C")
        assert (env.step(r"\boxed{D}")[1], env.backtracked, env.turn_count) == (-0.1, True, 2)
        assert env.current_page.title == "A"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"backend": "wiki"}, ValueError, "backend must be one of"),
        ({"variant": "eidetik"}, ValueError, "Did you mean 'eidetic'"),
        ({"page_summary_length": (3, "lines")}, AssertionError, "unit must be one of"),
    ],
)
def test_wrong_arguments_raise_what_gem_llm_raises(arguments, error, message):
    with pytest.raises(error, match=message):
        WikiGameEnv(**arguments)


@pytest.mark.slow
def test_other_arguments_are_ignored_with_a_warning():
    with pytest.warns(UserWarning, match="takes no turns"):
        WikiGameEnv(turns=3)


@pytest.mark.slow
def test_an_eidetic_memory_does_not_outlive_its_episode():
    env = gem.make("game:WikiGame-v0-easy", variant="eidetic", seed=3)
    env.step(env.sample_random_action())
    env.reset()
    assert isinstance(env.memory, EideticDynamics)
    assert isinstance(env.memory, WikiGameDynamics)
    assert env.labels() == list(env.page.links)


def test_rewards_and_errors_are_those_of_gem_llm():
    rewards = WikiGameReward
    assert (rewards.success_reward, rewards.fail_reward) == (1.0, 0.0)
    assert (rewards.internal_step_reward, rewards.invalid_action_reward) == (-0.05, -0.2)
    assert rewards.format_error_reward == -0.2
    assert issubclass(QueryPageNotFoundException, BackendFailureException)
    assert issubclass(DisambiguationException, Exception)


@pytest.mark.slow
def test_a_mediawiki_is_read_through_its_trawler_and_asked_again_after_each_reset():
    with MediaWiki(PAGES) as wiki:
        arguments = {"url": wiki.url, "query_delay_ms": 0}
        trawler = MediaWikiTrawler(**arguments)
        page = trawler.get_page(MEANINGS)
        assert isinstance(page, WikipediaPage)
        assert (page.title, page.content) == (TITLES[3], PAGES[TITLES[3]][0])
        assert sorted(page.links) == sorted(PAGES[TITLES[3]][1])
        env = gem.make("game:WikiGame-v0-hard", backend="mw", trawler_kwargs=arguments)
        for _ in range(2):
            asked = len(wiki.requests)
            env._reset_fixed_page(TITLES[0], TITLES[1])
            assert len(wiki.requests) > asked


def test_kiwix_is_read_through_its_trawler():
    with KiwixWiki(PAGES) as wiki:
        arguments = {"url": wiki.url, "zimfile": ZIM, "query_delay_ms": 0}
        page = KiwixWikiTrawler(**arguments).get_page(path_of(TITLES[0]))
        assert page.page_id == path_of(TITLES[0])
        assert page.links == [path_of(title) for title in PAGES[TITLES[0]][1]]
        env = WikiGameEnv(30, "kiwix", {**arguments, "query_use_cache": True}, (2, "sentences"))
        env._reset_fixed_page(path_of(TITLES[0]), path_of(TITLES[-1]))
        link = next(label for label in env.labels() if label != TITLES[-1])
        assert env.step(rf"\boxed{{{link}}}")[1] == -0.05


def test_a_server_that_fails_is_a_backend_failure():
    with MediaWiki(PAGES) as wiki:
        wiki.failures.append(500)
        trawler = MediaWikiTrawler(wiki.url, 0, 1)
        with pytest.raises(BackendFailureException, match="failed 1 times"):
            trawler.get_page(TITLES[0])
