"""What trainers do with gem-llm, in code written as theirs is, one part for each trainer.

ROLL replaces constructors, resets and steps of the tasks, of the Python tool and of the wrapper of
tools, and grades in a pool of processes of its own. RL2 keeps a pool of environments.
``test_peoples_code.py`` has vectors, copies and seeds as Oat and tinker use them.
"""

import asyncio
import copy
import multiprocessing
import random
import re
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from omegaconf import OmegaConf

import gem
from gem import Env
from gem.core import Env as CoreEnv
from gem.envs.code_env import CodeEnv as GEMCodeEnv
from gem.envs.math_env import MathEnv as GEMMathEnv
from gem.envs.qa_env import QaEnv as GEMQaEnv
from gem.envs.registration import ENV_REGISTRY
from gem.tools.python_code_tool import PythonCodeTool as GEMPythonCodeTool
from gem.tools.tool_env_wrapper import ToolEnvWrapper as GEMToolEnvWrapper
from gem.utils.constants import TERMINAL_STATE
from gem.utils.parsing import extract_code_from_model, extract_last_boxed_answer
from gem.utils.sandbox import run_python
from gem.wrappers.wrapper_factory import get_wrapper_fns
from gem_core.specs import load_entry_point

# ROLL


MATHS = [{"problem": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(8)]


def metrics(is_valid, reward):
    return {
        "metrics": {"action_is_valid": is_valid, "success": reward > 0, "raw_reward": reward},
        "metrics_agg_mode": {"action_is_valid": "mean", "success": "last", "raw_reward": "last"},
    }


class MathEnv(GEMMathEnv):
    """Sets every attribute by itself, and gets its rows elsewhere."""

    def __init__(self, dataset_name="", split=None, dataset=None, seed=0, mode="train", **_):
        Env.__init__(self)
        self.seed = seed
        self.question_key, self.answer_key = "problem", "answer"
        self.mode = mode
        self.dataset = dataset
        self.idx = 0
        self.epoch = 0
        self.mp_pool = multiprocessing.get_context("spawn").Pool(1)

    def reset(self, seed=None):
        Env.reset(self, seed)
        data = self.dataset.pop(0) if self.dataset else None
        if data is None:
            return None, None
        self.first_obs = data[self.question_key]
        self.answer = data[self.answer_key]
        self.idx += 1
        return self.first_obs, {"env_instruction": ""}

    def step(self, action):
        answer = extract_last_boxed_answer(action)
        if answer is None:
            return TERMINAL_STATE, 0, True, True, metrics(False, 0)
        result = self.mp_pool.apply_async(self.check_correct, (answer, self.answer))
        try:
            is_correct = result.get(timeout=60)
        except multiprocessing.TimeoutError:
            is_correct = False
        reward = 1.0 if is_correct else 0
        return TERMINAL_STATE, reward, True, True, metrics(True, reward)


class QaEnv(GEMQaEnv):
    """Replaces the reset, which draws from the global generator, and the step."""

    def __init__(self, dataset=None, seed=0, extract_boxed=False, **_):
        super().__init__(dataset=dataset, seed=seed, extract_boxed=extract_boxed, **_)

    def reset(self, seed=None):
        CoreEnv.reset(self, seed)
        if seed is not None:
            self.idx = random.randint(0, len(self.dataset) - 1)
        elif self.idx == len(self.dataset):
            self.epoch += 1
            self.dataset = self.dataset.shuffle(seed=self.seed + self.epoch)
            self.idx = 0
        data = self.dataset[self.idx]
        self.first_obs = data[self.question_key]
        self.answer = data[self.answer_key]
        self.idx += 1
        return self.first_obs, {}

    def step(self, action):
        answer = self.extractor(action)
        reward = 1.0 if answer is not None and self.check_correct(answer, self.answer) else 0.0
        return TERMINAL_STATE, reward, True, True, metrics(answer is not None, reward)


class CodeEnv(GEMCodeEnv):
    """Replaces the step."""

    def step(self, action):
        code = extract_code_from_model(action)
        reward = 1.0 if code is not None and self._check_correct(code) else 0.0
        return TERMINAL_STATE, reward, True, True, metrics(code is not None, reward)


class PythonCodeTool(GEMPythonCodeTool):
    """Looks for other marks, and runs and shows by itself."""

    def __init__(self, timeout=5, sandbox_type="none", keep_error_last_line=False, patterns=None):
        super().__init__(timeout, sandbox_type, keep_error_last_line)
        self.patterns = patterns or [r"<code>(.*?)</code>", r"```\n?python(.*?)```"]

    def _parse_action(self, action):
        code, parsed, is_valid, end = None, action, False, len(action)
        for pattern in self.patterns:
            match = re.search(pattern, action, re.DOTALL)
            if match:
                is_valid = True
                if match.end() <= end:
                    code, parsed, end = match[1].strip(), action[: match.end()], match.end()
        return code, parsed, is_valid

    def instruction_string(self):
        return "Write <code>."

    def execute_action(self, action):
        code, parsed, is_valid = self._parse_action(action)
        if not is_valid:
            return False, True, "", parsed
        success, stdout, stderr = run_python(code, self.sandbox_type, timeout=self.timeout)
        if stderr and self.keep_error_last_line:
            stderr = stderr.split("\n")[-1]
        shown = (f"{stdout}\n{stderr}" if stderr else stdout).lstrip(" \n")
        failed = not success or not shown
        return True, failed, f"Code execution result: {shown}\n", parsed


class OtherMarks(GEMPythonCodeTool):
    """Looks for other marks only."""

    def _parse_action(self, action):
        before, found, code = action.partition("RUN ")
        return code, action, bool(found)


class ToolEnvWrapper(GEMToolEnvWrapper):
    """Moves the counters out of info."""

    def reset(self, seed=None):
        observation, info = super().reset(seed=seed)
        return observation, self.moved(info)

    def step(self, action, verbose=False):
        *rest, info = super().step(action, verbose)
        return (*rest, self.moved(info))

    def moved(self, info):
        names = ("tool_use_counter", "tool_success_counter")
        info["metrics"] = {name: info.pop(name) for name in names} | info.pop("metrics", {})
        return info


@pytest.fixture
def registered():
    before = dict(ENV_REGISTRY)
    gem.register("roll_math", entry_point=MathEnv)
    gem.register("roll_code", entry_point=CodeEnv)
    gem.register("roll_qa", entry_point=QaEnv)
    yield
    ENV_REGISTRY.clear()
    ENV_REGISTRY.update(before)


@pytest.mark.slow
@pytest.mark.usefixtures("registered")
def test_mathematics_is_graded_in_the_trainers_own_pool():
    config = {"dataset": MATHS[:2], "mode": "val", "unknown": 1}
    env = gem.make(env_id="roll_math", **config)
    assert isinstance(env, gem.Env)
    try:
        observation, info = env.reset(seed=11)
        assert (observation, info) == ("What is 0 + 0?", {"env_instruction": ""})
        env.reset(seed=12)
        *_, terminated, truncated, info = env.step(action=r"It is \boxed{2}")
        assert (terminated, truncated, info["metrics"]["success"]) == (True, True, True)
        assert env.step(action=r"\boxed{\frac{4}{2}}")[1] == 1.0
        assert env.step(action=r"\boxed{3}")[1] == 0
        assert env.step(action="2")[4]["metrics"]["action_is_valid"] is False
        assert env.reset(seed=13) == (None, None)
    finally:
        env.close()


@pytest.mark.slow
@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("extract_boxed", [False, True])
def test_questions_of_one_seed_are_the_same_in_a_group(extract_boxed):
    import datasets

    rows = [{"question": f"Word {i}?", "answer": f"w{i}"} for i in range(20)]
    config = {"dataset": datasets.Dataset.from_list(rows), "extract_boxed": extract_boxed}
    group = [gem.make(env_id="roll_qa", seed=0, **config) for _ in range(3)]
    for seed in (1, 2, 3):
        firsts = {env.reset(seed=seed)[0] for env in group}
        assert len(firsts) == 1
    assert len({group[0].reset(seed=seed)[0] for seed in range(12)}) > 4
    (first,) = firsts
    assert ("boxed" in first) is extract_boxed
    env = group[0]
    marks = (r"\boxed{", "}") if extract_boxed else ("<answer>", "</answer>")
    assert env.step(action=env.answer.join(marks))[1] == 1.0
    assert env.step(action=env.answer)[4]["metrics"]["action_is_valid"] is False
    env.idx = len(rows)
    assert env.reset()[0]
    assert env.epoch == 1


@pytest.mark.usefixtures("registered")
def test_programs_are_judged():
    rows = [{"problem": "Double.", "tests": '{"inputs": ["2"], "outputs": ["4"]}'}]
    env = gem.make(env_id="roll_code", dataset=rows, max_workers=2, sandbox_type="none", other=1)
    env.reset(seed=5)
    assert env.step(action="```python\nprint(2 * int(input()))\n```")[1] == 1.0
    assert env.step(action="```python\nprint(5)\n```")[1] == 0.0
    assert env.step(action="none")[4]["metrics"]["action_is_valid"] is False


@pytest.mark.slow
@pytest.mark.usefixtures("registered")
def test_tools_go_round_a_task():
    tools = [PythonCodeTool(timeout=5, keep_error_last_line=True)]
    arguments = {"tool_reward": 0.1, "tool_success_reward": 0.2, "max_tool_uses": 2}
    env = ToolEnvWrapper(gem.make(env_id="roll_math", dataset=MATHS[:1]), tools, **arguments)
    try:
        observation, info = env.reset(seed=1)
        assert observation == "What is 0 + 0?\nWrite <code>."
        assert info["metrics"] == {"tool_use_counter": 0, "tool_success_counter": 0}
        observation, reward, *_, info = env.step(action="so <code>print(2**5)</code> and")
        assert (observation, reward) == ("Code execution result: 32\n\n", pytest.approx(0.3))
        assert info["metrics"] == {"tool_use_counter": 1, "tool_success_counter": 1}
        assert (info["parsed_action"], info["use_tool"]) == ("so <code>print(2**5)</code>", True)
        observation, reward, *_ = env.step("```python\n1/0\n```", False)
        assert observation.startswith("Code execution result: ZeroDivisionError: division by zero")
        assert reward == pytest.approx(0.1)
        _, reward, terminated, truncated, info = env.step(action=r"\boxed{0}")
        assert (reward, terminated, truncated) == (1.0, True, True)
        assert info["use_tool"] is False
        assert info["metrics"]["tool_use_counter"] == 2
        assert info["metrics"]["success"] is True
    finally:
        env.close()


def test_a_subclass_may_replace_only_what_is_looked_for():
    valid, failed, output, _ = OtherMarks(5, "none").execute_action("please RUN print(3)")
    assert (valid, failed, output) == (True, False, "Code execution result: 3\n\n")


@pytest.mark.parametrize(
    "entry_point",
    ["gem.tools.search_tool:SearchTool", "gem.tools.python_code_tool:PythonCodeTool"],
)
def test_tools_are_made_by_entry_point(entry_point):
    tool = load_entry_point(entry_point)(timeout=3)
    assert tool.timeout == 3


def test_the_base_class_is_one_and_takes_attributes():
    assert Env is CoreEnv is gem.Env

    class Grid:
        """Another base, as a grid world of another library would be."""

        def __init__(self, size):
            self.size = size

    class GridEnv(Env, Grid):
        def __init__(self, size=4, **kwargs):
            Grid.__init__(self, size)
            Env.__init__(self)
            self.__setattr__("late", kwargs)

        def reset(self, seed=None):
            Env.reset(self, seed)
            return random.randint(0, 10**9), {}

        def step(self, action):
            return action, 0.0, False, False, {"suffix": "next"}

    env = GridEnv(size=3, other=1)
    assert (env.size, env.late) == (3, {"other": 1})
    assert env.reset(seed=3) == env.reset(seed=np.int64(3))
    assert env.reset(seed=3) != env.reset(seed=4)


@pytest.mark.parametrize(
    "env_id",
    [
        *(f"game:{name}-v0" for name in ("GuessTheNumber", "Mastermind", "Wordle", "Hangman")),
        *(f"game:{name}-v0" for name in ("Minesweeper", "FifteenPuzzle", "Sudoku", "TowerofHanoi")),
        "game:Sudoku-v0-easy",
        "rg:letter_counting",
    ],
)
def test_a_manager_of_episodes_can_play_the_ids_of_its_configurations(env_id):
    env = gem.make(env_id=env_id)
    observation, info = env.reset(seed=9)
    assert observation is not None
    info.pop("suffix", None)
    observation, reward, terminated, truncated, info = env.step(action=env.sample_random_action())
    assert isinstance(observation, str)
    assert isinstance(reward, float)
    assert isinstance(terminated, bool)
    assert isinstance(truncated, bool)
    assert not info.get("use_tool", False)


def test_the_ids_of_its_other_configurations_are_registered():
    wanted = {
        *("math:ASDiv2K", "math:DeepScaleR40K", "math:Math12K", "math:Math8K-3to5"),
        *("code:CodeContest", "code:PrimeIntellect15k", "code:Taco8k", "qa:NaturalQuestions"),
        *(f"logic:RuleTaker-d{depth}" for depth in (0, 1, 2, 3, 5)),
        *("rg:advanced_geometry", "rg:leg_counting", "rg:sokoban"),
    }
    assert not wanted - set(ENV_REGISTRY)


@pytest.mark.parametrize(
    ("env_id", "config"),
    [
        ("game:GuessTheNumber-v0", {"min_number": 1, "max_number": 20}),
        ("game:Mastermind-v0", {"code_length": 4, "num_numbers": 6, "duplicate_numbers": False}),
        ("game:Wordle-v0", {"word_length": 5}),
        ("game:Minesweeper-v0", {"rows": 8, "cols": 8, "num_mines": 10}),
        ("game:FifteenPuzzle-v0", {"num_rows": 3}),
    ],
)
def test_the_parameters_of_games_come_from_a_composed_configuration(env_id, config):
    composed = OmegaConf.create({"most": 6, "config": {**config, "max_turns": "${most}"}})
    env = gem.make(env_id=env_id, **composed.config)
    assert {name: getattr(env, name) for name in config} == config
    assert env.max_turns == 6
    env.reset(seed=1)


def test_the_wrapper_of_tools_is_made_from_a_configuration():
    config = OmegaConf.create(
        {
            "wrapper_args": {"tool_reward": 0.5, "tool_success_reward": 0, "max_tool_uses": 2},
            "tool_configs": [{"timeout": 5, "patterns": ["RUN (.*)"]}],
        }
    )
    tools = [PythonCodeTool(**arguments) for arguments in config.tool_configs]
    env = ToolEnvWrapper(gem.make(env_id="game:GuessTheNumber-v0"), tools, **config.wrapper_args)
    env.reset(seed=1)
    observation, reward, *_ = env.step(action="RUN print(3)")
    assert (observation, reward) == ("Code execution result: 3\n\n", 0.5)


@contextmanager
def all_seed(seed):
    """Seed the global generators for a while."""
    before = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])


