"""``register``, ``make`` and ``print_envs``."""

import pytest

import gem
from gem.envs.registration import ENV_REGISTRY, EnvSpec
from gem_core.errors import GemError, UnknownKwargError

MATH = {"question_key": "problem", "answer_key": "answer"}
QA = {"question_key": "question", "answer_key": "answer"}
CODE = {"question_key": "problem", "test_key": "tests"}
TASKS = {
    "math:ASDiv2K": {**MATH, "dataset_name": "axon-rl/ASDIV-2k"},
    "math:GSM8K": {**MATH, "dataset_name": "axon-rl/GSM-8k"},
    "math:Geometry3K": {
        **MATH,
        "image_key": "images",
        "dataset_name": "axon-rl/geometry3k",
        "split": "train",
    },
    "code:Taco8k": {**CODE, "dataset_name": "axon-rl/TACO-8k", "split": "train"},
    "logic:RuleTaker-d5": {
        **QA,
        "dataset_name": "axon-rl/RuleTaker-d5-70k",
        "split": "train",
        "extract_boxed": True,
    },
    "qa:HotpotQA": {
        **QA,
        "dataset_name": "axon-rl/HotpotQA",
        "split": "train",
        "question_key": "problem",
    },
    "eval:AIME24": {**MATH, "dataset_name": "axon-rl/math-eval", "split": "aime24"},
    "eval:CodeContest": {**CODE, "dataset_name": "axon-rl/CodeContest", "split": "test"},
    "eval:QaOpen": {
        **QA,
        "dataset_name": "google-research-datasets/nq_open",
        "split": "validation",
    },
    "rg:leg_counting": {"name": "leg_counting", "size": 500, "seed": 42},
}


class Echo(gem.Env):
    """As people write environments."""

    def __init__(self, word="hi", **_):
        self.word = word

    def reset(self, seed=None):
        super().reset(seed)
        return self.word, {}

    def step(self, action):
        return action, 1.0, True, True, {}


@pytest.fixture
def registered():
    """Register, and forget again."""
    before = dict(ENV_REGISTRY)
    yield gem.register
    ENV_REGISTRY.clear()
    ENV_REGISTRY.update(before)


@pytest.mark.parametrize("env_id", TASKS)
def test_tasks_have_the_parameters_of_gem_llm(env_id):
    assert ENV_REGISTRY[env_id].kwargs == TASKS[env_id]
    assert str(ENV_REGISTRY[env_id].entry_point).startswith("gem.envs.")


def test_a_new_environment_is_registered_and_made(registered):
    registered("test:Echo-v0", Echo, word="one")
    registered("no_namespace", entry_point=Echo)
    env = gem.make("test:Echo-v0")
    assert env.reset(seed=1) == ("one", {})
    assert (env.env_id, env.entry_point) == ("test:Echo-v0", Echo)
    assert gem.make(env_id="no_namespace", word="two").reset()[0] == "two"
    assert ENV_REGISTRY["test:Echo-v0"] == EnvSpec("test:Echo-v0", Echo, {"word": "one"})


def test_an_id_is_taken_once(registered):
    registered("test:Echo-v0", Echo)
    for env_id in ("test:Echo-v0", "game:Wordle-v0"):
        with pytest.raises(ValueError, match="already registered"):
            registered(env_id, Echo)


def test_an_unknown_id_names_near_ones():
    with pytest.raises(ValueError, match="Did you mean 'game:Wordle-v0") as raised:
        gem.make("game:Wordle-v00")
    assert isinstance(raised.value, GemError)


@pytest.mark.parametrize("entry_point", ["nowhere.at_all:Env", "gem.core:NoSuch"])
def test_an_entry_point_that_leads_nowhere_is_an_import_error(registered, entry_point):
    registered("test:Broken-v0", entry_point)
    module, _, name = entry_point.partition(":")
    with pytest.raises(ImportError, match=f"{module}.*{name}"):
        gem.make("test:Broken-v0")


@pytest.mark.slow
def test_what_gem_llm_does_not_have_is_made_by_gem_core():
    env = gem.make("mcp:Sample", seed=1)
    observation, info = env.reset(1)
    assert info["task_name"] in env.unwrapped.row["name"]
    assert observation
    assert env.env_id == "mcp:Sample"
    with pytest.raises(UnknownKwargError, match="verify_timeout"):
        gem.make("mcp:Sample", verify_timeou=1)


def test_what_gem_core_registers_later_is_found():
    import gem_core
    from gem_core import BaseEnv, Step

    class Coin(BaseEnv):
        def start(self):
            return "heads or tails?", {}

        def step(self, action):
            return Step("", 1.0, True, False, {})

    gem_core.register("test:Coin-v0", Coin)
    env = gem.make("test:Coin-v0", seed=3)
    assert env.reset(seed=1) == ("heads or tails?", {})
    assert tuple(env.step("heads")) == ("", 1.0, True, False, {})


def test_all_are_printed(capsys):
    gem.print_envs()
    said = capsys.readouterr().out
    assert said.count("Entry point:") == len(ENV_REGISTRY)
    assert "game:GuessTheNumber-v0-hard" in said
    assert "gem_tools.mcpmark" in said


def test_an_abstract_environment_cannot_be_made():
    class Half(gem.Env):
        def step(self, action):
            return None

    with pytest.raises(TypeError, match="reset"):
        Half()
    env = Echo()
    with pytest.raises(NotImplementedError):
        env.sample_random_action()
    with pytest.raises(NotImplementedError):
        env.spawn()
    env.close()
