"""Configs, levels and composites, and the errors for invalid ones."""

import re
from collections import Counter
from datetime import date

import pytest
from selection import some

import gem_core
from gem_core.config import build
from gem_core.errors import ConfigError
from gem_rg.catalog import DESCRIPTIONS
from gem_rg.datasets import describe, make_recipe


def first_question(**parameters):
    """Return the first question of leg_counting."""
    return gem_core.make("rg:leg_counting", **parameters).reset()[0]


def test_a_config_reaches_the_task():
    assert "if you have 1 " in first_question(
        config={"min_animals": 1, "max_animals": 1, "max_instances": 1}
    )


def test_values_may_be_written_as_in_yaml():
    given = {"task_types": ["date"], "min_date": "2001-01-01", "max_date": "2001-12-31"}
    as_objects = {
        **given,
        "min_date": date(2001, 1, 1),
        "max_date": date(2001, 12, 31),
    }
    question = gem_core.make("rg:time_intervals", config=given).reset()[0]
    assert "2001" in question
    assert gem_core.make("rg:time_intervals", config=as_objects).reset()[0] == question


@pytest.mark.slow
def test_parts_of_a_nested_value_may_be_set():
    env = gem_core.make("rg:arc_agi", config={"board_format_opts": {"col_delimiter": "|"}})
    assert re.search(r"\d\|\d", env.reset()[0])


def test_invalid_options_are_rejected_when_the_environment_is_made(subtests):
    for parameters, message in [
        ({"config": {"min_animls": 1}}, "no config 'min_animls'. Did you mean 'min_animals'"),
        ({"config": {"seed": 1}}, "no config 'seed'"),
        ({"config": {"min_animals": 0}}, "min_animals must be positive"),
        ({"config": {"min_animals": "many"}}, "cannot be built with these options"),
        ({"config": {"min_animals": {1, 2}}}, "must be a plain value"),
        ({"level": 36}, "whole number from 0 to 35; got 36"),
        ({"level": -1}, "got -1"),
        ({"level": True}, "got True"),
        ({"level": {"num_animls": 1}}, "'num_animls'. Did you mean 'num_animals'"),
        ({"level": {"num_animals": 99}}, "from 0 to 35; got 99"),
        ({"size": 0}, "size must be a whole number of at least 1; got 0"),
        ({"dataset_seed": 2**31}, "dataset_seed must be below"),
        ({"dataset_seed": -1}, "non-negative"),
        ({"time_limit": 0}, "time_limit must be a positive"),
        ({"score_limit": -1}, "score_limit must be a positive"),
        ({"name": "leg_countin"}, "no task 'leg_countin'. Did you mean 'leg_counting'"),
    ]:
        with subtests.test(str(parameters)):
            with pytest.raises(ConfigError) as caught:
                gem_core.make("rg:leg_counting", **parameters)
            assert message in str(caught.value)


def test_a_task_may_reject_a_size():
    with pytest.raises(ConfigError, match="size too large"):
        gem_core.make("rg:word_ladder", size=10**9)


def test_a_config_overrides_a_level():
    levels = describe("leg_counting")["curriculum"]["num_animals"]
    assert levels[:3] == [1, 2, 3]
    easy = first_question(level=0)
    hard = first_question(level=35)
    assert easy.count(",") < hard.count(",")
    one = first_question(level=35, config={"min_animals": 1, "max_animals": 1})
    assert one.count(",") == easy.count(",")
    assert first_question(level={"num_animals": 0}).count(",") == easy.count(",")


def test_a_task_without_curriculum_says_so():
    assert describe("acre")["curriculum"] == {}
    with pytest.raises(ConfigError, match="rg:acre has no curriculum"):
        gem_core.make("rg:acre", level=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", some(sorted(set(DESCRIPTIONS) - {"composite"})))
def test_each_level_makes_a_dataset_or_is_rejected(name):
    """Some levels of reasoning-gym contradict its own rules, as all of knight_swap do."""
    attributes = describe(name)["curriculum"].values()
    count = max(map(len, attributes), default=0)
    levels = sorted({0, 1, count // 2, count - 1}) if count else []
    refusals = [text for level in levels if (text := refusal(name, level))]
    assert all("cannot be built with these options" in text for text in refusals)
    assert not refusals or name in {
        "caesar_cipher",
        "knight_swap",
        "modulo_grid",
        "rubiks_cube",
        "survo",
    }


def refusal(name, level):
    """Return the error for a level, or an empty text."""
    try:
        make_recipe(name, level=level)
    except ConfigError as error:
        return str(error)
    return ""


def test_describe_returns_fields_with_defaults():
    described = describe("word_sorting")
    assert described["config"]["transformation"] == "original"
    assert "size" not in described["config"]
    assert describe("composite") == {"config": {"datasets": None}, "curriculum": {}}
    with pytest.raises(ConfigError, match="Did you mean 'word_sorting'"):
        describe("word_sortin")


def tasks_of(env, count=60):
    """Return the number of items of each task among the first items of a composite."""
    counter = Counter()
    for _ in range(count):
        env.reset()
        counter[env.step("").info["task"]] += 1
    return counter


@pytest.mark.slow
def test_the_composite_mixes_many_tasks_by_default():
    assert len(tasks_of(gem_core.make("rg:composite"))) > 10


def test_a_composite_mixes_by_weight_with_levels_and_configs():
    parts = [
        {"name": "leg_counting", "weight": 9, "level": 0},
        {"name": "chain_sum", "config": {"min_terms": 3, "max_terms": 3}},
    ]
    env = gem_core.make("rg:composite", config={"datasets": parts})
    counter = tasks_of(env)
    assert counter["leg_counting"] > 3 * counter["chain_sum"] > 0
    env.reset(idx=0)
    assert env.step(env.solution()).reward == 1.0


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "needs config datasets"),
        ("leg_counting", "needs config datasets"),
        (["leg_counting"], "must be a mapping with a name"),
        ([{"name": "leg_counting", "wight": 1}], "must be a mapping with a name"),
        ([{"name": "leg_countin"}], "Did you mean 'leg_counting'"),
        ([{"name": "composite"}], "cannot mix 'composite'"),
        ([{"name": "leg_counting", "weight": 0}], "must be a positive number; got 0"),
        ([{"name": "leg_counting", "level": 99}], "from 0 to 35"),
        ([{"name": "leg_counting", "config": {"min": 1}}], "no config 'min'"),
        ([{"name": "leg_counting"}, {"name": "leg_counting"}], "Duplicate"),
    ],
)
def test_an_invalid_composite_is_rejected(parts, message):
    with pytest.raises(ConfigError) as caught:
        gem_core.make("rg:composite", config={"datasets": parts})
    assert message in str(caught.value)


def test_a_composite_has_no_level_of_its_own():
    with pytest.raises(ConfigError, match="Give each of its datasets a level"):
        gem_core.make("rg:composite", level=1)


@pytest.mark.slow
def test_datasets_of_codeio_keep_their_difficulty():
    def questions(difficulty):
        env = gem_core.make("rg:codeio", config={"difficulty": difficulty}, hint="")
        return [env.reset(idx=idx)[0] for idx in (0, 20)]

    assert questions(3) == questions(3)
    assert set(questions(2)).isdisjoint(questions(6))


def test_a_hydra_config_builds_it():
    config = {"min_animals": 1, "max_animals": 1, "max_instances": 1}
    env = build({"env": {"id": "rg:leg_counting", "size": 3, "config": config}})
    assert "if you have 1 " in env.reset()[0]
    with pytest.raises(ConfigError, match="size"):
        build({"env": {"id": "rg:leg_counting", "size": "many"}})
