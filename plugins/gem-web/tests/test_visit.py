"""Where searches and clicks lead."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough
from small_shop import do, small_env, small_shop

FIRST = "B000000000"


def start(**options):
    env = small_env(**options)
    env.reset(seed=0)
    return env


def at(env):
    visit = env.visit
    return visit.place, visit.number, visit.asin


def test_actions_lead_to_pages(subtests):
    for actions, place in [
        ([], ("search", 1, "")),
        (["search[shirt]"], ("results", 1, "")),
        (["search[shirt]", "click[next >]"], ("results", 2, "")),
        (["search[shirt]", "click[next >]", "click[< prev]"], ("results", 1, "")),
        (["search[shirt]", "click[b000000000]"], ("item", 1, FIRST)),
        (["search[shirt]", "click[b000000000]", "click[< prev]"], ("results", 1, "")),
        (["search[shirt]", "click[b000000000]", "click[features]"], ("sub", 1, FIRST)),
        (
            ["search[shirt]", "click[b000000000]", "click[features]", "click[< prev]"],
            ("item", 1, FIRST),
        ),
        (["search[shirt]", "click[b000000000]", "click[back to search]"], ("search", 1, "")),
        (["search[shirt]", "click[b000000000]", "search[mug]"], ("results", 1, "")),
        (["search[shirt]", "click[b000000000]", "click[buy now]"], ("done", 1, FIRST)),
        (["search[SHIRT]", "click[B000000000]"], ("item", 1, FIRST)),
    ]:
        with subtests.test(actions=actions):
            env = start()
            for action in actions:
                do(env, action)
            assert at(env) == place


def test_a_page_beyond_the_last_result_is_empty():
    env = start()
    step = do(env, "search[mug]", "click[next >]")
    assert "Page 2 (Total results: 1)" in step.observation
    assert "B0000000MU" not in step.observation


def test_options_are_kept_on_sub_pages_and_forgotten_on_results():
    env = start()
    do(env, "search[shirt]", "click[b000000000]", "click[red]", "click[small]", "click[features]")
    assert env.visit.options == {"color": "red", "size": "small"}
    do(env, "click[< prev]", "click[sky blue]")
    assert env.visit.options == {"color": "sky blue", "size": "small"}
    do(env, "click[< prev]")
    assert env.visit.options == {}


def test_opened_products_are_marked_until_the_search_page():
    env = start(observation_mode="text_rich")
    step = do(env, "search[shirt]", "click[b000000000]", "click[< prev]")
    assert "[clicked button] B000000000 [clicked button_]" in step.observation
    step = do(env, "click[back to search]", "search[shirt]")
    assert "[button] B000000000 [button_]" in step.observation


def test_sub_pages_show_the_product():
    env = start(show_attrs=True)
    do(env, "search[shirt]", "click[b000000000]")
    for button, text in (
        ("description", "A shirt for every day."),
        ("features", "machine wash [SEP] soft cotton"),
        ("reviews", '"Good" [SEP] 4 [SEP] It fits.'),
        ("attributes", "machine washable [SEP] long sleeve [SEP] fashion"),
    ):
        assert text in do(env, f"click[{button}]").observation
        do(env, "click[< prev]")


@pytest.mark.slow
@settings(max_examples=30 if thorough() else 10)
@given(st.integers(0, 2**32))
def test_random_visits_never_leave_the_shop_and_continue_after_a_snapshot(seed):
    env = small_env(max_turns=40)
    env.reset(seed=seed)
    for turn in range(40):
        action = env.sample_random_action()
        twin = env.fork() if turn % 10 == 9 else None
        step = env.step(action)
        if twin is not None:
            assert twin.step(action) == step
        assert step.terminated == (env.visit.place == "done")
        if step.terminated:
            return
        assert at(env)[0] in {"search", "results", "item", "sub"}


def test_a_search_finds_at_most_50_products_the_best_first():
    shop = small_shop()
    hits = shop.search("orlo shirt 4")
    assert shop.products[hits[0]].title == "Orlo Shirt 4"
    assert len(hits) == len(set(hits)) <= 50
    assert shop.search("nothing like this") == ()


@pytest.mark.parametrize("words", ["<r>", "<a> machine washable", "<c> fashion", "<q> shirt"])
def test_the_special_queries_of_webshop_are_plain_words(words):
    hits = small_shop().search(words)
    plain = words.replace("<", " ").replace(">", " ")
    assert hits == small_shop().search(plain)
