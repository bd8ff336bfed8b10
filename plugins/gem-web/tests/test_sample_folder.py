"""A generated catalogue in WebShop's file format is read as the same products and goals."""

import json

import pytest

from gem_web.nouns import find_nouns
from gem_web.readers import find_source
from gem_web.reward import grade
from gem_web.sample import sample_catalogue, write_folder

PRODUCTS, GOALS = sample_catalogue(products=300, seed=4)
ALL = [goal for split in GOALS.values() for goal in split]
WANTED = {goal.asin for goal in ALL}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("shop") / "data"
    write_folder(path, iter(PRODUCTS), GOALS)
    return path


@pytest.fixture(scope="module")
def source(folder):
    return find_source(folder)


@pytest.fixture(scope="module")
def read(source):
    return list(source.products())


@pytest.mark.slow
def test_products_are_read_as_they_were_written(read):
    assert [one.asin for one in read] == [one.asin for one in PRODUCTS]
    for one, other in zip(read, PRODUCTS, strict=True):
        for name in ("title", "description", "features", "attributes", "category", "query"):
            assert getattr(one, name) == getattr(other, name)
        assert one.product_category == other.product_category
        assert one.image == other.image
        assert dict(other.options).items() <= dict(one.options).items()


def test_prices_are_read_as_they_were_written_unless_nobody_wants_the_product(read):
    unpriced = 0
    for one, other in zip(read, PRODUCTS, strict=True):
        if one.price_tag != other.price_tag:
            assert (one.price, one.price_tag) == (100.0, "$100.0")
            assert one.asin not in WANTED
            unpriced += 1
    assert unpriced
    assert any(" to " in one.price_tag for one in read)


def test_goals_are_read_as_they_were_written(source, read):
    by_asin = {goal.asin: goal for goal in ALL}
    found = [goal for split in source.goals().values() for goal in split]
    assert len(found) == len(ALL)
    products = {product.asin: product for product in read}
    for goal in found:
        written = by_asin[goal.asin]
        assert goal.attributes == written.attributes
        assert goal.options == written.options
        assert grade(products[goal.asin], goal.options, goal, find_nouns("words")).reward == 1.0


@pytest.mark.slow
def test_made_goals_cover_the_same_products(folder, read):
    made = find_source(folder, synthetic=True)
    list(made.products())
    assert {goal.asin for split in made.goals().values() for goal in split} == WANTED


def test_the_files_have_oddities_of_real_ones(folder):
    items = json.loads((folder / "items_shuffle.json").read_text(encoding="utf-8"))
    asins = [item["asin"] for item in items]
    assert len(set(asins)) < len(asins)
    assert "nan" in asins
    assert any(len(asin) > 10 for asin in asins)
    assert any(not item["pricing"] for item in items)
    assert any((item["pricing"] or "").count("$") == 2 for item in items)
    options = [item["customization_options"] for item in items]
    assert any(values is None for own in options for values in own.values())
    assert any(not str(own).isascii() for own in options)
