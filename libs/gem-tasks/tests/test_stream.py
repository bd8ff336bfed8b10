"""Streams: rows that are read as they are needed."""

import random

import pytest

from gem_core.errors import ConfigError, DataError, HubError
from gem_core.testing import check_env
from gem_tasks.order import Cursor, Shard
from gem_tasks.stream import Stream, shuffled

NAME = "acme/sums"
pytestmark = pytest.mark.slow


@pytest.fixture
def hub(fake_hub, sums):
    fake_hub.add(NAME, {"train": sums(250)})
    return fake_hub


@pytest.fixture
def env(make_sums, hub):
    return make_sums(dataset_name=NAME, streaming=True)


def firsts(env, episodes, **options):
    return [env.reset(**(options if n == 0 else {}))[0] for n in range(episodes)]


def test_a_dataset_of_the_hub_is_played_without_storing_it(make_sums, hub, tmp_path):
    env = make_sums(dataset_name=NAME, streaming=True, shuffle=False)
    assert firsts(env, 3) == ["0 + 0?", "1 + 1?", "2 + 2?"]
    assert env.step("4").reward == 1.0
    assert (env.idx, env.epoch) == (None, 0)
    assert not list(tmp_path.rglob("*.arrow"))


def test_files_can_be_streamed(datasets, make_sums, hub, sums, tmp_path):
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for number, path in enumerate(paths):
        datasets.Dataset.from_list(sums(10)[5 * number :][:5]).to_parquet(str(path))
    env = make_sums(data=paths, streaming=True, shuffle=False)
    assert firsts(env, 12) == [f"{n % 10} + {n % 10}?" for n in range(12)]
    assert env.epoch == 1


def test_a_dataset_that_is_a_stream_is_taken_as_one(datasets, make_sums, sums):
    stream = datasets.Dataset.from_list(sums(5)).to_iterable_dataset()
    assert firsts(make_sums(data=stream, shuffle=False), 2) == ["0 + 0?", "1 + 1?"]


def test_each_epoch_shows_every_row_once_in_an_order_of_its_own(env):
    epochs = [firsts(env, 250, seed=3), firsts(env, 250)]
    assert [len(set(epoch)) for epoch in epochs] == [250, 250]
    assert epochs[0] != epochs[1]
    assert env.epoch == 1


def test_a_seed_repeats_the_order(env):
    order = firsts(env, 20, seed=3)
    firsts(env, 7)
    assert firsts(env, 20, seed=3) == order
    assert firsts(env, 20, seed=4) != order


def test_forks_and_restored_snapshots_continue_like_the_original(env):
    firsts(env, 240, seed=1)
    snapshot, fork = env.snapshot(), env.fork()
    expected = firsts(env, 30)
    assert firsts(fork, 30) == expected
    env.restore(snapshot)
    assert firsts(env, 30) == expected


def test_shards_are_a_partition_with_any_seeds(make_sums, hub):
    parts = [make_sums(dataset_name=NAME, streaming=True, shard=f"{n}/3") for n in range(3)]
    seen = [
        question
        for n, part in enumerate(parts)
        for question in firsts(part, len(range(n, 250, 3)), seed=n)
    ]
    assert sorted(seen) == sorted(f"{n} + {n}?" for n in range(250))


def test_a_row_of_a_stream_cannot_be_chosen(env):
    with pytest.raises(ConfigError, match="idx=3 needs streaming=False"):
        env.reset(idx=3)


def test_a_stream_has_no_length(env):
    with pytest.raises(TypeError):
        len(env.rows)


def test_environments_of_one_stream_share_its_rows(make_sums, env):
    assert make_sums(dataset_name=NAME, streaming=True).rows is env.rows


def test_a_missing_column_is_an_error_at_construction(make_sums, hub):
    with pytest.raises(DataError, match=r"no column 'answers' .* mean 'answer'\?"):
        make_sums(dataset_name=NAME, streaming=True, columns={"answers": str})


def test_an_empty_stream_is_an_error_at_construction(datasets, make_sums):
    stream = datasets.IterableDataset.from_generator(lambda: iter(()))
    with pytest.raises(DataError, match="There are no rows in data"):
        make_sums(data=stream)


def test_an_empty_shard_is_an_error_and_not_an_endless_search(datasets, make_sums, sums):
    stream = datasets.Dataset.from_list(sums(2)).to_iterable_dataset()
    with pytest.raises(DataError, match="Shard 5/8 is empty"):
        make_sums(data=stream, shard="5/8").reset()


def test_a_wrong_value_is_named_with_its_row_when_it_is_read(datasets, make_sums, sums):
    rows = sums(250)
    rows[177]["answer"] = None
    stream = datasets.Dataset.from_list(rows).to_iterable_dataset()
    env = make_sums(data=stream, shuffle=False)
    with pytest.raises(DataError, match=r"Row 177 of data, column 'answer': .* got None"):
        firsts(env, 250)


def test_images_stay_as_they_are_stored(make_sums, hub):
    from PIL import Image

    rows = [{"problem": "?", "image": Image.new("RGB", (2, 2), (n, 0, 0))} for n in range(3)]
    hub.add("acme/images", {"train": rows})
    columns = {"problem": str, "image": dict}
    env = make_sums(dataset_name="acme/images", streaming=True, columns=columns)
    env.reset()
    assert env.row["image"]["bytes"].startswith(b"\x89PNG")


def test_the_error_of_a_broken_stream_says_how_far_it_came(datasets, make_sums, sums):
    def rows():
        yield from sums(120)
        raise OSError("cut off")

    env = make_sums(data=datasets.IterableDataset.from_generator(rows), shuffle=False)
    with pytest.raises(DataError, match="data could not be read beyond row 100: OSError: cut"):
        firsts(env, 150)


def test_a_gated_dataset_cannot_be_streamed(make_sums, hub):
    hub.break_(NAME, "gated")
    with pytest.raises(HubError, match="gated"):
        make_sums(dataset_name=NAME, streaming=True)


def test_an_environment_of_a_stream_passes_the_conformance_kit(spec_of, hub, sums):
    hub.add("acme/few", {"train": sums(30)})
    spec = spec_of(dataset_name="acme/few", streaming=True)
    check_env(spec, episodes=3).raise_for_findings()


def test_the_shuffle_buffer_keeps_every_row_and_moves_none_forward_beyond_its_size():
    order = list(shuffled(range(1000), random.Random(0), 50))
    assert sorted(order) == list(range(1000))
    assert all(place > number - 50 for place, number in enumerate(order))
    assert order != list(range(1000))


def test_a_place_in_a_stream_is_reached_from_any_other():
    stream = Stream([{"n": n} for n in range(10)], shuffle=True, shard=Shard(0, 1))
    cursors = [Cursor(7, epoch, position) for epoch in range(2) for position in range(10)]
    in_order = [stream.read(cursor).row for cursor in cursors]
    mixed = random.Random(0).sample(range(20), 20)
    assert [stream.read(cursors[at]).row for at in mixed] == [in_order[at] for at in mixed]
