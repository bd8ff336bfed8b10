"""Seeds: what is one, and how children get theirs."""

import enum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from needs import needs
from selection import thorough

from gem_core.errors import ConfigError
from gem_core.seeding import check_seed, child_seed, fresh_seed

EXAMPLES = settings(max_examples=300 if thorough() else 50)
SEEDS = st.integers(0, 2**70)
PATHS = st.lists(st.one_of(st.integers(0, 100), st.text(max_size=5)), min_size=1, max_size=3)


class Level(enum.IntEnum):
    HARD = 3


@pytest.mark.slow
@EXAMPLES
@given(seed=SEEDS, path=PATHS)
def test_a_child_seed_is_a_seed_and_repeats(seed: int, path: list[int | str]) -> None:
    child = child_seed(seed, *path)
    assert 0 <= child < 2**63
    assert check_seed(child) == child == child_seed(seed, *path)


@pytest.mark.slow
@EXAMPLES
@given(st.lists(st.tuples(SEEDS, PATHS.map(tuple)), unique=True, min_size=2, max_size=20))
def test_different_parents_or_paths_have_different_children(
    family: list[tuple[int, tuple[int | str, ...]]],
) -> None:
    children = [child_seed(seed, *path) for seed, path in family]
    assert len(set(children)) == len(family)


def test_neighbouring_parents_share_no_children() -> None:
    children = {child_seed(seed, index) for seed in range(50) for index in range(50)}
    assert len(children) == 2500


def test_a_number_and_its_digits_are_different_paths() -> None:
    assert child_seed(0, 1) != child_seed(0, "1")
    assert child_seed(0, 1, 2) != child_seed(0, 12)
    assert child_seed(0, "a", "b") != child_seed(0, "ab")


def test_integers_of_other_types_are_the_same_seed_and_path() -> None:
    numpy = needs("numpy")
    assert check_seed(numpy.int64(3)) == 3
    assert type(check_seed(numpy.int64(3))) is int
    assert child_seed(numpy.int64(3), numpy.int32(3)) == child_seed(3, 3)
    assert child_seed(Level.HARD, Level.HARD) == child_seed(3, 3)


@pytest.mark.parametrize("seed", [-1, 0.0, 1.5, "7", b"7", True, False, [1], float("nan")])
def test_what_is_no_seed_is_refused_and_quoted(seed: Any) -> None:
    for use in (check_seed, lambda seed: child_seed(seed, 1)):
        with pytest.raises(ConfigError, match="non-negative int or None; got") as caught:
            use(seed)
        assert repr(seed) in str(caught.value)


def test_fresh_seeds_are_seeds_and_differ() -> None:
    seeds = [fresh_seed() for _ in range(20)]
    assert len(set(seeds)) == 20
    assert all(0 <= check_seed(seed) < 2**63 for seed in seeds)
