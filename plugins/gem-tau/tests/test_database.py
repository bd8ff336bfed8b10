"""The database of an episode: an overlay that leaves its base alone."""

import copy
import pickle
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_tau.canonical import canonical, digest_of, same
from gem_tau.database import Base, Database, changes_between

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)
IDS = st.sampled_from(["a", "b", "c", "d"])
EDITS = st.lists(st.tuples(st.sampled_from(["edit", "insert", "delete"]), IDS, JSON), max_size=12)

examples = settings(max_examples=100 if thorough() else 25)


def base():
    return Base({"things": {key: {"value": 1, "parts": [1, 2]} for key in "abc"}})


def apply(db, edits):
    for kind, key, value in edits:
        there = db.get("things", key) is not None
        if kind == "edit" and there:
            db.edit("things", key)["value"] = value
        elif kind == "insert" and not there:
            db.insert("things", key, {"value": value})
        elif kind == "delete" and there:
            db.delete("things", key)


class TestCanonical:
    def test_numbers_of_one_value_are_equal_and_truth_values_are_not_numbers(self) -> None:
        assert same({"a": 25, "b": [1.0]}, {"b": [1], "a": 25.0})
        assert not same([1], [True])
        assert not same(25, "25")
        assert same(0.1 + 0.2, 0.3)

    def test_sets_have_no_order_and_lists_have_one(self) -> None:
        assert same({"b", "a"}, frozenset(["a", "b"]))
        assert not same(["a", "b"], ["b", "a"])
        assert same(("a", 1), ["a", 1])

    @pytest.mark.slow
    @examples
    @given(JSON)
    def test_a_digest_does_not_depend_on_the_order_of_keys(self, value: object) -> None:
        def reversed_keys(one):
            if isinstance(one, dict):
                return {key: reversed_keys(one[key]) for key in reversed(one)}
            return [reversed_keys(item) for item in one] if isinstance(one, list) else one

        assert digest_of(reversed_keys(value)) == digest_of(value)
        assert canonical(canonical(value)) == canonical(value)

    def test_other_types_are_refused_by_name(self) -> None:
        with pytest.raises(TypeError, match="object"):
            canonical({"a": object()})


class TestDatabase:
    @pytest.mark.slow
    @examples
    @given(EDITS)
    def test_edits_never_reach_the_base(self, edits: list) -> None:
        shared = base()
        before = copy.deepcopy(shared.tables)
        apply(Database(shared), edits)
        assert shared.tables == before

    @pytest.mark.slow
    @examples
    @given(EDITS)
    def test_it_behaves_like_a_copy_of_all_records(self, edits: list) -> None:
        shared = base()
        db, plain = Database(shared), copy.deepcopy(dict(shared.tables))
        apply(db, edits)
        for kind, key, value in edits:
            there = key in plain["things"]
            if kind == "edit" and there:
                plain["things"][key]["value"] = value
            elif kind == "insert" and not there:
                plain["things"][key] = {"value": value}
            elif kind == "delete" and there:
                del plain["things"][key]
        assert dict(db.records("things")) == plain["things"]

    @pytest.mark.slow
    @examples
    @given(EDITS, EDITS)
    def test_digests_are_equal_exactly_if_the_contents_are(self, one: list, two: list) -> None:
        shared = base()
        first, second = Database(shared), Database(shared)
        apply(first, one)
        apply(second, two)
        equal = same(dict(first.records("things")), dict(second.records("things")))
        assert (first.digest == second.digest) is equal
        assert first.equals(second) is equal
        assert (not changes_between(first, second)) is equal

    def test_undoing_a_change_gives_the_digest_back(self) -> None:
        db = Database(base())
        before = db.digest
        db.edit("things", "a")["value"] = 2
        assert db.digest != before
        db.edit("things", "a")["value"] = 1.0
        assert db.digest == before
        assert db.diff() == []

    @pytest.mark.slow
    @examples
    @given(EDITS, EDITS)
    def test_a_transaction_that_fails_undoes_everything(self, before: list, inside: list) -> None:
        db = Database(base())
        apply(db, before)
        digest, writes = db.digest, list(db.writes)

        def fail() -> None:
            with db.transaction():
                apply(db, inside)
                for key, _ in list(db.records("things")):
                    db.edit("things", key)["parts"] = "lost"
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        assert db.digest == digest
        assert db.writes == writes

    @pytest.mark.slow
    @examples
    @given(EDITS, EDITS)
    def test_a_pickle_goes_on_alone(self, before: list, after: list) -> None:
        db = Database(base())
        apply(db, before)
        digest = db.digest
        twin = pickle.loads(pickle.dumps(db))  # noqa: S301 - our own bytes
        assert twin.digest == digest
        apply(twin, after)
        assert db.digest == digest

    def test_a_base_with_an_origin_is_stored_as_that(self) -> None:
        db = Database(large_base(3))
        db.edit("things", "7")["value"] = 0
        stored = pickle.dumps(db)
        assert len(stored) < 2_000
        twin = pickle.loads(stored)  # noqa: S301 - our own bytes
        assert twin.digest == db.digest

    def test_the_diff_names_the_place(self) -> None:
        db = Database(base())
        db.edit("things", "a")["parts"][1] = 5
        db.edit("things", "a")["parts"].append(6)
        db.delete("things", "b")
        found = [(one.id, one.path, one.before, one.after) for one in db.diff()]
        assert found == [
            ("a", "parts/1", 2, 5),
            ("a", "parts/2", None, 6),
            ("b", "", {"value": 1, "parts": [1, 2]}, None),
        ]

    def test_missing_records_and_double_ids_are_errors(self) -> None:
        db = Database(base())
        with pytest.raises(KeyError, match="things has no record 'x'"):
            db.edit("things", "x")
        with pytest.raises(KeyError, match="things has no record 'x'"):
            db.delete("things", "x")
        with pytest.raises(KeyError, match="already"):
            db.insert("things", "a", {})


_LARGE: dict[int, Base] = {}


def large_base(seed: int) -> Base:
    """Return a base with many records, the same one each time."""
    if seed not in _LARGE:
        rng = random.Random(seed)
        things = {str(number): {"value": rng.random()} for number in range(500)}
        _LARGE[seed] = Base({"things": things}, origin=(large_base, (seed,)))
    return _LARGE[seed]