class ChatEnv(Env):
    """Shows the conversation so far as a list of messages, and takes one message."""

    def __init__(self, max_steps=2, **kwargs):
        object.__setattr__(self, "_failed", False)
        super().__init__()
        self.config, self.max_steps, self.current_step = kwargs, max_steps, 0

    @property
    def env_reset_failed(self):
        return self._failed

    def reset(self, seed=None):
        super().reset(seed=seed)
        object.__setattr__(self, "_failed", seed == 13)
        with all_seed(seed):
            self.number = int(np.random.randint(10**6)) + random.randint(1, 9)
        self.messages = [{"role": "user", "content": f"Repeat {self.number}."}]
        self.current_step = 0
        return copy.deepcopy(self.messages), {"tools": [], "error_msg": ""}

    def step(self, action):
        self.current_step += 1
        self.messages.append(action)
        done = self.current_step == self.max_steps
        reward = float(str(self.number) in action["content"])
        return copy.deepcopy(self.messages), reward, done, done, {"metrics": {"raw_reward": reward}}


class LoudChatEnv(ChatEnv):
    """Adds a message, and calls the methods that it inherits."""

    def reset(self, seed=None):
        messages, info = super().reset(seed)
        return [{"role": "system", "content": "Shout."}, *messages], info

    def close(self):
        super().close()
        self.is_closed = True


