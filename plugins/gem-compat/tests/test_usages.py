"""What gem-llm's pages and examples show is run as it is written there, in short."""

import os
import subprocess
import sys

import pytest

import gem
from gem.tools.python_code_tool import PythonCodeTool
from gem.tools.search_tool import SearchTool
from gem.tools.tool_env_wrapper import ToolEnvWrapper
from gem.utils import debug
from gem.wrappers.wrapper_factory import WRAPPER_FACTORY, get_wrapper_fns
from gem_rollout.models.tiny_model import make_tiny_tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return make_tiny_tokenizer()


@pytest.fixture(scope="module")
def search_url():
    """A retrieval server over the corpus that comes with gem-tools, as a program of its own."""
    command = [sys.executable, "-m", "gem.tools.search_engine.retrieval_server"]
    command += ["--retriever_name", "bm25", "--port", "0", "--num_workers", "1"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1]
    finally:
        server.terminate()
        server.wait(timeout=60)
        server.stdout.close()


def test_the_loop_of_the_readme_ends_an_episode():
    env = gem.make("game:GuessTheNumber-v0")
    observation, info = env.reset()
    steps = 0
    while True:
        action = env.sample_random_action()
        next_observation, reward, terminated, truncated, info = env.step(action)
        steps += 1
        if terminated or truncated:
            break
    assert 1 <= steps <= 10
    assert observation != next_observation


def test_the_python_tool_shows_its_result_in_a_chat(tokenizer):
    env = gem.make("math:Sample", seed=0)
    env = ToolEnvWrapper(env, tools=[PythonCodeTool(timeout=5)])
    env = WRAPPER_FACTORY["concat_chat"](env, tokenizer=tokenizer)
    observation, info = env.reset()
    assert observation.startswith("<|im_start|>user\n")
    assert observation.endswith("<|im_start|>assistant\n")
    action = "Let me compute it.\n```python\nprint(6 * 7)\n```\nNow I know."
    observation, reward, terminated, truncated, info = env.step(action)
    assert info["use_tool"]
    assert not terminated
    assert "<|im_start|>assistant\nLet me compute it.\n```python\nprint(6 * 7)\n```<|im_end|>" in (
        observation
    )
    assert "<|im_start|>tool\nCode execution result: 42\n" in observation
    _, reward, terminated, truncated, info = env.step(rf"\boxed{{{env.unwrapped.answer}}}")
    assert (reward, terminated, truncated, info["use_tool"]) == (1.0, True, True, False)


@pytest.mark.slow
def test_the_search_tool_shows_its_documents_in_a_chat(tokenizer, search_url, monkeypatch):
    monkeypatch.setenv("SEARCH_URL", search_url)
    env = gem.make("qa:Sample", seed=0)
    for wrapper in get_wrapper_fns("search_tool,concat_chat", tokenizer=tokenizer):
        env = wrapper(env)
    observation, _ = env.reset(seed=1)
    assert "<information>" in observation
    query = "<think>I do not know.</think><search>highest mountain</search>"
    observation, reward, terminated, _, info = env.step(query)
    assert (reward, terminated, info["tool_type"]) == (0.3, False, "search")
    assert "<|im_start|>tool\n\n\n<information>Doc 1(Title: " in observation
    gold = env.unwrapped.answer
    gold = gold[0] if isinstance(gold, list) else gold
    assert env.step(f"<answer>{gold}</answer>")[1] == 1.0


@pytest.mark.slow
def test_the_search_tool_finds_documents_by_itself(search_url):
    tool = SearchTool(search_url=search_url, topk=2)
    valid, failed, output, parsed = tool.execute_action("<search>capital of France</search> so")
    assert (valid, failed, parsed) == (True, False, "<search>capital of France</search>")
    assert output.count("Doc ") == 2
    bare = SearchTool(search_url=search_url, topk=2, wrapped=False)
    assert bare.execute_action(parsed)[2].startswith("Doc 1(Title: ")


