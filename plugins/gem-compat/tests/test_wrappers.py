"""Wrappers: histories, chats, tracking, and what a wrapper of one's own can do."""

import pytest

import gem
from gem.core import EnvWrapper
from gem.wrappers.episode_tracking_wrapper import EpisodeTrackingWrapper
from gem.wrappers.observation_wrapper import ObservationWrapper, maybe_add_new_line
from gem.wrappers.wrapper_factory import TOKENIZER_REQUIRED, WRAPPER_FACTORY, get_wrapper_fns
from gem_core.errors import ConfigError
from gem_rollout.models.tiny_model import make_tiny_tokenizer


class Lines(gem.Env):
    """Says a line each turn; some actions count as others, some come from a tool."""

    def __init__(self):
        self.turn = 0

    def reset(self, seed=None, idx=None):
        self.turn = 0
        return f"line {idx or 0}", {"prefix": "P:", "suffix": "S"}

    def step(self, action):
        self.turn += 1
        info = {"parsed_action": "short", "use_tool": True} if "long" in action else {}
        return f"line {self.turn}\n", 0.5, self.turn == 5, False, info


class Loud(EnvWrapper):
    """As people write wrappers."""

    def __init__(self, env, mark="!"):
        super().__init__(env)
        self.mark = mark

    def reset(self, seed=None, **kwargs):
        observation, info = self.env.reset(seed, **kwargs)
        return observation + self.mark, info

    def step(self, action):
        observation, *rest = self.env.step(action)
        return (observation + self.mark, *rest)


@pytest.fixture(scope="module")
def tokenizer():
    return make_tiny_tokenizer()


def test_a_wrapper_of_ones_own_sees_attributes_as_they_are():
    env = Loud(Lines())
    assert env.reset(idx=3)[0] == "line 3!"
    assert env.turn == 0
    assert env.step("a")[0] == "line 1\n!"
    assert env.turn == 1
    assert isinstance(env, gem.Env)
    assert env.unwrapped is env.env
    with pytest.raises(AttributeError):
        _ = env.no_such_name
    outer = Loud(env, "?")
    assert outer.step("a")[0] == "line 2\n!?"
    twin = outer.fork()
    twin.step("a")
    assert (twin.turn, outer.turn, twin.mark) == (3, 2, "?")


def test_a_wrapper_without_methods_changes_nothing():
    env = EnvWrapper(gem.make("game:Mastermind-v0-easy"))
    observation, info = env.reset(3)
    assert (observation, info) == env.reset(seed=3)
    assert len(env.step(env.sample_random_action())) == 5
    assert env.spawn(seed=4).reset(seed=3) == (observation, info)


def shown(env, *actions):
    env.reset()
    return [env.step(action)[0] for action in actions][-1]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("concat", "line 0\nline 1\nline 2\n"),
        ("concat_with_action", "line 0\nhi\nline 1\nshort\nline 2\n"),
    ],
)
def test_histories_are_text(name, expected):
    (wrapper,) = get_wrapper_fns(name)
    assert shown(wrapper(Lines()), "hi", "too long") == expected


def test_a_history_begins_between_prefix_and_suffix():
    env = ObservationWrapper(Lines(), include_action=False, include_chat_template=False)
    observation, info = env.reset(idx=2)
    assert observation == "P:line 2\nS"
    assert info == {"prefix": "P:", "suffix": "S"}


def test_a_history_drops_its_oldest_turns():
    env = ObservationWrapper(Lines(), True, False, max_history_length=1)
    assert shown(env, "a", "b", "c") == "line 2\nc\nline 3\n"


def test_chats_are_rendered_by_a_tokenizer(tokenizer):
    (wrapper,) = get_wrapper_fns("concat_chat", tokenizer=tokenizer)
    env = wrapper(Lines())
    first, _ = env.reset()
    assert first == tokenizer.apply_chat_template(
        [{"role": "user", "content": "P:line 0\nS"}], tokenize=False, add_generation_prompt=True
    )
    messages = [
        {"role": "user", "content": "line 0"},
        {"role": "assistant", "content": "short"},
        {"role": "tool", "content": "line 1\n"},
    ]
    assert env.step("long")[0] == tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True
    )
    old = ObservationWrapper(Lines(), tokenizer=tokenizer, suffix_in_message=False)
    chat = tokenizer.apply_chat_template(messages[:1], tokenize=False, add_generation_prompt=True)
    assert old.reset()[0] == f"P:{chat}S"


def test_a_chat_may_be_opened_and_then_continued_as_text(tokenizer):
    (wrapper,) = get_wrapper_fns("concat_chat_on_reset", tokenizer=tokenizer)
    env = wrapper(Lines())
    chat = tokenizer.apply_chat_template(
        [{"role": "user", "content": "line 0"}], tokenize=False, add_generation_prompt=True
    )
    assert shown(env, "hi") == f"{maybe_add_new_line(chat)}hi\nline 1\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"apply_chat_template_on_reset": True, "tokenizer": object()}, "exclude"),
        ({}, "needs a tokenizer"),
        ({"include_action": False, "tokenizer": object()}, "include_action"),
    ],
)
def test_flags_that_cannot_work_are_errors(arguments, said):
    with pytest.raises(ConfigError, match=said):
        ObservationWrapper(Lines(), **arguments)


def test_episodes_are_tracked():
    env = EpisodeTrackingWrapper(Lines())
    env.reset(idx=1)
    env.step("a")
    *_, info = env.step("a")
    assert (info["step_counter"], info["cumulative_rewards"]) == (2, 1.0)
    assert (env.step_counter, env.cumulative_rewards) == (2, 1.0)
    _, info = env.reset(seed=3)
    assert (info["prev_ep_step_counter"], info["prev_ep_cumulative_rewards"]) == (2, 1.0)
    assert (info["step_counter"], info["cumulative_rewards"]) == (0, 0.0)


def test_the_factory_has_the_names_of_gem_llm():
    assert list(WRAPPER_FACTORY) == [
        "python_tool",
        "python_tool_no_int_reward",
        "python_tool_no_int_reward_last_line_error",
        "search_tool",
        "search_tool_no_int_reward",
        "concat",
        "concat_chat",
        "concat_with_action",
        "concat_chat_on_reset",
        "episode_tracking",
    ]
    assert TOKENIZER_REQUIRED == ["concat_chat", "concat_chat_on_reset"]
    assert get_wrapper_fns("") == get_wrapper_fns(None) == []
    assert get_wrapper_fns("concat, episode_tracking")[1] is EpisodeTrackingWrapper
    with pytest.raises(KeyError, match="concatt"):
        get_wrapper_fns("concatt")


def test_wrappers_may_come_in_any_order():
    env = Lines()
    for wrapper in get_wrapper_fns("episode_tracking,concat,python_tool"):
        env = wrapper(env)
    env.reset()
    assert env.step("a")[4]["step_counter"] == 1


def test_snapshots_hold_the_whole_stack():
    env = gem.make("game:GuessTheNumber-v0")
    for wrapper in get_wrapper_fns("concat_with_action,episode_tracking"):
        env = wrapper(env)
    env.reset(seed=1)
    env.step(r"\boxed{98}")
    snapshot = env.snapshot()
    played = [env.step(r"\boxed{99}") for _ in range(2)]
    env.restore(snapshot)
    assert [env.step(r"\boxed{99}") for _ in range(2)] == played


@pytest.mark.parametrize(("text", "line"), [("", ""), ("a", "a\n"), ("a\n", "a\n")])
def test_a_text_of_a_history_ends_with_a_new_line(text, line):
    assert maybe_add_new_line(text) == line
