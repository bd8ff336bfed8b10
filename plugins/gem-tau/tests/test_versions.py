"""Versions of a shared value behave as deep copies do, whatever code does to them in place."""

import collections
import contextlib
import copy
import json
import pickle
import sys
from collections.abc import Iterator
from random import Random

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_tau.versions import START, Shared


def row_class() -> type:
    class Row(pydantic.BaseModel):
        name: str = ""
        tags: list = []
        more: object = None

    return Row


def value_of(rng: Random, row: type, depth: int = 3):
    kind = rng.choice(["dict", "list", "set", "row", "many"]) if depth else "atom"
    below = [value_of(rng, row, depth - 1) for _ in range(rng.randrange(4))] if depth else []
    match kind:
        case "dict":
            return {rng.choice("abcd"): one for one in below}
        case "list":
            return below
        case "set":
            return set(rng.sample("abcdef", 3))
        case "row":
            return row(name=rng.choice("xyz"), tags=below[:2], more=below[2] if below[2:] else None)
        case "many":
            return collections.deque(rng.choices([1, "a", None], k=2))  # copied with its holder
    return rng.choice([None, True, 1, 1.0, 0, "text", (1, "a"), 2.5])


def containers(value) -> list:
    """Return all containers of a value, in an order that its content decides."""
    found, todo = [], [value]
    while todo:
        one = todo.pop()
        if isinstance(one, pydantic.BaseModel):
            todo += list(vars(one).values())
        elif isinstance(one, dict):
            todo += list(one.values())
        elif isinstance(one, list | collections.deque):
            todo += list(one)
        elif not isinstance(one, set):
            continue
        found.append(one)
    return found


def change(top: list, seed: int, row: type) -> None:
    """Change some containers in place; may raise in the middle."""
    rng = Random(seed)
    for _ in range(rng.randint(1, 4)):
        one = rng.choice(containers(top))
        new = value_of(rng, row, rng.randrange(3))
        if rng.random() < 0.2:
            new = rng.choice(containers(top[0]) or [new])
            if any(part is one or isinstance(part, collections.deque) for part in containers(new)):
                new = copy.deepcopy(new)  # no value contains itself
        if isinstance(one, list):
            _change_list(rng, one, new, is_top=one is top)
        elif isinstance(one, dict):
            _change_dict(rng, one, new)
        elif isinstance(one, set):
            rng.choice([one.add, one.discard, one.update])(rng.choice("abz"))
        elif isinstance(one, collections.deque):
            one.append(seed)
        else:
            setattr(one, rng.choice(["name", "more"]), new)
        if isinstance(new, list | collections.deque) and rng.random() < 0.5:
            new.append("later")  # by the name that the caller still has
    if rng.random() < 0.2:
        raise RuntimeError


def _change_list(rng: Random, one: list, new, *, is_top: bool) -> None:
    if is_top:
        one[0] = new
        return
    changes = [
        lambda: one.append(new),
        lambda: one.insert(0, new),
        lambda: one.extend([new, 1]),
        lambda: one.__setitem__(slice(0, 1), [new]),
        lambda: one.__delitem__(slice(1, None)),
        lambda: one.sort(key=str),
        lambda: one.__iadd__([1]),
        one.reverse,
        one.clear,
    ]
    rng.choice(changes)()


def _change_dict(rng: Random, one: dict, new) -> None:
    key = rng.choice("abcde")
    changes = [
        lambda: one.__setitem__(key, new),
        lambda: one.pop(key, None),
        lambda: one.update({key: new}),
        lambda: one.setdefault(key, new),
        lambda: one.__ior__({key: True}),
        one.clear,
    ]
    rng.choice(changes)()


