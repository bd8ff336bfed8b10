"""Specs: the grammar of ids, entry points, arguments."""

import functools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.env import BaseEnv
from gem_core.errors import EntryPointError, InvalidIdError, UnknownKwargError
from gem_core.specs import (
    TOOLS,
    EnvSpec,
    Spec,
    ToolSpec,
    WrapperSpec,
    check_kwargs,
    load_entry_point,
)

EXAMPLES = settings(max_examples=300 if thorough() else 50)
NAMES = st.from_regex(r"[A-Za-z0-9_.-]+", fullmatch=True)
RESTS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
NAMESPACES = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]*", fullmatch=True)

NO_IDS: list[Any] = [
    *("", ":", "game:", ":Wordle", "1game:Wordle", "game:Wordle v0", "game: Wordle"),
    *("game:Wordle\n", "game:a:b", "game:a//b", "game:/a", "game:a/", "game:Wördle"),
    *("game:a,b", "game:a=b", "game:a*", None, 5, b"game:a"),
]


def echo(*, length: int = 5, width: int = 2) -> tuple[int, int]:
    return length, width


class TestIds:
    @pytest.mark.slow
    @EXAMPLES
    @given(namespace=NAMESPACES, rest=RESTS)
    def test_namespace_and_rest_make_an_id(self, namespace: str, rest: str) -> None:
        spec = EnvSpec(id=f"{namespace}:{rest}", entry_point=echo)
        assert spec.namespace == namespace
        assert spec.config_path == f"{namespace}/{rest}"

    @pytest.mark.slow
    @EXAMPLES
    @given(rest=RESTS)
    def test_only_environments_need_a_namespace(self, rest: str) -> None:
        assert ToolSpec(id=rest, entry_point=echo).namespace == ""
        with pytest.raises(InvalidIdError, match="of the form namespace:rest"):
            EnvSpec(id=rest, entry_point=echo)

    @pytest.mark.parametrize(
        "env_id",
        [
            "game:Wordle-v0-easy",
            "rg:leg_counting",
            "math:Math12K",
            "eval:AIME24",
            "hf:org/dataset-1.0",
            "game:GuessTheNumber-v0-hard-no-max-turn",
        ],
    )
    def test_ids_in_use_are_ids(self, env_id: str) -> None:
        assert EnvSpec(id=env_id, entry_point=echo).id == env_id

    def test_what_is_no_id_is_refused_and_quoted(self, subtests: pytest.Subtests) -> None:
        for env_id in NO_IDS:
            with subtests.test(env_id=repr(env_id)):
                with pytest.raises(InvalidIdError) as caught:
                    EnvSpec(id=env_id, entry_point=echo)
                assert repr(env_id) in str(caught.value)

    @pytest.mark.slow
    @EXAMPLES
    @given(text=st.text(max_size=12))
    def test_any_text_is_an_id_or_refused(self, text: str) -> None:
        try:
            spec = Spec(kind=TOOLS, id=text, entry_point=echo)
        except InvalidIdError:
            return
        assert re.fullmatch(r"[\w.:/-]+", spec.id, re.ASCII)


