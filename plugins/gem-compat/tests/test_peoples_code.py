"""Programs as people wrote them: seeds, stacks, vectors, own rows and scorers, names."""

import copy
import importlib
import inspect
import itertools
import pickle
import time

import pytest
from selection import some

import gem
from gem.core import EnvWrapper
from gem.envs.multiagent import MultiAgentEnv
from gem.envs.reasoning_gym import ReasoningGymEnv
from gem.envs.registration import ENV_REGISTRY, EnvSpec
from gem.tools.base_tool import BaseTool
from gem.tools.python_code_tool import PythonCodeTool
from gem.tools.search_tool import SearchTool
from gem.tools.tool_env_wrapper import ToolEnvWrapper
from gem.utils.math_grader import mathd_normalize_answer
from gem.wrappers.observation_wrapper import ObservationWrapper
from gem.wrappers.wrapper_factory import get_wrapper_fns
from gem_core.errors import ConfigError

SAMPLES = ["math:Sample", "qa:Sample", "logic:Sample", "code:Sample"]
KINDS = [*SAMPLES, "rg:leg_counting", "game:Wordle-v0", "game:Sokoban-v0-easy", "mcp:Sample"]


@pytest.fixture
def registered():
    """The table of ids, which is the same again after the test."""
    before = dict(ENV_REGISTRY)
    yield ENV_REGISTRY
    ENV_REGISTRY.clear()
    ENV_REGISTRY.update(before)


# Seeds


@pytest.mark.slow
def test_every_id_takes_any_seed(subtests):
    for env_id in KINDS:
        for seed in (None, -1, -(2**40), 2**31, 2**70, 1.5, time.time_ns()):
            with subtests.test(f"{env_id} {seed}"):
                env = gem.make(env_id, seed=seed)
                assert isinstance(env.reset()[1], dict)
                assert isinstance(env.reset(seed=seed)[1], dict)


@pytest.mark.slow
def test_any_seed_repeats_the_same_episode(subtests):
    for env_id in KINDS:
        for seed in (-1, 2**31, 2**70):
            with subtests.test(f"{env_id} {seed}"):
                first, again = (gem.make(env_id, seed=seed).reset(seed=seed) for _ in "12")
                assert str(again[0]) == str(first[0])


def test_seeds_of_different_sign_differ_and_others_are_refused():
    one, other = (gem.make("game:GuessTheNumber-v0", seed=s, max_number=10**6) for s in (5, -5))
    assert one.game_number != other.game_number
    for seed in ("1", float("nan"), [1]):
        with pytest.raises(ConfigError, match="A seed is a number or None"):
            gem.make("game:GuessTheNumber-v0", seed=seed)


@pytest.mark.slow
def test_every_seed_works_in_a_vector():
    vector = gem.make_vec(["rg:leg_counting", "math:Sample"], seed=-1)
    assert len(vector.reset(seed=-7)[0]) == 2
    assert len(vector.reset(seed=[None, 2**40])[0]) == 2
    vector.close()


# Copies


def pickled(value):
    return pickle.loads(pickle.dumps(value))


COPIES = [copy.deepcopy, pickled]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*the episode has ended")
@pytest.mark.parametrize(("env_id", "copied"), some(itertools.product(KINDS, COPIES)))
def test_stacks_with_tools_are_copied_and_pickled_in_use(env_id, copied):
    env = gem.make(env_id, seed=1)
    wrappers = "python_tool,concat_with_action,episode_tracking"
    for wrapper in get_wrapper_fns(wrappers):
        env = wrapper(env)
    env.reset(seed=2)
    env.step("<python>print(6 * 7)</python>")
    twin = copied(env)
    observation, *_, info = twin.step("<python>print(7 * 7)</python>")
    assert "42" in observation
    assert "49" in observation
    assert (info["tool_use_counter"], info["step_counter"]) == (2, 2)
    assert env.step("<python>print(1)</python>")[4]["tool_use_counter"] == 2
    twin.reset()
    twin.close()
    assert "Code execution result: 3" in env.step("<python>print(1 + 2)</python>")[0]


class Noting(PythonCodeTool):
    """As ROLL's: a constructor of its own, and state."""

    def __init__(self, note, timeout=5):
        super().__init__(timeout, "none", True)
        self.notes = [note]


class Echo(BaseTool):
    tool_type = "echo"

    def instruction_string(self):
        return "Write a !"

    def execute_action(self, action):
        return "!" in action, False, action, action


@pytest.mark.slow
@pytest.mark.parametrize("copied", COPIES)
def test_tools_are_copied_with_their_state(copied):
    tool = Noting("a")
    assert "2" in tool.execute_action("<python>print(2)</python>")[2]
    twin = copied(tool)
    twin.notes.append("b")
    assert tool.notes == ["a"]
    assert "3" in twin.execute_action("<python>print(3)</python>")[2]
    assert copied(SearchTool(topk=7)).topk == 7
    env = ToolEnvWrapper(gem.make("math:Sample"), [Echo(), Noting("c")], max_tool_uses=2)
    env.reset()
    assert copied(env).step("hello!")[4]["tool_type"] == "echo"


