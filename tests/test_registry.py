"""The registry: finding, suggesting, listing, families, duplicates."""

import inspect
from collections.abc import Callable, Iterable, Sized
from dataclasses import replace
from typing import Any

import pytest

import gem_core
from gem_core.api import print_envs
from gem_core.errors import DuplicateIdError, EntryPointError, InvalidIdError, UnknownIdError
from gem_core.known import known_ids
from gem_core.plugins import default_registry, load_plugins
from gem_core.registry import Registry
from gem_core.specs import (
    AGENTS,
    ENVS,
    EXECUTORS,
    FAMILIES,
    TOOLS,
    WRAPPERS,
    EnvSpec,
    Kind,
    Spec,
    ToolSpec,
)


def made(**kwargs: Any) -> dict[str, Any]:
    return kwargs


def env_spec(env_id: str, **kwargs: Any) -> EnvSpec:
    return EnvSpec(id=env_id, entry_point=made, kwargs=kwargs)


class Numbers:
    """A family with two listed ids and as many more as there are numbers."""

    made = 0

    def __init__(self) -> None:
        Numbers.made += 1

    def ids(self) -> Iterable[str]:
        return ["num:1", "num:2"]

    def spec(self, env_id: str) -> EnvSpec | None:
        number = env_id.removeprefix("num:")
        return env_spec(env_id, number=int(number)) if number.isdigit() else None


class BrokenFamily(Numbers):
    def ids(self) -> Iterable[str]:
        raise RuntimeError("the index is gone")


class TestFinding:
    def test_an_id_and_its_config_path_find_the_same_spec(self, registry: Registry) -> None:
        registry.add(env_spec("game:Wordle-v0"), env_spec("hf:org/data"))
        for found in ("game:Wordle-v0", "game/Wordle-v0"):
            assert registry.find(ENVS, found).id == "game:Wordle-v0"
        for found in ("hf:org/data", "hf/org/data"):
            assert registry.find(ENVS, found).id == "hf:org/data"

    def test_kinds_have_ids_of_their_own(self, registry: Registry) -> None:
        registry.add(env_spec("a:x"), ToolSpec(id="a:x", entry_point=made, kwargs={"tool": 1}))
        assert registry.make(ENVS, "a:x") == {}
        assert registry.make(TOOLS, "a:x") == {"tool": 1}
        with pytest.raises(UnknownIdError, match=r"Unknown agent 'a:x'. No agent is installed."):
            registry.find(AGENTS, "a:x")

    @pytest.mark.parametrize(
        ("asked", "suggested"),
        [
            ("game:Wordel-v0", "game:Wordle-v0"),
            ("game:wordle-v0", "game:Wordle-v0"),
            ("Wordle-v0", "game:Wordle-v0"),
            ("game:Hangman", "game:Hangman-v0"),
        ],
    )
    def test_an_unknown_id_suggests_near_ones(
        self, registry: Registry, asked: str, suggested: str
    ) -> None:
        registry.add(env_spec("game:Wordle-v0"), env_spec("game:Hangman-v0"), env_spec("qa:NQ"))
        with pytest.raises(UnknownIdError) as caught:
            registry.find(ENVS, asked)
        assert f"Unknown environment {asked!r}. Did you mean" in str(caught.value)
        assert repr(suggested) in str(caught.value)

    def test_an_id_like_no_other_is_answered_with_what_there_is(self, registry: Registry) -> None:
        registry.add(*(env_spec(f"game:Game{number}") for number in range(20)))
        with pytest.raises(UnknownIdError, match=r"There are: game:Game0, .*, \.\.\.") as caught:
            registry.find(ENVS, "zzz:???")
        assert str(caught.value).count("game:") == 8

    @pytest.mark.parametrize("spec_id", [None, 3, ["game:A"]])
    def test_an_id_that_is_no_text_is_unknown(self, registry: Registry, spec_id: Any) -> None:
        with pytest.raises(UnknownIdError, match="is text; got"):
            registry.find(ENVS, spec_id)

    def test_an_unknown_id_is_a_key_error_for_those_who_expect_one(
        self, registry: Registry
    ) -> None:
        with pytest.raises(KeyError):
            registry.find(ENVS, "a:b")

    def test_listing_is_sorted_and_takes_patterns(self, registry: Registry) -> None:
        registry.add(env_spec("qa:B-easy"), env_spec("game:C"), env_spec("game:A-easy"))
        assert [s.id for s in registry.list(ENVS)] == ["game:A-easy", "game:C", "qa:B-easy"]
        assert [s.id for s in registry.list(ENVS, "*-easy")] == ["game:A-easy", "qa:B-easy"]
        assert [s.id for s in registry.list(ENVS, "game:?")] == ["game:C"]
        assert registry.list(ENVS, "none:*") == []
        assert registry.list(TOOLS) == []


