"""The generated shop: its goals can be met, its products are told apart, its seed decides all."""

import hashlib
import os
import re
import subprocess
import sys
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import ConfigError
from gem_web.catalogue import Catalogue
from gem_web.nouns import find_nouns
from gem_web.reward import grade, option_hits
from gem_web.sample import sample_catalogue
from gem_web.sample.catalogue import sample_families

NOUNS = find_nouns("words")
PRODUCTS, GOALS = sample_catalogue()
ASINS = {product.asin for product in PRODUCTS}
ALL = [goal for split in GOALS.values() for goal in split]
seeds = st.integers(0, 10**9)
shops = st.fixed_dictionaries({"products": st.integers(25, 120), "seed": seeds})
few = settings(max_examples=10 if thorough() else 4)


def best(product, goal):
    """Return the grade of a product with the options that suit a goal best."""
    chosen = [
        next((value for value in values if option_hits([value], goal.options)), values[0])
        for values in product.options.values()
    ]
    return grade(product, chosen, goal, NOUNS)


def misses(product, goal):
    """Return how many of the wanted attributes, options and limit a product cannot meet."""
    got = best(product, goal)
    wanted = len(goal.attributes) + len(goal.options) + 1
    return wanted - got.attributes - got.options - got.price


def same_kind(products, goal):
    return [product for product in products if product.query == goal.query]


def families(seed, count=12):
    """Return the products of families, and each of their goals with its family."""
    drawn = [family for _, family in islice(sample_families(seed=seed), count)]
    shown = [[product for product, _ in family] for family in drawn]
    goals = [[goal for _, goal in family if goal] for family in drawn]
    return [(goal, own) for own, those in zip(shown, goals, strict=True) for goal in those]


def test_the_shop_has_500_goals_and_a_fifth_of_them_are_for_tests():
    assert len(PRODUCTS) == 1000
    assert len(ALL) >= 500
    assert 0.15 <= len(GOALS["test"]) / len(ALL) <= 0.25


@pytest.mark.slow
@few
@given(shops)
def test_every_goal_is_met_by_its_product(shop):
    products, goals = sample_catalogue(**shop)
    by_asin = {product.asin: product for product in products}
    for goal in (*goals["train"], *goals["test"]):
        product = by_asin[goal.asin]
        assert best(product, goal).reward == 1.0
        assert (goal.name, goal.query) == (product.title, product.query)
        assert goal.product_category == product.product_category
        assert product.price < goal.price_upper


@pytest.mark.slow
@few
@given(seeds)
def test_every_goal_has_a_distractor_that_misses_exactly_one_thing(seed):
    for goal, products in families(seed):
        assert 1 in {misses(product, goal) for product in same_kind(products, goal)}


@pytest.mark.slow
def test_distractors_miss_an_attribute_an_option_or_the_price():
    counts = {"attributes": 0, "options": 0, "price": 0}
    wished = families(0, 60)
    for goal, products in wished:
        for got in (best(product, goal) for product in products if misses(product, goal) == 1):
            counts["attributes"] += got.attributes < len(goal.attributes)
            counts["options"] += got.options < len(goal.options)
            counts["price"] += not got.price
    assert min(counts.values()) >= len(wished) // 3


@few
@given(seeds)
def test_a_range_of_prices_is_on_one_side_of_the_limit(seed):
    for goal, products in families(seed):
        for product in products:
            low = float(product.price_tag.split(" to ")[0].lstrip("$"))
            assert low <= product.price
            assert (low <= goal.price_upper) == (product.price <= goal.price_upper)


@pytest.mark.slow
def test_the_title_of_a_product_finds_it():
    shop = Catalogue.of(PRODUCTS, GOALS)
    for number, product in enumerate(PRODUCTS):
        assert shop.search(product.title)[0] == number


@pytest.mark.slow
def test_buying_the_first_hit_is_rarely_what_was_wanted():
    shop = Catalogue.of(PRODUCTS, GOALS)
    firsts = [(PRODUCTS[shop.search(goal.instruction)[0]], goal) for goal in ALL]
    rewards = [grade(product, [], goal, NOUNS).reward for product, goal in firsts]
    assert sum(rewards) / len(rewards) < 0.65
    assert sum(reward == 1 for reward in rewards) < len(rewards) / 6


@pytest.mark.slow
def test_another_kind_of_product_is_not_paid():
    firsts = {product.query: product for product in PRODUCTS}
    assert len(firsts) >= 30
    for goal in ALL[::25]:
        for product in firsts.values():
            expected = 1.0 if product.query == goal.query else 0.0
            assert grade(product, [], goal, NOUNS).type == expected


