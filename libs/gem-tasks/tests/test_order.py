"""The order of rows is a permutation for every number of rows, key, epoch and shard."""

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import ConfigError, DataError
from gem_tasks.order import Cursor, Order, Shard, permute, unpermute

EXAMPLES = 100 if thorough() else 20

KEYS = st.integers(0, 2**64 - 1)
WHOLE = Shard(0, 1)


def walk(order, cursor, steps):
    numbers = []
    for _ in range(steps):
        numbers.append(order.read(cursor).idx)
        cursor = order.after(cursor)
    return numbers


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(st.integers(1, 400), KEYS)
def test_permute_is_a_permutation_and_unpermute_is_its_inverse(count, key):
    images = [permute(position, count, key) for position in range(count)]
    assert sorted(images) == list(range(count))
    assert [unpermute(image, count, key) for image in images] == list(range(count))


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(st.integers(2**20, 2**40), KEYS, st.data())
def test_a_large_range_is_permuted_within_itself(count, key, data):
    position = data.draw(st.integers(0, count - 1))
    image = permute(position, count, key)
    assert 0 <= image < count
    assert unpermute(image, count, key) == position


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3, 5, 8, 17])
def test_every_row_comes_first_about_equally_often_over_many_keys(count):
    rng = random.Random(0)
    firsts = Counter(permute(0, count, rng.getrandbits(64)) for _ in range(400 * count))
    assert set(firsts) == set(range(count))
    assert all(300 < times < 500 for times in firsts.values())


@pytest.mark.slow
def test_neighbours_do_not_stay_together():
    order = [permute(position, 10_000, 7) for position in range(10_000)]
    together = sum(abs(a - b) == 1 for a, b in itertools.pairwise(order))
    assert together < 20  # 2 are expected of a random order


@settings(max_examples=EXAMPLES)
@given(st.integers(1, 60), st.booleans(), KEYS)
def test_each_epoch_shows_every_row_once(count, shuffle, key):
    order = Order(range(count), shuffle=shuffle, shard=WHOLE)
    numbers = walk(order, Cursor(key, 0, 0), 3 * count)
    for epoch in range(3):
        assert sorted(numbers[epoch * count : (epoch + 1) * count]) == list(range(count))


def test_each_epoch_has_its_own_order():
    order = Order(range(50), shuffle=True, shard=WHOLE)
    numbers = walk(order, Cursor(1, 0, 0), 100)
    assert numbers[:50] != numbers[50:]


@settings(max_examples=EXAMPLES)
@given(st.integers(1, 100), st.integers(1, 12), st.booleans(), KEYS)
def test_shards_are_a_partition(count, shards, shuffle, key):
    seen = []
    for index in range(min(shards, count)):
        order = Order(range(count), shuffle=shuffle, shard=Shard(index, shards))
        length = len(range(index, count, shards))
        seen += walk(order, Cursor(key, 0, 0), length)
    assert sorted(seen) == list(range(count))


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(st.integers(1, 60), st.booleans(), KEYS, st.data())
def test_seek_finds_a_row_in_its_epoch(count, shuffle, key, data):
    number = data.draw(st.integers(0, count - 1))
    order = Order(range(count), shuffle=shuffle, shard=WHOLE)
    cursor = order.seek(number, Cursor(key, 3, 0))
    assert order.read(cursor).idx == number
    assert cursor.epoch == 3


def test_without_shuffling_the_order_is_that_of_the_dataset():
    order = Order(range(4), shuffle=False, shard=WHOLE)
    cursor = order.begin(random.Random(0), seeded=False)
    assert walk(order, cursor, 6) == [0, 1, 2, 3, 0, 1]


def test_without_shuffling_a_seed_chooses_where_to_begin():
    order = Order(range(100), shuffle=False, shard=WHOLE)
    begins = {order.begin(random.Random(seed), seeded=True).position for seed in range(20)}
    assert len(begins) > 10


@pytest.mark.parametrize("idx", [-1, 5, 10**30, "2", 1.0, None])
def test_the_error_for_a_missing_row_gives_the_range(idx):
    order = Order(range(5), shuffle=True, shard=WHOLE)
    with pytest.raises(ConfigError, match="from 0 to 4"):
        order.seek(idx, Cursor(1, 0, 0))


def test_a_row_of_another_shard_is_rejected():
    order = Order(range(10), shuffle=True, shard=Shard(1, 3))
    with pytest.raises(ConfigError, match="only rows 1, 4, and so on"):
        order.seek(3, Cursor(1, 0, 0))


def test_an_empty_shard_is_rejected():
    with pytest.raises(DataError, match=r"Shard 5/8 is empty: there are 5 rows"):
        Order(range(5), shuffle=True, shard=Shard(5, 8))


@pytest.mark.parametrize("text", ["", "1", "2/2", "3/2", "0/0", "-1/2", "a/b", "0/2/3", 1])
def test_a_shard_of_another_form_is_rejected(text):
    with pytest.raises(ConfigError, match="shard must be 'i/n'"):
        Shard.parse(text)