class TestEntryPoints:
    def test_a_string_leads_to_the_attribute(self) -> None:
        assert load_entry_point("gem_core.env:BaseEnv") is BaseEnv
        assert load_entry_point("gem_core.env:BaseEnv.reset") is BaseEnv.reset
        assert ToolSpec(id="a", entry_point="collections:Counter").make(x=3) == {"x": 3}

    @pytest.mark.parametrize("entry_point", ["collections", "collections.Counter", "collections:"])
    def test_a_string_without_an_attribute_is_explained(self, entry_point: str) -> None:
        with pytest.raises(EntryPointError, match="does not have the form 'module:attribute'"):
            load_entry_point(entry_point)

    @pytest.mark.parametrize(
        ("entry_point", "missing"),
        [
            ("no_such_package.envs:Env", "no_such_package"),
            ("gem_core.no_such_module:Env", "gem_core.no_such_module"),
            ("gem_core.env.deeper:Env", "gem_core.env.deeper"),
        ],
    )
    def test_a_module_that_is_not_there_is_named(self, entry_point: str, missing: str) -> None:
        with pytest.raises(EntryPointError, match=f"does not exist: no module '{missing}'"):
            load_entry_point(entry_point)

    def test_a_typo_in_the_attribute_gets_a_suggestion(self) -> None:
        with pytest.raises(EntryPointError, match=r"no 'BaseEvn'. Did you mean 'BaseEnv'"):
            load_entry_point("gem_core.env:BaseEvn")
        with pytest.raises(EntryPointError, match=r"no 'rest'. Did you mean 'reset'"):
            load_entry_point("gem_core.env:BaseEnv.rest")

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ("import no_such_dependency", "needs the module 'no_such_dependency', which is not"),
            ("import no_such.dependency", "needs the module 'no_such', which is not installed"),
            ("1 / 0", "raised ZeroDivisionError: division by zero"),
            ("def f(:", "raised SyntaxError"),
            ("from gem_core.env import Nope", "raised ImportError: cannot import name 'Nope'"),
        ],
    )
    def test_why_a_module_does_not_import_is_told(
        self, source: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "acme_envs.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "acme_envs", raising=False)
        spec = EnvSpec(id="acme:A", entry_point="acme_envs:A", source="acme 1.0")
        with pytest.raises(EntryPointError, match=re.escape(message)) as caught:
            spec.make()
        assert "environment 'acme:A' of acme 1.0" in str(caught.value)
        assert caught.value.__cause__ is not None


class TestArguments:
    def test_kwargs_of_the_caller_override_those_of_the_spec(self) -> None:
        spec = EnvSpec(id="a:b", entry_point=echo, kwargs={"length": 7})
        assert spec.make() == (7, 2)
        assert spec.make(length=1, width=3) == (1, 3)
        assert spec.with_kwargs(width=9).make() == (7, 9)
        assert spec.kwargs == {"length": 7}

    def test_an_unknown_argument_is_named_with_a_near_one_and_all_that_there_are(self) -> None:
        spec = ToolSpec(id="b", entry_point=echo)
        with pytest.raises(UnknownKwargError) as caught:
            spec.make(lenght=1)
        assert str(caught.value) == (
            "tool 'b' takes no argument 'lenght'. Did you mean 'length'? It takes: length, width."
        )

    def test_a_target_without_parameters_takes_none(self) -> None:
        with pytest.raises(UnknownKwargError, match="It takes: none"):
            check_kwargs(lambda: None, ["a"], "it")

    @pytest.mark.parametrize(
        "target",
        [lambda **kwargs: kwargs, lambda a, **rest: (a, rest), functools.partial(echo, length=1)],
    )
    def test_arguments_that_a_target_takes_are_accepted(self, target: Callable[..., Any]) -> None:
        check_kwargs(target, ["width"], "it")

    def test_an_argument_that_can_only_go_by_position_is_none(self) -> None:
        with pytest.raises(UnknownKwargError):
            check_kwargs(lambda a, /: a, ["a"], "it")

    def test_methods_of_one_name_are_told_apart_each_time(self) -> None:
        class Short:
            def start(self, length: int) -> None: ...

        class Wide(Short):
            def start(self, width: int) -> None: ...  # type: ignore[override]

        for _ in range(2):
            check_kwargs(Short().start, ["length"], "it")
            check_kwargs(Wide().start, ["width"], "it")
            with pytest.raises(UnknownKwargError, match="It takes: width"):
                check_kwargs(Wide().start, ["length"], "it")

    @pytest.mark.slow
    @EXAMPLES
    @given(st.dictionaries(st.sampled_from(["length", "width"]), st.integers()))
    def test_with_kwargs_is_make_in_two_parts(self, kwargs: dict[str, int]) -> None:
        spec = WrapperSpec(id="w", entry_point=echo, kwargs={"width": 4})
        assert spec.with_kwargs(**kwargs).make() == spec.make(**kwargs)