@pytest.mark.usefixtures("registered")
def test_environments_that_are_imported_later_may_show_messages(monkeypatch):
    gem.register("chat", entry_point="late_chats:LoudChatEnv")
    monkeypatch.setitem(sys.modules, "late_chats", sys.modules[__name__])
    env = gem.make(env_id="chat", max_steps=2, reward="last")
    messages, info = env.reset(seed=5)
    assert [one["role"] for one in messages] == ["system", "user"]
    assert (info["tools"], env.env_reset_failed) == ([], False)
    assert env.reset(seed=5)[0] == messages
    assert env.reset(seed=6)[0] != messages
    env.reset(seed=5)
    answer = {"role": "assistant", "content": str(env.number)}
    observation, reward, terminated, *_ = env.step(action=answer)
    assert (observation[-1], reward, terminated) == (answer, 1.0, False)
    assert env.step(action={**answer, "content": ""})[1:4] == (0.0, True, True)
    env.reset(seed=13)
    assert env.env_reset_failed
    env.close()
    assert env.is_closed


@pytest.mark.parametrize(
    "env_id", ["game:Wordle-v0", "game:Sudoku-v0-easy", "rg:letter_counting", "math:Sample"]
)
def test_a_group_of_threads_starts_alike(env_id):
    def play(member):
        """Play two episodes, as the manager of an environment does."""
        env = gem.make(env_id=env_id, seed=7)
        seen = []
        for seed in (7, 8):
            observation, info = env.reset(seed=seed)
            seen.append(observation)
            history = [{"observation": observation, **info}]
            for _ in range(3):
                observation, reward, terminated, truncated, info = env.step(action=f"no {member}")
                suffix = info.pop("suffix", None)
                history[-1].update(info, reward=reward)
                history.append({"observation": observation, "suffix": suffix})
                if terminated or truncated:
                    break
        return seen

    with ThreadPoolExecutor(4) as pool:
        played = list(pool.map(play, range(4)))
    assert all(one == played[0] for one in played)


