"""What a purchase is paid."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import ConfigError
from gem_web.nouns import find_nouns
from gem_web.product import Goal, Product
from gem_web.reward import COLOURS, colour_of, grade, option_hits

NOUNS = find_nouns("words")
few = settings(max_examples=100 if thorough() else 25)
LAMP = Product(
    asin="B1",
    title="Desk Lamp Oak",
    description="Gives warm light.",
    features=("dimmable bulb",),
    price=30.0,
    attributes=("easy assembly",),
    query="desk lamp",
    product_category="Home › Lighting › Desk",
)
WISH = Goal(
    asin="B1",
    instruction="a desk lamp",
    attributes=("easy assembly", "warm light"),
    options=("navy blue", "large"),
    price_upper=40.0,
    name="Desk Lamp Oak",
    query="desk lamp",
    product_category="Home › Lighting › Desk",
)


def paid(product=LAMP, chosen=("sky blue", "large"), goal=WISH):
    return grade(product, chosen, goal, NOUNS)


def test_everything_right_is_paid_1():
    assert paid().reward == 1.0


@pytest.mark.parametrize(
    ("chosen", "reward"),
    [
        ((), 3 / 5),
        (("large",), 4 / 5),
        (("red", "large"), 4 / 5),
        (("blue", "large"), 1),
        (("navy", "large"), 4 / 5),
    ],
)
def test_each_wanted_option_is_a_share(chosen, reward):
    assert paid(chosen=chosen).reward == pytest.approx(reward)


def test_a_price_above_the_limit_loses_a_share():
    assert paid(goal=replace(WISH, price_upper=29.99)).reward == pytest.approx(4 / 5)
    assert paid(goal=replace(WISH, price_upper=30.0)).reward == 1.0


@pytest.mark.parametrize("limit", [0.0, -1.0])
def test_a_goal_without_a_limit_takes_any_price(limit):
    assert paid(replace(LAMP, price=1e9), goal=replace(WISH, price_upper=limit)).reward == 1.0


@pytest.mark.parametrize(
    ("attribute", "hits"),
    [
        ("assembly easy", 1),  # an attribute of the product, in another order
        ("dimmable", 1),  # in a feature
        ("warm light", 1),  # in the description
        ("oak", 1),  # in the title
        ("battery", 0),
    ],
)
def test_an_attribute_counts_where_the_product_says_it(attribute, hits):
    assert paid(goal=replace(WISH, attributes=(attribute,))).attributes == hits


@pytest.mark.parametrize(
    ("changes", "type_"),
    [
        ({}, 1.0),
        ({"title": "Desk Chair", "query": "chair", "product_category": "Home › Chairs"}, 1.0),
        ({"title": "Floor Lamp Elm Ash Fir", "query": "x", "product_category": "y"}, 1.0),
        ({"title": "Bench", "query": "desk lamp"}, 0.0),  # no noun in common, whatever the query
        ({"title": "Bench", "query": "bench", "product_category": "Garden"}, 0.0),
    ],
)
def test_the_kind_of_product_is_a_factor(changes, type_):
    assert paid(replace(LAMP, **changes)).type == type_


@pytest.mark.parametrize(("shared", "type_"), [(0, 0.0), (1, 0.1), (2, 0.5), (3, 0.5), (5, 1.0)])
def test_titles_with_few_nouns_in_common_are_another_kind(shared, type_):
    wanted = [f"word{letter}" for letter in "abcdefghijklmno"]  # shares of 15
    bought = replace(LAMP, title=" ".join(wanted[:shared]), query="other", product_category="other")
    assert paid(bought, goal=replace(WISH, name=" ".join(wanted))).type == type_


def test_a_wanted_title_without_nouns_scores_a_fifth():
    purchase = paid(goal=replace(WISH, name="with the 3"))
    assert (purchase.title_score, purchase.type) == (0.2, 1.0)


def test_two_shared_categories_are_the_same_kind():
    other = replace(LAMP, query="x", product_category="Lighting › Home › Floor")
    assert paid(other).category_match
    assert not paid(replace(other, product_category="Home › Home › Floor")).category_match


@few
@given(st.sampled_from(COLOURS), st.text("xyz ", max_size=5), st.text("xyz ", max_size=5))
def test_a_colour_is_found_inside_other_words(colour, before, after):
    assert colour_of(f"{before}{colour}{after}") in {one for one in COLOURS if one in colour}


def test_a_value_without_a_colour_stands_for_itself():
    assert colour_of("pack of 12") == "pack of 12"
    assert option_hits(["12 pack of"], ["pack of 12"]) == 1


@pytest.mark.slow
@few
@given(
    st.lists(st.sampled_from(["red", "navy", "large", "pack of 2"]), max_size=4),
    st.lists(st.sampled_from(["red", "blue", "small"]), max_size=4),
    st.sampled_from(["Desk Lamp", "Oak Bench", ""]),
    st.floats(0, 100),
)
def test_a_reward_is_from_0_to_1_and_the_sum_of_its_parts(chosen, wanted, title, limit):
    goal = replace(WISH, options=tuple(wanted), price_upper=limit)
    purchase = paid(replace(LAMP, title=title), chosen, goal)
    parts = len(goal.attributes) + len(wanted) + 1
    hits = purchase.attributes + purchase.options + purchase.price
    assert 0 <= purchase.reward <= 1
    assert purchase.reward == pytest.approx(purchase.type * hits / parts)


def test_an_unknown_noun_finder_is_named():
    with pytest.raises(ConfigError, match="Did you mean 'words'"):
        find_nouns("word")


def test_the_finder_of_words_keeps_nouns():
    assert NOUNS("Breathable Men's Running Shoes with 3 Soft Soles") == {
        "men's",
        "running",
        "shoes",
        "soles",
    }
