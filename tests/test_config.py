"""From a configuration to an environment."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from selection import thorough

import gem_core
from gem_core.config import build, factory_from_config
from gem_core.errors import ConfigError, GemError
from gem_core.mixture import MixtureEnv
from gem_core.vector import VectorEnv
from gem_core.wrappers import EpisodeTracking, HistoryWrapper

EXAMPLES = settings(max_examples=300 if thorough() else 30)
GUESS = "game:GuessTheNumber-v0-easy"
NEARLY = {
    "wrapers": "wrappers",
    "wrapper": "wrappers",
    "Wrappers": "wrappers",
    "tool": "tools",
    "tooluse": "tool_use",
    "tool-use": "tool_use",
    "vec": "vector",
    "vectors": "vector",
    "envs": "env",
    "environment": "env",
    "enviroment": "env",
    "sed": "seed",
    "mixtures": "mixture",
}
"""Keys that are misspelt, with the keys that are meant."""


def problems(config):
    with pytest.raises(ConfigError) as caught:
        build(config)
    return str(caught.value).splitlines()[1:]


def test_an_id_alone_is_a_configuration():
    assert build({"env": GUESS}).spec.id == GUESS


def test_parameters_reach_the_environment():
    env = build({"env": {"id": GUESS, "max_turns": 9}})
    env.reset(seed=0)
    assert env.max_turns == 9


def test_wrappers_are_stacked_in_order_the_first_innermost():
    env = build({"env": GUESS, "wrappers": ["concat", "episode_tracking"]})
    assert isinstance(env, EpisodeTracking)
    assert isinstance(env.env, HistoryWrapper)


def test_wrappers_may_be_a_mapping_with_parameters():
    config = {
        "env": GUESS,
        "wrappers": {"limit": {"id": "time_limit", "max_steps": 2}, "history": {"id": "concat"}},
    }
    env = build(config)
    assert isinstance(env, HistoryWrapper)
    assert env.env.max_steps == 2


def test_a_vector_is_built_when_a_number_is_given_and_is_seeded():
    config = {"env": GUESS, "seed": 3, "vector": {"num_envs": 4, "executor": "threads"}}
    first, second = build(config), build(config)
    assert isinstance(first, VectorEnv)
    secrets = []
    for vector in (first, second):
        vector.reset()
        secrets.append([vector.step([r"\boxed{5}"] * 4).observations for _ in range(2)])
        vector.close()
    assert secrets[0] == secrets[1]


def test_a_mixture_draws_its_components_by_weight():
    config = {
        "mixture": {
            "a": {"id": GUESS, "weight": 3},
            "b": {"id": "game:GuessTheNumber-v0-hard"},
            "never": {"id": "game:GuessTheNumber-v0", "weight": 0},
        }
    }
    env = build(config)
    assert isinstance(env, MixtureEnv)
    drawn = [env.reset(seed=seed)[1]["component"] for seed in range(400)]
    assert "never" not in drawn
    assert 240 < drawn.count("a") < 360


def test_a_mixture_is_vectorised_like_any_environment():
    vector = build({"mixture": [GUESS, "game:GuessTheNumber-v0-hard"], "vector": {"num_envs": 8}})
    _, infos = vector.reset(seed=0)
    assert {info["component"] for info in infos} == {"0", "1"}
    vector.close()


def test_omegaconf_configurations_work_and_other_keys_are_left_alone():
    config = OmegaConf.create(
        {"n": 7, "env": {"id": GUESS, "max_turns": "${n}"}, "lr": "???", "trainer": {"x": 1}}
    )
    env = build(config)
    env.reset(seed=0)
    assert env.max_turns == 7


def test_a_missing_value_is_named():
    config = OmegaConf.create(
        {"env": GUESS, "wrappers": [{"id": "time_limit", "max_steps": "???"}]}
    )
    with pytest.raises(ConfigError, match="max_steps"):
        build(config)


def test_every_problem_is_told_in_one_line_of_its_own():
    lines = problems(
        {
            "env": {"id": GUESS, "max_turns": "many", "max_turn": 3},
            "wrappers": {
                "concat": {"id": "concat", "max_history_length": 1.5},
                "x": {"id": "conct"},
            },
            "vector": {"num_envs": 0, "autoreset": "never", "speed": 1},
        }
    )
    assert len(lines) == 7
    for start in (
        "  vector.num_envs:",
        "  vector.autoreset:",
        "  vector.speed:",
        "  env.max_turns:",
        "  env.max_turn:",
        "  wrappers.concat.max_history_length:",
        "  wrappers.x:",
    ):
        assert any(line.startswith(start) for line in lines), (start, lines)
    assert any("Did you mean 'max_turns'" in line for line in lines)
    assert any("Did you mean 'concat'" in line for line in lines)


@pytest.mark.parametrize(
    "config", [{}, {"env": None}, {"env": GUESS, "mixture": [GUESS]}, {"mixture": {}}]
)
def test_exactly_one_of_env_and_mixture_is_needed(config):
    assert problems(config) == [
        "  env: give either env or mixture, for example env=game/Sudoku-v0-easy"
    ]


def test_a_weight_that_is_no_number_is_named():
    assert problems({"mixture": {"a": {"id": GUESS, "weight": "big"}}})[0].startswith(
        "  mixture.a.weight"
    )


def test_a_part_without_an_id_is_named():
    (problem,) = problems({"env": {"max_turns": 3}})
    assert "env: The mapping of the environment needs an 'id'" in problem


def test_the_caller_s_configuration_is_not_changed():
    config = {"env": {"id": GUESS, "max_turns": 9}, "wrappers": [{"id": "concat"}]}
    before = repr(config)
    build(config)
    assert repr(config) == before


def test_a_factory_makes_independent_environments():
    factory = factory_from_config({"env": GUESS, "wrappers": ["concat"]})
    first, second = factory(), factory()
    first.reset(seed=0)
    second.reset(seed=0)
    first.step(r"\boxed{1}")
    assert second.unwrapped.turn_count == 0


def test_values_are_turned_into_the_annotated_types():
    seen = {}

    def make(*, size: tuple[int, int], names: list[str] | None = None):
        seen.update(size=size, names=names)
        return gem_core.make(GUESS).unwrapped

    from gem_core.config import part_kwargs

    assert part_kwargs(make, {"size": ["3", 4], "names": ["a"]}) == {"size": (3, 4), "names": ["a"]}


def test_a_key_that_is_nearly_one_of_ours_is_a_problem(subtests):
    for key, meant in NEARLY.items():
        with subtests.test(key=key):
            for config in ({"env": GUESS, key: None}, OmegaConf.create({"env": GUESS, key: None})):
                problem = f"  {key}: there is no such key. Did you mean {meant!r}?"
                assert problems(config) == [problem]


def test_keys_of_a_trainer_are_ignored():
    build({"env": GUESS, "lr": 1e-3, "model": "x", "trainer": {"steps": 3}, "algo": "rebn"})


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.text(max_size=3)
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["id", "a", "weight", "num_envs", 5, None]), inner)
    ),
    max_leaves=4,
)


@pytest.mark.slow
@EXAMPLES
@given(
    key=st.sampled_from(["env", "mixture", "tools", "wrappers", "tool_use", "vector"]), value=JUNK
)
def test_a_value_of_any_type_is_accepted_or_named(key, value):
    """Whatever a configuration has in the place of an entry, the error is a ``GemError``."""
    config = {"env": GUESS, "tools": ["python"], key: value}
    if key == "mixture":
        del config["env"]
    with contextlib.suppress(GemError):
        build(config).close()


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ({"mixture": 5}, "mixture: must be a mapping, a list or an id; got 5"),
        ({"env": GUESS, "tools": 5}, "tools: must be a mapping, a list or an id; got 5"),
        (
            {"env": GUESS, "wrappers": True},
            "wrappers: must be a mapping, a list or an id; got True",
        ),
        ({"env": GUESS, "tool_use": 5}, "tool_use: must be a mapping of parameters; got 5"),
    ],
)
def test_an_entry_of_the_wrong_type_is_named(config, line):
    assert problems(config) == [f"  {line}"]


@pytest.mark.parametrize("value", [list(range(1000)), {"a": "x\n" * 300}])
def test_a_long_value_is_cut_to_about_100_characters(value):
    (line,) = problems({"env": GUESS, "vector": {"num_envs": value}})
    assert line.startswith(f"  vector.num_envs: Input should be a valid integer; got {value!r:.60}")
    assert line.endswith(repr(value)[-35:])
    assert len(line) < 180


def test_what_is_not_a_mapping_is_no_configuration():
    for config in (5, None, "game:Sudoku-v0-easy"):
        with pytest.raises(ConfigError, match="A configuration is a mapping"):
            build(config)