# RL2


def pool_of(env_id, number, wrappers=""):
    """Make the environments that its episodes share, with seeds of their own."""
    pool = []
    for index in range(number):
        env = gem.make(env_id=env_id, seed=233 + index)
        for wrapper in get_wrapper_fns(wrappers, tokenizer=None):
            env = wrapper(env)
        pool.append(env)
    return pool


def test_episodes_take_turns_with_a_pool_of_environments():
    pool = pool_of("rg:letter_counting", 4)
    free, used, busy = deque(range(4)), [], set()
    semaphore = asyncio.Semaphore(4)

    async def episode(number):
        await semaphore.acquire()
        index = free.popleft()
        assert index not in busy
        busy.add(index)
        prompt, _ = pool[index].reset()
        await asyncio.sleep(0)
        answer = pool[index].data["answer"] if number % 2 else "none"
        prompt_after, reward, terminated, truncated, _ = pool[index].step(rf"\boxed{{{answer}}}")
        used.append(index)
        busy.remove(index)
        if terminated or truncated:
            free.append(index)
            semaphore.release()
        return prompt, f"Question: {prompt_after}", reward

    async def play():
        return await asyncio.gather(*(episode(number) for number in range(24)))

    prompts, after, rewards = zip(*asyncio.run(play()), strict=True)
    assert set(used) == set(range(4))
    assert len(set(prompts)) > 4
    assert set(after) == {f"Question: {TERMINAL_STATE}"}
    assert list(rewards[1::2]) == [1.0] * 12
    assert set(rewards[::2]) == {0.0}


def test_a_pool_is_the_same_in_the_next_run():
    first, second = ([env.reset()[0] for env in pool_of("rg:letter_counting", 4)] for _ in "12")
    assert first == second
    assert len(set(first)) == 4


@pytest.mark.parametrize("wrappers", ["concat", "python_tool,concat_with_action,episode_tracking"])
def test_its_environments_may_have_wrappers_and_several_turns(wrappers):
    (env,) = pool_of("game:GuessTheNumber-v0", 1, wrappers)
    prompt, _ = env.reset()
    assert isinstance(prompt, str)
    done, turns = False, 0
    while not done:
        following, reward, terminated, truncated, _ = env.step(env.sample_random_action())
        assert isinstance(following, str)
        assert isinstance(reward, float)
        done, turns = terminated or truncated, turns + 1
    assert 1 <= turns <= 10
    assert env.reset()[0] != prompt
