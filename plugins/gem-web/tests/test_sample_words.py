"""The vocabulary of the generated shop: no two of its words mean the same to the grader.

These tests are about all that can be drawn, so they hold for a catalogue of any size.
"""

import itertools
import re

import pytest

from gem_web.reward import colour_of
from gem_web.sample.draw import _SYLLABLES, _TAILS, BRANDS, Draw, asin_of, brand_of, model_of
from gem_web.sample.vocabulary import kinds
from gem_web.similarity import token_set_ratio

KINDS = kinds()
LIMIT = 85
"""Above this ratio the grader takes two texts for the same."""
STOP_WORDS = {"for", "with"}


def words(*texts):
    return {word for text in texts for word in re.findall(r"[^\W_]+", text.lower())} - STOP_WORDS


def qualities(kind):
    return [quality for facet in kind.facets for quality in facet.qualities]


def test_no_two_kinds_share_a_word_of_their_titles():
    titles = [words(kind.nouns[0], *kind.tags) for kind in KINDS]
    brands = [
        {brand_of(number, one).lower() for one in range(BRANDS)} for number in range(len(KINDS))
    ]
    both = [one | other for one, other in zip(titles, brands, strict=True)]
    assert len(set.union(*both)) == sum(map(len, both))


def test_no_two_kinds_share_two_categories():
    for one, other in itertools.combinations(KINDS, 2):
        assert len(set(one.path) & set(other.path)) < 2


def test_a_shop_has_at_least_30_kinds_in_several_departments():
    assert len({kind.nouns[0] for kind in KINDS}) == len(KINDS) >= 30
    assert len({kind.path[0] for kind in KINDS}) >= 9


@pytest.mark.slow
def test_no_two_attributes_are_similar():
    for kind in KINDS:
        names = [quality.name for quality in qualities(kind)]
        for one, other in itertools.combinations(names, 2):
            assert token_set_ratio(one, other) <= LIMIT


def test_a_page_names_no_attribute_that_its_product_lacks():
    for kind in KINDS:
        common = (*kind.about, *kind.extras, *kind.tags, kind.nouns[0])
        for quality in qualities(kind):
            others = [one.sentences for one in qualities(kind) if one is not quality]
            for said in itertools.chain(common, *others):
                assert quality.name not in said.lower()


def test_a_page_can_name_each_attribute_literally():
    for kind in KINDS:
        for quality in qualities(kind):
            assert any(quality.name in said.lower() for said in quality.sentences)


def test_no_sentence_is_said_of_two_attributes():
    for kind in KINDS:
        said = [one for quality in qualities(kind) for one in quality.sentences]
        assert len(set(said)) == len(said)


@pytest.mark.slow
def test_no_two_values_of_a_product_count_as_the_same():
    for kind in KINDS:
        groups = [group for choice in kind.choices for group in choice.values]
        for one, other in itertools.combinations(groups, 2):
            for value, another in itertools.product(one, other):
                assert token_set_ratio(colour_of(value), colour_of(another)) <= LIMIT


def test_a_kind_offers_enough_to_differ_in():
    for kind in KINDS:
        assert len(kind.facets) >= 3
        assert all(len(choice.values) >= 3 for choice in kind.choices)
        assert len(kind.choices) <= 2
        assert len(kind.extras) == 3


def test_no_brand_and_no_model_contains_an_attribute():
    """Titles are read for attributes, too."""
    for number, kind in enumerate(KINDS):
        brands = [brand_of(number, one).lower() for one in range(BRANDS)]
        for quality in qualities(kind):
            assert not any(quality.name in brand for brand in brands)
            assert not may_be_in_a_model(quality.name)


def may_be_in_a_model(word):
    """Return whether a model, which is three syllables and a tail, may contain a word."""
    letters = [{one[0] for one in _SYLLABLES}, {one[1] for one in _SYLLABLES}]
    for start in range(10 - len(word)):
        cut = max(0, 6 - start)
        head, end, skipped = word[:cut], word[cut:], max(0, start - 6)
        is_head = all(letter in letters[place % 2] for place, letter in enumerate(head, start))
        if is_head and any(tail[skipped:].startswith(end) for tail in _TAILS):
            return True
    return False


def test_a_word_that_models_contain_is_found():
    model = model_of(12_345, 0).lower()
    assert all(may_be_in_a_model(model[cut : cut + 4]) for cut in range(6))
    assert not may_be_in_a_model("cotton")


@pytest.mark.slow
def test_names_of_products_are_unique():
    numbers = range(0, 400_000, 7)
    assert len({model_of(number, 5) for number in numbers}) == len(numbers)
    assert len({asin_of(number, 5) for number in numbers}) == len(numbers)


def test_draws_are_the_same_on_every_version_of_python():
    draw = Draw("words", 1)
    assert [draw.below(100) for _ in range(4)] == [91, 71, 37, 38]


def test_a_kind_says_nothing_twice():
    for kind in KINDS:
        said = (*kind.about, *kind.extras)
        assert len(set(said)) == len(said)