@pytest.mark.slow
@settings(max_examples=400 if thorough() else 60)
@given(
    seed=st.integers(0, 2**32),
    steps=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2**32), st.booleans()), max_size=12),
    notes=st.booleans(),
)
def test_versions_are_deep_copies_that_share_what_is_equal(
    seed: int, steps: list, *, notes: bool
) -> None:
    """Any sequence of changes, failures, forks and snapshots, in two processes of one start."""
    row = row_class()
    start = [value_of(Random(seed), row)]
    shared = Shared(copy.deepcopy(start[0]), lambda kind: kind is row, notes=notes)
    versions, copies = [START], [start]
    for number, change_seed, is_saved in steps:
        at = number % len(versions)
        plain = copy.deepcopy(copies[at])
        try:
            change(plain, change_seed, row)
        except RuntimeError:
            plain = copies[at]
        try:
            version = shared.run(versions[at], lambda top, seed=change_seed: change(top, seed, row))
            version = version.version
        except RuntimeError:
            version = versions[at]
        if is_saved and notes and not _has_rows(version):
            version = shared.load(shared.dump(version))
        versions.append(version)
        copies.append(plain)
        for one, wanted in zip(versions, copies, strict=True):
            assert shared.run(one, shown, undo=True).result == shown(wanted)


def shown(value) -> str:
    """Return a text that differs if a value, a type or an order does."""
    if isinstance(value, set):
        return f"set {sorted(value)}"
    if isinstance(value, pydantic.BaseModel):
        return f"row {shown(vars(value))} {sorted(value.model_fields_set)}"
    if isinstance(value, dict):
        return f"dict {[(key, shown(one)) for key, one in value.items()]}"
    if isinstance(value, list | collections.deque):
        kind = "list" if isinstance(value, list) else "deque"
        return f"{kind} {[shown(one) for one in value]}"
    return repr(value)


def _has_rows(version) -> bool:
    """Return whether a version has models, whose class a local one cannot be pickled."""
    return "Row" in repr(list(version.values()))


def test_code_gets_the_types_that_it_expects() -> None:
    shared = Shared({"b": [1, {"c": 2}], "a": {3}}, lambda _: False)

    def look(top: list) -> None:
        value = top[0]
        assert isinstance(value, dict)
        assert isinstance(value["b"], list)
        assert f"{value['a']}" == "{3}"
        assert value == {"a": {3}, "b": [1, {"c": 2}]}
        assert list(value) == ["b", "a"]
        assert json.dumps(value["b"]) == '[1, {"c": 2}]'
        assert repr(value) == "{'b': [1, {'c': 2}], 'a': {3}}"
        for copied in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):  # noqa: S301
            assert type(copied) is dict
            assert type(copied["b"][1]) is dict

    shared.run(START, look)


def test_a_version_holds_what_was_changed() -> None:
    shared = Shared({str(number): {"n": number} for number in range(500)}, lambda _: False)

    def rename(top: list) -> None:
        top[0]["7"]["n"] = "seven"

    version = shared.run(START, rename).version
    assert [held.content for held in version.values()] == [{"n": "seven"}]
    assert len(shared.dump(version)) < 1_000
    assert shared.run(version, lambda top: top[0]["7"]["n"]).is_equal
    assert shared.run(version, lambda top: top[0]["7"].update(n="seven")).is_equal
    assert not shared.run(version, lambda top: top[0]["7"].update(n=7)).is_equal


def test_an_interrupted_call_leaves_every_version_as_it_was() -> None:
    """Also one that is interrupted while the value of another version is put in place."""
    shared = Shared({str(number): {"n": number} for number in range(50)}, lambda _: False)
    versions = [START]
    for value in ("one", "two"):

        def rename(top: list, value: str = value) -> None:
            for number in range(40):
                top[0][str(number)]["n"] = value

        versions.append(shared.run(START, rename).version)
    wanted = [shared.run(one, repr, undo=True).result for one in versions]
    for lines in range(3, 200, 7):
        left = iter(range(lines))

        def trace(frame: object, event: str, _: object, left: Iterator[int] = left) -> object:
            if event == "line" and next(left, None) is None:
                raise KeyboardInterrupt
            return trace

        shared.run(versions[2], repr, undo=True)
        before = sys.gettrace()
        sys.settrace(trace)
        with contextlib.suppress(KeyboardInterrupt):
            shared.run(versions[1], repr, undo=True)
        sys.settrace(before)
        assert [shared.run(one, repr, undo=True).result for one in versions] == wanted