def test_products_of_a_kind_share_a_noun_of_their_titles():
    by_query = {}
    for product in PRODUCTS:
        by_query.setdefault(product.query, []).append(NOUNS(product.title))
    for titles in by_query.values():
        assert all(len(one & other) / len(one) >= 0.1 for one in titles for other in titles)


def test_splits_share_no_product():
    train, test = ({goal.asin for goal in GOALS[split]} for split in ("train", "test"))
    assert not train & test
    assert len(train) + len(test) == len(ALL)


def test_asins_and_titles_are_unique():
    assert len(ASINS) == len({product.title for product in PRODUCTS}) == len(PRODUCTS)
    assert all(re.fullmatch(r"[A-Z0-9]{10}", asin) for asin in ASINS)


@pytest.mark.slow
@few
@given(shops)
def test_an_instruction_says_all_that_a_goal_asks_for_and_not_which_product(shop):
    products, goals = sample_catalogue(**shop)
    titles = [product.title.lower() for product in products]
    for goal in (*goals["train"], *goals["test"]):
        said = goal.instruction.lower()
        assert all(wanted in said for wanted in (*goal.attributes, *goal.options))
        assert re.search(rf"(?<!\d){int(goal.price_upper)}(?!\d)", said)
        assert goal.asin.lower() not in said
        assert not any(title in said for title in titles)
        assert not set(goal.name.lower().split()[:2]) & set(re.findall(r"\w+", said))


def test_instructions_are_worded_in_many_ways():
    said = [goal.instruction.lower() for goal in ALL]
    assert len({" ".join(text.split()[:2]) for text in said}) >= 20
    assert len(set(said)) > 0.98 * len(said)


def test_goals_ask_for_one_to_three_attributes_and_up_to_two_options():
    assert {len(goal.attributes) for goal in ALL} == {1, 2, 3}
    assert {len(goal.options) for goal in ALL} == {0, 1, 2}


@pytest.mark.slow
@few
@given(shops)
def test_no_two_values_of_a_product_count_as_the_same(shop):
    for product in sample_catalogue(**shop)[0]:
        values = [value for own in product.options.values() for value in own]
        assert all(option_hits([value], values) == 1 for value in values)
        assert all(value == value.lower() for value in values)


def test_the_page_of_a_product_says_each_of_its_attributes():
    """Either by name, or in words that only products with the attribute have."""
    owners = {}
    for product in PRODUCTS:
        for said in sentences(product):
            owners.setdefault((product.query, said), []).append(set(product.attributes))
    told = {key: set.intersection(*those) for key, those in owners.items()}
    for product in PRODUCTS:
        read = set().union(*(told[product.query, said] for said in sentences(product)))
        assert set(product.attributes) <= read


def sentences(product):
    return [*product.features, *product.description.rstrip(".").split(". ")]


def test_pages_look_like_pages_of_a_shop():
    for product in PRODUCTS:
        assert 3 <= len(product.features) <= 6
        assert product.description.endswith(".")
        assert product.attributes
        assert product.options
        assert product.price_tag.endswith(f"${product.price}")
    assert any(" to " in product.price_tag for product in PRODUCTS)
    assert {bool(product.reviews) for product in PRODUCTS} == {True, False}


def digest(products, seed):
    shown, goals = sample_catalogue(products=products, seed=seed)
    texts = [repr(one) for one in (*shown, *goals["train"], *goals["test"])]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


@pytest.mark.slow
def test_a_catalogue_is_the_same_in_every_process():
    program = (
        "import hashlib; from gem_web.sample import sample_catalogue\n"
        "shown, goals = sample_catalogue(products=200, seed=3)\n"
        "texts = [repr(one) for one in (*shown, *goals['train'], *goals['test'])]\n"
        "print(hashlib.sha256('\\n'.join(texts).encode()).hexdigest())"
    )
    for hash_seed in ("1", "2"):
        there = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert there.stdout.strip() == digest(200, 3)


def test_a_larger_catalogue_begins_with_the_smaller_one_and_another_seed_is_another_shop():
    small, _ = sample_catalogue(products=50, seed=1)
    large, _ = sample_catalogue(products=90, seed=1)
    assert [repr(one) for one in large[:50]] == [repr(one) for one in small]
    assert not {one.asin for one in small} & ASINS


@pytest.mark.parametrize("products", [0, 24, 10**8])
def test_a_number_of_products_out_of_range_is_refused(products):
    with pytest.raises(ConfigError, match="25 to 1,071,875"):
        sample_catalogue(products=products)
