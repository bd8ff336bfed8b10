import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import ConfigError, UnknownIdError
from gem_core.plugins import default_registry
from gem_core.specs import Spec
from gem_serve.harness.recipe import HARNESSES, WORDS, Recipe, find_recipe

WHAT = dict.fromkeys(WORDS, "x")


def test_each_program_has_a_recipe_that_passes_the_url_the_model_and_the_instruction_on(subtests):
    specs = default_registry().list(HARNESSES)
    assert len(specs) > 5
    for spec in specs:
        with subtests.test(spec.id):
            recipe = find_recipe(spec.id)
            filled = recipe.filled({word: f"<{word}>" for word in WORDS})
            texts = [*filled.arguments, *filled.env.values(), *filled.files.values()]
            assert any("<api>" in text or "<host>" in text for text in texts)
            assert any("<model>" in text for text in texts)
            assert "<instruction>" in filled.arguments
            assert not any("{" + word + "}" in text for text in texts for word in WORDS)


@settings(max_examples=100 if thorough() else 20)
@given(st.text())
def test_words_in_an_instruction_are_left_alone(text):
    recipe = Recipe(program="x", arguments=("{instruction}", "{model}"), dialect="chat")
    words = WHAT | {"instruction": text + "{model}{key}", "model": "tiny"}
    assert recipe.filled(words).arguments == (text + "{model}{key}", "tiny")


def test_other_braces_stay_as_they_are():
    recipe = Recipe(program="x", env={"A": '{"a": {"b": "{key}"}}'}, dialect="chat")
    assert recipe.filled(WHAT).env == {"A": '{"a": {"b": "x"}}'}


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"program": ""}, "must not be empty"),
        ({"dialect": "telex"}, "chat, completions, responses or messages"),
        ({"files": {"/etc/passwd": ""}}, "below its home directory"),
        ({"executables": {"a/../../b": ""}}, "below its home directory"),
    ],
)
def test_a_recipe_that_cannot_work_is_refused(fields, part):
    with pytest.raises(ConfigError, match=part):
        Recipe(**{"program": "x", "dialect": "chat", **fields})


def test_an_unknown_program_suggests_near_names():
    with pytest.raises(UnknownIdError, match="codex"):
        find_recipe("codecs")


def test_a_third_party_adds_a_recipe_with_one_spec(registry, monkeypatch):
    monkeypatch.setattr("gem_serve.harness.recipe.default_registry", lambda: registry)
    recipe = Recipe(program="mine", dialect="chat")
    registry.add(Spec(kind=HARNESSES, id="mine", entry_point=lambda: recipe))
    assert find_recipe("mine") is recipe
    registry.add(Spec(kind=HARNESSES, id="wrong", entry_point=lambda: "mine"))
    with pytest.raises(ConfigError, match="must return a Recipe; got 'mine'"):
        find_recipe("wrong")


def test_a_function_of_a_module_is_a_recipe_without_a_plugin():
    assert find_recipe("gem_serve.harness.recipes.codex:codex").program == "codex"
    given = {"id": "gem_serve.harness.recipes.loops:python_loop", "turns": 3}
    assert find_recipe(given).arguments[-1] == "3"
