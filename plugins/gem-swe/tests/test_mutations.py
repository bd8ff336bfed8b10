"""Bugs of one place: what each operator does, and that nothing else of a file changes."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_core.errors import ConfigError
from gem_swe.edits import Edit, applied, patch_between
from gem_swe.mutations import OPERATORS, mutations_of
from gem_swe.patches import patched, paths_of


def changed(source, operator):
    """Return the sources that an operator makes of a function's body."""
    content = f"def f(self, a: int, b: int, n: int = 3):\n{source}".encode()
    return {
        applied({"m.py": content}, one.edits)["m.py"].decode().partition("\n")[2]
        for one in mutations_of("m.py", content)
        if one.operator == operator
    }


@pytest.mark.parametrize(
    ("operator", "source", "expected"),
    [
        ("comparison", "    return a < b  # less\n", "    return a <= b  # less\n"),
        ("comparison", "    return a is not None\n", "    return a is None\n"),
        ("comparison", "    return a in [1]\n", "    return a not in [1]\n"),
        ("operator", "    return (a) + (b)\n", "    return (a) - (b)\n"),
        ("operator", "    return a and b\n", "    return a or b\n"),
        ("operator", "    a += b\n", "    a -= b\n"),
        ("constant", "    return a * 10\n", "    return a * 11\n"),
        ("constant", "    return True\n", "    return False\n"),
        ("condition", "    return a if not b else 0\n", "    return a if b else 0\n"),
        ("condition", "    if a:\n        return b\n", "    if not a:\n        return b\n"),
        (
            "early return",
            "    for one in a:\n        b.add(one)\n    return b\n",
            "    for one in a:\n        b.add(one)\n        return b\n",
        ),
        ("argument order", "    return max(a, b)\n", "    return max(b, a)\n"),
        ("removed branch", "    if a:\n        raise b\n    return 1\n", "    return 1\n"),
        (
            "removed branch",
            "    if a:\n        b = 1\n    elif b:\n        b = 2\n    else:\n        b = 3\n",
            "    if a:\n        b = 1\n    elif b:\n        b = 2\n",
        ),
        ("swapped names", "    return a\n", "    return b\n"),
        ("stale state", "    self.x = a\n    return b\n", "    return b\n"),
        ("stale state", "    self.x.append(a)\n", "    pass\n"),
    ],
)
def test_each_operator_makes_its_slip(operator, source, expected):
    assert expected in changed(source, operator)


def test_a_default_is_changed_where_it_stands():
    content = b"def f(a, n=3, *, loud=False):\n    return a\n"
    found = {
        applied({"m.py": content}, one.edits)["m.py"]
        for one in mutations_of("m.py", content)
        if one.operator == "wrong default"
    }
    assert b"def f(a, n=4, *, loud=False):\n    return a\n" in found
    assert b"def f(a, n=3, *, loud=True):\n    return a\n" in found


@pytest.mark.parametrize("source", ["x: int | None = 1\n", "'''text'''\n", "import a\n"])
def test_code_outside_of_functions_is_left_alone(source):
    assert mutations_of("m.py", source.encode()) == []


def test_all_operators_are_used_in_a_repository_and_each_mutation_is_python(slugs):
    found = [one for path in slugs.source for one in mutations_of(path, slugs.files[path])]
    assert len({(one.path, one.edits) for one in found}) == len(found)
    for one in found:
        after = applied(slugs.files, one.edits)
        ast.parse(after[one.path])
        assert [path for path in after if after[path] != slugs.files[path]] == [one.path]
    assert {one.operator for one in found} <= set(OPERATORS)


def test_names_of_functions_are_those_of_python():
    content = (
        b"class A:\n    def f(s):\n        def g(n):\n            return n + 1\n        return g\n"
    )
    assert {one.function for one in mutations_of("m.py", content)} == {"A.f.<locals>.g"}


@pytest.mark.parametrize(
    "edits",
    [
        [Edit("b", 0, 1, "")],
        [Edit("a", 0, 9, "")],
        [Edit("a", 0, 2, ""), Edit("a", 1, 3, "")],
    ],
)
def test_edits_that_do_not_fit_are_refused(edits):
    with pytest.raises(ConfigError):
        applied({"a": b"abc"}, edits)


LINES = st.lists(st.sampled_from(["a", "b", "", "é", "-", "+ x", "@@"]), max_size=6)
TEXTS = st.builds(
    lambda lines, end: ("\n".join(lines) + end).encode(), LINES, st.sampled_from(["", "\n"])
)
FILES = st.dictionaries(st.sampled_from(["a.py", "b/c.py", "d"]), TEXTS.filter(bool))


@given(FILES, FILES)
def test_a_patch_leads_from_one_state_to_the_other(before, after):
    patch = patch_between(before, after)
    assert patched(before, patch) == after
    assert set(paths_of(patch)) == {
        path for path in {*before, *after} if before.get(path) != after.get(path)
    }


def test_a_patch_that_does_not_fit_is_refused():
    patch = patch_between({"a": b"1\n2\n"}, {"a": b"1\n3\n"})
    with pytest.raises(ConfigError, match="does not fit a"):
        patched({"a": b"1\n4\n"}, patch)
    with pytest.raises(ConfigError, match="does not fit a"):
        patched({}, patch)