class TestDuplicates:
    def test_a_taken_id_is_refused_and_the_first_one_stays(self, registry: Registry) -> None:
        registry.add(env_spec("a:x", first=True))
        with pytest.raises(DuplicateIdError, match="registered twice by this program"):
            registry.add(env_spec("a:x"))
        assert registry.make(ENVS, "a:x") == {"first": True}

    def test_an_id_of_two_sources_cannot_be_used_and_the_error_names_both(
        self, registry: Registry
    ) -> None:
        acme, bolt = Registry("acme 1.0"), Registry("bolt 2.0")
        acme.add(env_spec("a:x"), env_spec("a:y"))
        bolt.add(env_spec("a:x"), env_spec("a:z"))
        assert registry.include(acme) == []
        assert len(registry.include(bolt)) == 1
        with pytest.raises(DuplicateIdError, match=r"both acme 1.0 and bolt 2.0.*GEM_PLUGINS"):
            registry.find(ENVS, "a:x")
        assert registry.find(ENVS, "a:y").source == "acme 1.0"
        assert registry.find(ENVS, "a:z").source == "bolt 2.0"

    def test_an_id_of_gem_core_stays_its_own(self, registry: Registry) -> None:
        core, acme = Registry("gem-core"), Registry("acme 1.0")
        core.add(ToolSpec(id="x", entry_point=made))
        acme.add(ToolSpec(id="x", entry_point=made), ToolSpec(id="y", entry_point=made))
        registry.include(core)
        assert len(registry.include(acme)) == 1
        assert registry.find(TOOLS, "x").source == "gem-core"
        assert registry.find(TOOLS, "y").source == "acme 1.0"

    def test_a_source_that_gives_one_id_twice_is_refused(self) -> None:
        with pytest.raises(DuplicateIdError, match=r"registered twice by acme 1\.0"):
            Registry("acme 1.0").add(env_spec("a:x"), env_spec("a:x"))


class TestFamilies:
    @pytest.fixture
    def family(self, registry: Registry) -> Registry:
        registry.add(Spec(kind=FAMILIES, id="num", entry_point=Numbers))
        return registry

    def test_a_family_lists_its_ids_and_makes_more(self, family: Registry) -> None:
        assert [spec.id for spec in family.list(ENVS)] == ["num:1", "num:2"]
        assert family.make(ENVS, "num:1") == {"number": 1}
        assert family.make(ENVS, "num/77", extra=1) == {"number": 77, "extra": 1}

    def test_a_family_is_made_once_and_only_when_it_is_asked_for(self, registry: Registry) -> None:
        before = Numbers.made
        registry.add(Spec(kind=FAMILIES, id="num", entry_point=Numbers), env_spec("a:x"))
        registry.find(ENVS, "a:x")
        assert Numbers.made == before
        for env_id in ("num:1", "num:2", "num:3"):
            registry.find(ENVS, env_id)
        assert Numbers.made == before + 1

    def test_an_id_that_the_family_lacks_is_unknown(self, family: Registry) -> None:
        for env_id in ("num:one", "num:org/one"):
            with pytest.raises(UnknownIdError, match="Unknown environment"):
                family.find(ENVS, env_id)

    def test_a_family_is_asked_for_the_id_as_it_was_written(self, registry: Registry) -> None:
        asked = []

        class Curious(Numbers):
            def spec(self, env_id: str) -> EnvSpec | None:
                asked.append(env_id)
                return None

        registry.add(Spec(kind=FAMILIES, id="num", entry_point=Curious))
        with pytest.raises(UnknownIdError):
            registry.find(ENVS, "num:org/one")
        assert "num:org:one" not in asked

    def test_a_single_spec_wins_over_a_family_of_its_namespace(self, family: Registry) -> None:
        family.add(env_spec("num:1", own=True))
        assert family.make(ENVS, "num:1") == {"own": True}
        assert [spec.kwargs for spec in family.list(ENVS)] == [{"own": True}, {"number": 2}]

    @pytest.mark.parametrize(
        ("entry_point", "error"),
        [("no_such_package:Family", EntryPointError), (BrokenFamily, None)],
    )
    def test_a_broken_family_hides_no_other_id(
        self, family: Registry, entry_point: str | Callable[..., Any], error: type[Exception] | None
    ) -> None:
        family.add(Spec(kind=FAMILIES, id="bad", entry_point=entry_point), env_spec("a:x"))
        assert [spec.id for spec in family.list(ENVS)] == ["a:x", "num:1", "num:2"]
        assert family.find(ENVS, "num:5").kwargs == {"number": 5}
        with pytest.raises(error or UnknownIdError):
            family.find(ENVS, "bad:x")


