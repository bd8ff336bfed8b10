"""The similarity of short texts, as thefuzz 0.19 computes it."""

from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_web.similarity import are_similar, token_set_ratio

TEXTS = st.text("abcxyz é-,", max_size=30)
few = settings(max_examples=100 if thorough() else 25)
# What thefuzz.fuzz.token_set_ratio of thefuzz 0.19.0 returns without python-Levenshtein.
KNOWN = [
    ("machine wash", "machine washable", 86),
    ("essential oils", "essential oil", 96),
    ("tea tree", "tea bag", 60),
    ("powder snow", "cool powder snow", 100),
    ("pack of 12", "12 pack", 100),
    ("3x-large", "x-large", 93),
    ("red", "blue", 29),
    ("", "blue", 0),
    ("100% cotton", "cotton", 100),
    ("café", "caf", 100),
]


def test_the_ratio_is_that_of_thefuzz(subtests):
    for one, other, ratio in KNOWN:
        with subtests.test(one=one, other=other, ratio=ratio):
            assert token_set_ratio(one, other) == ratio
            assert are_similar(one, other) == (ratio > 85)


@few
@given(TEXTS, st.randoms(use_true_random=False))
def test_order_case_and_punctuation_do_not_matter(text, random):
    words = text.replace("-", " ").replace(",", " ").split()
    random.shuffle(words)
    shuffled = " , ".join(words).upper()
    assert token_set_ratio(text, shuffled) == (100 if token_set_ratio(text, text) else 0)


@few
@given(TEXTS, TEXTS)
def test_a_ratio_is_from_0_to_100(one, other):
    assert 0 <= token_set_ratio(one, other) <= 100


@few
@given(
    st.lists(st.sampled_from("oak ash elm fir".split()), min_size=1), st.text("abc ", max_size=9)
)
def test_a_text_whose_words_all_occur_in_the_other_is_the_same(words, more):
    assert token_set_ratio(" ".join(words), f"{more} {' '.join(words)}") == 100