@pytest.mark.parametrize("async_mode", [False, True])
def test_vectors_of_several_ids_show_chats(async_mode, tokenizer):
    ids = ["game:GuessTheNumber-v0", "game:Mastermind-v0-easy", "rg:letter_counting"]
    wrappers = get_wrapper_fns("concat_chat,episode_tracking", tokenizer=tokenizer)
    vec_env = gem.make_vec(ids, wrappers=wrappers, async_mode=async_mode, seed=3)
    observations, infos = vec_env.reset()
    for _ in range(4):
        actions = [env.sample_random_action() for env in vec_env.envs]
        observations, rewards, terminateds, truncateds, infos = vec_env.step(actions)
        assert len(observations) == len(infos) == 3
        assert all("<|im_start|>assistant" in observation for observation in observations)
    active = {0: r"\boxed{3}", 2: r"\boxed{1}"}
    observations, rewards, *_ = vec_env.step(active)
    assert len(observations) == rewards.size == 2
    vec_env.close()


def test_a_new_environment_can_be_registered_with_parameters(monkeypatch):
    from gem.envs import registration

    class ReverseStringEnv(gem.Env):
        def __init__(self, str_len: int = 5):
            self.str_len = str_len
            self.reset()

        def reset(self, seed=None):
            super().reset(seed)
            self.gt_str = "abcdefgh"[: self.str_len]
            return f"Reverse {self.gt_str}.", {}

        def step(self, action):
            return "", float(action == self.gt_str[::-1]), True, True, {}

    monkeypatch.setattr(registration, "ENV_REGISTRY", dict(registration.ENV_REGISTRY))
    gem.register("custom:ReverseString", ReverseStringEnv, str_len=3)
    env = gem.make("custom:ReverseString", str_len=4)
    assert env.reset(seed=1) == ("Reverse abcd.", {})
    assert env.step("dcba")[1] == 1.0


def test_episodes_are_printed(capsys):
    env = gem.make("game:TowerofHanoi-v0-easy", seed=1)
    env.reset(seed=1)
    debug.run_and_print_episode(env, lambda _: r"\boxed{A C}", max_steps=2)
    said = capsys.readouterr().out
    assert said.count("Step ") == 2
    assert "---------- action ----------\n'\\\\boxed{A C}'" in said
    debug.run_and_print_episode(env, lambda _: "malformed")
    assert capsys.readouterr().out.count("terminated:  True") == 1
    debug.ppprint({"a": 1})
    debug.ppprint(["x", 2])
    assert capsys.readouterr().out == "{'a': 1}\n----- 1/2:\n'x'\n\n----- 2/2:\n2\n\n"


@pytest.mark.slow
def test_vectors_are_printed(capsys):
    vector = gem.make_vec(["game:TowerofHanoi-v0-easy"] * 3, seed=1)
    debug.run_and_print_episode(vector, lambda _: ["malformed"] * 3, ignore_done=True, max_steps=3)
    assert capsys.readouterr().out.count("Step ") == 3
    debug.run_and_print_episode(vector, lambda _: ["malformed"] * 3)
    assert capsys.readouterr().out.count("Step ") == 1
    seen = []

    def policy(observations):
        seen.append(len(observations))
        return [r"\boxed{A C}"] * 3

    debug.run_and_print_episode_with_random_selection(vector, policy, max_steps=5)
    said = capsys.readouterr().out
    assert seen == [3] * 5
    assert said.count("---------- next_observation ----------") == 5


async def _moves(_):
    return r"\boxed{A C}"


@pytest.mark.slow
def test_episodes_are_printed_with_coroutines(capsys):
    import asyncio

    env = gem.make("game:TowerofHanoi-v0-easy", seed=1)
    asyncio.run(debug.run_and_print_episode_async(env, _moves, max_steps=1))
    asyncio.run(debug.run_and_print_episode_async(env, lambda _: "x", max_steps=1))
    assert capsys.readouterr().out.count("Step 1") == 2