class TestThisInstallation:
    def test_registering_makes_an_environment_known_by_its_id(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        specs = load_plugins().registry._specs
        monkeypatch.setitem(specs, ENVS.id, dict(specs[ENVS.id]))
        gem_core.register("test:Made-v0", "collections:Counter", a=1)
        assert "test:Made-v0" in gem_core.list_envs("test:*")
        assert gem_core.spec("test/Made-v0").kwargs == {"a": 1}
        with pytest.raises(DuplicateIdError):
            gem_core.register("test:Made-v0", made)
        with pytest.raises(InvalidIdError):
            gem_core.register("Made-v0", made)

    def test_what_is_printed_names_id_entry_point_and_parameters(self) -> None:
        lines: list[str] = []
        print_envs("game:GuessTheNumber-v0-easy", write=lines.append)
        assert lines[0] == "Environments: 1"
        assert lines[1].split("  ")[:2] == [
            "game:GuessTheNumber-v0-easy",
            "gem_games.guess_the_number:GuessTheNumberEnv",
        ]
        assert "max_number=10" in lines[1]
        print_envs("nothing:*", write=lines.append)
        assert lines[-1] == "Environments: 0"

    def test_an_id_that_is_not_installed_is_answered_with_its_distribution(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(known_ids(), ("environment", "acme"), "gem-acme")
        monkeypatch.setitem(known_ids(), ("tool", "hammer"), "gem-acme")
        with pytest.raises(UnknownIdError, match=r"'acme:Echo-v0'\. .* pip install gem-acme"):
            gem_core.make("acme:Echo-v0")
        with pytest.raises(UnknownIdError, match="pip install gem-acme"):
            gem_core.make_tool("hammer")

    def test_every_spec_of_core_leads_somewhere(self) -> None:
        registry = default_registry()
        for kind in (WRAPPERS, AGENTS, EXECUTORS):
            specs = registry.list(kind)
            assert specs
            for spec in specs:
                assert callable(spec.load()), spec.id

    def test_a_typo_in_a_parameter_of_an_installed_environment_is_named(self) -> None:
        with pytest.raises(gem_core.GemError, match=r"'max_turn'. Did you mean 'max_turns'"):
            gem_core.make("game:GuessTheNumber-v0-easy", max_turn=3)
        with pytest.raises(gem_core.GemError, match=r"wrapper 'time_limit' takes no.*max_steps"):
            gem_core.make(
                "game:GuessTheNumber-v0-easy", wrappers=[{"id": "time_limit", "max_step": 3}]
            )

    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            ({"wrappers": "concat"}, "wrappers is a list"),
            ({"tools": {"id": "x"}}, "tools is a list"),
            ({"wrappers": [3]}, "must be an id or a mapping with an id; got 3"),
            ({"wrappers": [{"max_steps": 3}]}, "needs an 'id'"),
            ({"wrappers": ["conkat"]}, "Did you mean 'concat'"),
        ],
    )
    def test_a_wrong_part_of_a_stack_is_explained(
        self, parts: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(gem_core.GemError, match=message):
            gem_core.make("game:GuessTheNumber-v0-easy", **parts)


RECIPES: Kind[Spec] = Kind(
    id="recipes", name="recipe", description="recipes", by_entry_point=True, given=1
)
"""A kind that a plugin declares."""


def soup(cook: str, salt: int, *, spoons: int = 2) -> tuple[str, int, int]:
    return cook, salt, spoons


class TestKindsOfPlugins:
    def test_a_spec_of_a_new_kind_is_found_and_made_with_what_the_program_gives(self) -> None:
        registry = Registry()
        registry.add(Spec(kind=RECIPES, id="soup", entry_point=soup, kwargs={"salt": 1}))
        spec = registry.find(RECIPES, "soup")
        assert spec.parameters() == {"salt": 1, "spoons": 2}
        assert spec.make("me", spoons=3) == ("me", 1, 3)

    def test_a_required_parameter_has_no_value(self) -> None:
        parameters = Spec(kind=RECIPES, id="soup", entry_point=soup).parameters()
        assert parameters == {"salt": inspect.Parameter.empty, "spoons": 2}

    def test_an_entry_point_may_be_written_for_an_id(self) -> None:
        spec = Registry().find(RECIPES, "collections.abc:Sized")
        assert spec.load() is Sized
        with pytest.raises(EntryPointError, match=r"recipe 'collections:Bag'.*has no 'Bag'"):
            Registry().find(RECIPES, "collections:Bag").load()
        with pytest.raises(UnknownIdError, match="tool 'collections:Counter'"):
            Registry().find(TOOLS, "collections:Counter")

    def test_a_kind_is_known_with_its_first_spec_or_if_it_is_added(self) -> None:
        registry = Registry()
        with pytest.raises(UnknownIdError, match=r"'recipe'.* There are: agents, .*wrappers"):
            registry.kind("recipe")
        registry.add(RECIPES)
        assert registry.kind("recipes") == RECIPES
        other = replace(RECIPES, given=2)
        with pytest.raises(DuplicateIdError, match="two kinds 'recipes'"):
            registry.add(Spec(kind=other, id="soup", entry_point=soup))

    def test_every_kind_of_the_installed_plugins_is_one(self) -> None:
        for kind in default_registry().kinds():
            assert all(spec.kind == kind for spec in default_registry().list(kind))
