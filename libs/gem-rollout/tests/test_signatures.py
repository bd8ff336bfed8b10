"""Parameters that are read from source files, without an import."""

import itertools
import keyword
import sys
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import EntryPointError
from gem_core.specs import Kind, Spec
from gem_rollout.commands.signatures import parameters_of

PARTS: Kind[Spec] = Kind(id="parts", name="part", description="parts")


NUMBERS = itertools.count()
READABLE = {
    "a function": "def Part(a, /, b, *, c=1, d=(1, 'x'), e=None): ...",
    "a class": "class Part:\n    def __init__(self, a, b=-0.5): ...",
    "a class without parameters": "class Part:\n    def run(self, a): ...",
    "an inherited constructor": """
        class Base:
            def __init__(self, a=1): ...

        class Part(Base):
            size: int = 3
        """,
    "a dataclass": """
        from abc import ABC
        from dataclasses import dataclass
        from typing import ClassVar

        LIMIT = 7
        MOST: int = LIMIT

        class Interface(ABC):
            kind: ClassVar[str] = "none"

        @dataclass(frozen=True)
        class Base(Interface):
            a: int
            b: "dict[str, int] | None" = None

        @dataclass(frozen=True)
        class Part(Base):
            kind: ClassVar[str] = "some"
            b: int = MOST
            c: float = 0.5
        """,
}
UNREADABLE = {
    "a computed default": "def Part(a=2 * 3): ...",
    "a decorator": """
        import functools

        def with_b(function):
            return functools.partial(function, b=2)

        @with_b
        def Part(a, b): ...
        """,
    "arguments of a base class": """
        import inspect

        class Part:
            def __init__(self, **options): ...
            __signature__ = inspect.signature(lambda a=1: ...)
        """,
    "a factory": """
        from dataclasses import dataclass, field

        @dataclass
        class Part:
            a: int = 1
            b: int = field(default=2)
        """,
    "an assignment": "def other(a=1): ...\nPart = other",
    "a condition": "if True:\n    def Part(a=1): ...",
    "a metaclass": """
        class Meta(type):
            def __call__(cls, a, b): ...

        class Part(metaclass=Meta):
            def __init__(self, c): ...
        """,
    "a name that is set twice": """
        def Part(a=1): ...
        def other(b): ...
        try:
            Part = other
        finally: ...
        """,
}


@pytest.fixture
def spec_of(tmp_path, monkeypatch):
    """Return a function that writes a module with ``Part`` and returns a spec of it."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(source):
        module = f"part_{next(NUMBERS)}"
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(source))
        return Spec(kind=PARTS, id="part", entry_point=f"{module}:Part")

    return write


def check_read(spec, *, imports):
    module = spec.entry_point.partition(":")[0]
    found = parameters_of(spec)
    assert (module in sys.modules) == imports
    assert list(found.items()) == list(spec.parameters().items())


@pytest.mark.parametrize("source", READABLE.values(), ids=list(READABLE))
def test_parameters_that_the_source_determines_are_read_without_an_import(spec_of, source):
    check_read(spec_of(source), imports=False)


@pytest.mark.parametrize("source", UNREADABLE.values(), ids=list(UNREADABLE))
def test_a_module_whose_source_does_not_determine_the_parameters_is_imported(spec_of, source):
    check_read(spec_of(source), imports=True)


def test_imports_within_a_package_are_followed_without_importing_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "split_part"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('this package is imported')")
    (package / "inner" / "__init__.py").write_text("from .own import Own as Part")
    (package / "inner" / "own.py").write_text(
        "from dataclasses import dataclass\nfrom ..base import Base, SIZE as BIG\n\n"
        "@dataclass\nclass Own(Base):\n    b: int = BIG\n"
    )
    (package / "base.py").write_text(
        "from dataclasses import dataclass\nSIZE = 9\n\n@dataclass\nclass Base:\n    a: int = 1\n"
    )
    spec = Spec(kind=PARTS, id="part", entry_point="split_part.inner:Part", kwargs={"a": 5})
    assert parameters_of(spec) == {"a": 5, "b": 9}


@pytest.mark.parametrize("entry_point", ["absent_module:Part", "part_circular:Part"])
def test_an_entry_point_that_cannot_be_loaded_is_an_error(tmp_path, monkeypatch, entry_point):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "part_circular.py").write_text("from part_circular import Part")
    with pytest.raises(EntryPointError, match=entry_point.partition(":")[0]):
        parameters_of(Spec(kind=PARTS, id="part", entry_point=entry_point))


NAMES = st.from_regex(r"[a-z]{1,4}", fullmatch=True).filter(
    lambda name: not keyword.iskeyword(name)
)
LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 20)
@given(defaults=st.dictionaries(NAMES, LITERALS, max_size=5))
def test_any_literal_default_is_read(tmp_path_factory, defaults):
    folder = tmp_path_factory.mktemp("any")
    module = f"any_{next(NUMBERS)}"
    listed = ", ".join(f"{name}={value!r}" for name, value in defaults.items())
    (folder / f"{module}.py").write_text(f"def Part({listed}): ...", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        assert parameters_of(Spec(kind=PARTS, id="part", entry_point=f"{module}:Part")) == defaults
    assert module not in sys.modules