def test_a_group_gets_copies_of_one_environment():
    env = gem.make("math:Sample", seed=3)
    question = env.reset(seed=4)[0]
    group = [copy.deepcopy(env) for _ in range(4)]
    answers = [rf"\boxed{{{env.answer}}}", r"\boxed{no idea}"] * 2
    rewards = [one.step(answer)[1] for one, answer in zip(group, answers, strict=True)]
    assert rewards == [1.0, 0.0, 1.0, 0.0]
    assert {one.first_obs for one in group} == {question}
    assert len({one.reset()[0] for one in group}) == 1


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("async_mode", [False, True])
def test_vectors_are_copied_too(async_mode, copied):
    vector = gem.make_vec(["math:Sample"] * 2, async_mode=async_mode, seed=1)
    vector.reset()
    twin = copied(vector)
    answers = [rf"\boxed{{{env.answer}}}" for env in twin.envs]
    assert list(twin.step(answers)[1]) == list(vector.step(answers)[1]) == [1.0, 1.0]
    twin.close()
    vector.close()


# Vectors


@pytest.mark.parametrize("async_mode", [False, True])
def test_vectors_take_the_arguments_that_trainers_give(async_mode):
    vector = gem.make_vec(
        ["math:Sample"] * 3,
        vec_kwargs=[{"seed": 3}, {"seed": -3}, {"eval": True}],
        wrappers=get_wrapper_fns("concat"),
        async_mode=async_mode,
    )
    observations, _ = vector.reset(env0_kwargs={"idx": 2}, env2_kwargs={"idx": 0}, env1_kwargs=None)
    assert vector.envs[2].reset(idx=0)[0] == observations[2]
    assert vector.envs[0].reset()[0] != observations[0]
    vector.envs[1] = copy.deepcopy(vector.envs[0])
    action = rf"\boxed{{{vector.envs[0].unwrapped.answer}}}"
    assert list(vector.step({0: action, 1: action})[1]) == [1.0, 1.0]
    vector.close()


@pytest.mark.parametrize("async_mode", [False, True])
def test_a_vector_may_be_empty(async_mode):
    vector = gem.make_vec([], async_mode=async_mode)
    assert (vector.num_envs, vector.envs, vector.reset(seed=1)) == (0, [], ([], []))
    observations, rewards, terminated, truncated, infos = vector.step([])
    assert (observations, infos) == ([], [])
    assert rewards.shape == terminated.shape == truncated.shape == (0,)
    vector.close()


# reasoning-gym, as SPADE uses it


def rows_of(name, **config):
    import reasoning_gym

    return reasoning_gym.create_dataset(name, **config)


class Hard(ReasoningGymEnv):
    """Rows and a scorer of its own."""

    def __init__(self, name, size, seed, **config):
        super().__init__(name=name, size=size, seed=seed)
        self.idx = 0
        self.ds = rows_of(name, size=size, seed=seed, **config)
        self.ds_iter = iter(self.ds)

    def reward_fn(self, answer, entry):
        return 0.75 if answer == entry["answer"] else 0.25


@pytest.mark.slow
def test_a_registered_subclass_has_rows_and_a_scorer_of_its_own(registered):
    kwargs = {"name": "leg_counting", "size": 3, "seed": 5, "min_animals": 9, "max_animals": 9}
    registered["rg:leg_counting-hard"] = EnvSpec(
        id="rg:leg_counting-hard", entry_point=Hard, kwargs=kwargs
    )
    env = gem.make("rg:leg_counting-hard", seed=8)
    rows = list(rows_of(**{**kwargs, "seed": 8}))
    for number, row in enumerate([*rows, rows[0]], 1):
        assert env.reset()[0] == row["question"]
        assert env.idx == number
        assert env.step(rf"\boxed{{{row['answer']}}}")[1:4] == (0.75, True, True)
        assert env.step("no box")[1] == 0.25
    assert env.reset(idx=1)[0] == rows[1]["question"]
    assert copy.deepcopy(env).data == env.data
    assert env.reset(seed=3)[0] in [row["question"] for row in rows]
    other = env.spawn(same_state=True)
    assert other.step(rf"\boxed{{{env.data['answer']}}}")[1] == 0.75
    state = env.get_state()
    env.reset()
    env.set_state(state)
    assert env.data == other.data


