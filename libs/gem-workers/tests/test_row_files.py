"""Rows in memory reach the workers of this machine in one file, with the values that they have."""

import pickle
import tempfile
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gem_core
from gem_core import BaseEnv, EnvSpec, Step
from gem_workers import WorkerPool
from gem_workers.row_files import FiledRows, RowFiles

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


class RowsEnv(BaseEnv):
    """Shows the row of its seed, and what holds it."""

    row_arguments: ClassVar[tuple[str, ...]] = ("data",)
    shared: ClassVar[tuple[str, ...]] = ("data",)

    def __init__(self, *, data=(), other=()) -> None:
        super().__init__()
        self.data, self.other = data, other

    def start(self):
        kinds = {"data": type(self.data).__name__, "other": type(self.other).__name__}
        return str(self.rng.choice(self.data)), kinds

    def step(self, action):
        return Step("", 0.0, True, False, {})


def spec(**kwargs) -> EnvSpec:
    return EnvSpec(id="acme:Rows", entry_point=RowsEnv, kwargs=kwargs)


def rows(count=300, size=5_000) -> list:
    return [{"number": number, "text": f"{number % 10}" * size} for number in range(count)]


def folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("gem-rows-*"))


def loaded(blob: bytes):
    return pickle.loads(blob).kwargs["data"]  # noqa: S301 - our own


@settings(max_examples=25, deadline=None)
@given(st.lists(VALUES, max_size=20))
def test_values_arrive_as_they_are(values: list) -> None:
    files, padding = RowFiles(), rows()
    (blob,) = files.dump([spec(data=values + padding)])
    found = loaded(blob)
    assert type(found) is FiledRows
    assert list(found) == values + padding
    assert found[-1] == padding[-1]
    assert found[2:5] == (values + padding)[2:5]
    with pytest.raises(IndexError):
        found[len(found)]
    files.close()


def test_environments_share_the_file_of_their_rows() -> None:
    files, data = RowFiles(), rows()
    blobs = files.dump([[spec(data=data), spec(data=data)], spec(data=data)])
    one, two = pickle.loads(blobs[0])  # noqa: S301 - our own
    assert one.kwargs["data"] is two.kwargs["data"]
    assert sum(map(len, blobs)) < 10_000
    files.close()


@pytest.mark.parametrize(
    "data",
    [
        rows(3),
        [],
        tuple(rows()),
        [{"shared": "x" * 100_000}] * 300,
    ],
    ids=["few", "none", "not a list", "much in common"],
)
def test_other_rows_are_sent_as_they_are(data) -> None:
    files = RowFiles()
    (blob,) = files.dump([spec(data=data)])
    assert loaded(blob) == data
    assert type(loaded(blob)) is type(data)
    files.close()


def test_workers_elsewhere_are_sent_the_rows() -> None:
    (blob,) = RowFiles(here=False).dump([spec(data=rows())])
    assert type(loaded(blob)) is list


def test_without_room_for_the_file_rows_are_sent(monkeypatch) -> None:
    before = folders()
    files = RowFiles()
    monkeypatch.setattr(tempfile, "tempdir", "/proc/self/nothing")
    (blob,) = files.dump([spec(data=rows())])
    monkeypatch.undo()
    assert type(loaded(blob)) is list
    assert folders() == before


@pytest.mark.slow
def test_a_vector_in_workers_plays_the_rows_that_one_without_them_plays() -> None:
    before, data = folders(), rows()
    firsts = []
    for executor in ("serial", "processes"):
        with gem_core.make_vec(
            spec(), num_envs=4, executor=executor, data=data, other=data[:1]
        ) as vector:
            firsts.append(vector.reset(seed=3))
    (plain, infos), (filed, more) = firsts
    assert filed == plain
    assert [one["data"] for one in (*infos, *more)] == ["list"] * 4 + ["FiledRows"] * 4
    assert {one["other"] for one in more} == {"list"}
    assert folders() == before


@pytest.mark.slow
def test_a_pool_deletes_its_files_when_it_is_closed() -> None:
    before = folders()
    with WorkerPool(max_workers=1) as pool:
        pool._dump([spec(data=rows())])
        assert folders() != before
    assert folders() == before