@pytest.mark.slow
def test_a_scorer_may_be_assigned_and_the_dataset_read():
    env = ReasoningGymEnv("leg_counting", size=3, seed=1)
    questions = [row["question"] for row in env.ds]
    assert len(env.ds) == 3
    assert [env.reset()[0] for _ in range(3)] == questions
    assert next(iter(env.ds_iter))["question"] == questions[0]
    assert env.step(rf"\boxed{{{env.data['answer']}}}")[1] == 1.0
    assert env.reward_fn(answer=env.data["answer"], entry=env.data) == 1.0
    env.reward_fn = lambda answer, entry: 0.5
    assert env.step(r"\boxed{0}")[1] == 0.5
    env.idx = 1
    assert env.reset()[0] == questions[1]


def test_only_the_rows_may_be_assigned():
    env = ReasoningGymEnv("leg_counting", size=3, seed=1)
    env.ds = [{"question": f"{n}?", "answer": str(n), "metadata": {}} for n in range(2)]
    env.reward_fn = lambda answer, entry: float(answer == entry["answer"])
    assert [env.reset()[0] for _ in range(3)] == ["0?", "1?", "0?"]
    assert env.step(r"\boxed{0}")[1] == 1.0
    with pytest.raises(ConfigError, match="from 0 to 1"):
        env.reset(idx=2)


# AgileRL, wrappers, names


def test_makers_wrappers_and_signatures_are_where_trainers_look_them_up():
    module, _, name = "gem:make".partition(":")
    env = getattr(importlib.import_module(module), name)("game:GuessTheNumber-v0-easy")
    assert env.max_turns == 4
    assert "seed" in inspect.signature(env.reset).parameters
    for wrapper in get_wrapper_fns("python_tool,concat,episode_tracking"):
        env = wrapper(env)
        assert env.max_turns == 4
        assert "seed" in inspect.signature(env.reset).parameters
    assert gem.envs.registration.ENV_REGISTRY is ENV_REGISTRY
    assert gem.core.Env is gem.Env


class Shouting(ObservationWrapper):
    def observation(self, info):
        return super().observation(info).upper()


def test_an_observation_wrapper_may_be_subclassed():
    env = Shouting(gem.make("game:Wordle-v0", seed=1), include_chat_template=False)
    observation, info = env.reset()
    assert observation.startswith("YOU ARE PLAYING WORDLE")
    assert env.step(r"\boxed{crane}")[0].startswith(observation[:100])
    assert env.observation(info).endswith("YOUR NEXT GUESS:")


class Marking(EnvWrapper):
    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward + 1, terminated, truncated, info


def test_wrappers_of_people_are_copied():
    env = Marking(gem.make("math:Sample"))
    env.reset()
    assert copy.deepcopy(env).step("x")[1] == 1.0
    assert pickle.loads(pickle.dumps(env)).step("x")[1] == 1.0


class Table(MultiAgentEnv):
    possible_agents = ("ann", "bob")

    def observe(self, agent):
        return f"for {agent}"

    def _process_actions(self, actions):
        return {}, {}, {}, {}, {}


def test_several_agents_are_named_by_keyword():
    env = Table()
    env.reset()
    env.add_agent(agent_id="cy")
    env.send_message(from_agent="ann", to_agent="bob", message="hi")
    env.broadcast_message(from_agent="cy", message="all")
    assert [one["to"] for one in env.shared_memory] == ["bob", "ann", "bob"]
    assert env.get_state(agent_id="ann")[0] == "for ann"
    env.remove_agent(agent_id="cy")
    assert env.agents == ["ann", "bob"]


NORMAL = [
    (None, None),
    (" 5 ", "5"),
    (r"\frac12", r"\frac{1}{2}"),
    ("0.5", r"\frac{1}{2}"),
    (".5", r"\frac{1}{2}"),
    ("3/4", r"\frac{3}{4}"),
    ("x=5", "5"),
    (r"5\text{ cm}", "5"),
    (r"\sqrt2", r"\sqrt{2}"),
    (r"\text{A}", "A"),
    (r"90^\circ", "90"),
    ("1,000", "1,000"),
    (r"\left(1, 2\right)", "(1,2)"),
]


def test_answers_are_normalised_as_by_math(subtests):
    for answer, normal in NORMAL:
        with subtests.test(answer):
            assert mathd_normalize_answer(answer) == normal


@pytest.mark.slow
def test_the_time_server_has_its_helpers():
    pytest.importorskip("mcp", reason="the time server needs gem-compat[mcp]")
    from gem.tools.mcp_server import time_mcp

    moment = time_mcp._parse_dt("2024-02-03 04:05:06.5")
    assert (moment.hour, moment.microsecond) == (4, 500_000)
    assert moment.tzinfo is not None
    assert time_mcp._parse_dt("2024-02-03 04:05:06").second == 6
    assert time_mcp._parse_date("2024-02-03").day == 3
    with pytest.raises(ValueError, match="does not match"):
        time_mcp._parse_date("today")
    form = time_mcp._moment_to_strftime("MM/DD/YYYY")
    assert moment.strftime(form) == "02/03/2024"
    assert time_mcp._moment_to_strftime("other") == "other"
    assert time_mcp.days_in_month("2024-02-03") == 29
