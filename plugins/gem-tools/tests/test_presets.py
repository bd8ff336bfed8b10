"""Tools by their names as wrappers, with the rewards and budgets that belong to them."""

import pytest

import gem_core
from gem_core.errors import ConfigError, UnknownKwargError
from gem_core.wrappers.tools import BUDGET_SPENT

GOOD, BAD = "<python>print(1)</python>", "<python>print('so far')\n1 / 0</python>"


def made(*wrappers):
    env = gem_core.make("math:Sample", wrappers=wrappers)
    env.reset(seed=0)
    return env


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "good", "bad", "error"),
    [
        ("python_tool", 0.3, 0.05, "Traceback"),
        ("python_tool_no_int_reward", 0.0, 0.0, "Traceback"),
        ("python_tool_no_int_reward_last_line_error", 0.0, 0.0, "so far\n\nZeroDivisionError"),
    ],
)
def test_each_name_has_its_rewards_and_five_calls(name, good, bad, error):
    env = made(name)
    steps = [env.step(action) for action in (GOOD, BAD, GOOD, GOOD, BAD)]
    assert [step.reward for step in steps] == pytest.approx([good, bad, good, good, bad])
    assert error in steps[1].observation
    assert ("Traceback" in steps[1].observation) == (error == "Traceback")
    assert [BUDGET_SPENT in step.observation for step in steps] == [False] * 4 + [True]
    assert env.step(GOOD).info["use_tool"] is False
    env.close()


@pytest.mark.slow
def test_a_preset_can_be_wrapped_by_others():
    env = made("python_tool", "concat", "episode_tracking")
    step = env.step(GOOD)
    assert "You may run Python" in step.observation
    assert step.info["cumulative_rewards"] == pytest.approx(0.3)
    env.close()


@pytest.mark.slow
def test_a_preset_takes_parameters():
    env = made({"id": "python_tool", "max_tool_uses": 1, "tool_reward": 1.0, "timeout": 0.5})
    step = env.step("<python>while True: pass</python>")
    assert step.reward == 1.0
    assert "timed out after 0.5 seconds" in step.observation
    assert BUDGET_SPENT in step.observation
    env.close()
    with pytest.raises(UnknownKwargError, match="timeout"):
        made({"id": "python_tool", "timeouts": 1})
    with pytest.raises(ConfigError, match="negative"):
        made({"id": "python_tool", "tool_execute_error_reward": -1.0})


@pytest.mark.slow
def test_the_tool_by_itself_takes_its_rewards_from_tool_use():
    rewards = {"tool_reward": 0.05, "tool_success_reward": 0.25, "max_tool_uses": 5}
    env = gem_core.make("math:Sample", tools=["python"], tool_use=rewards)
    env.reset(seed=0)
    assert env.step(GOOD) == made("python_tool").step(GOOD)
    env.close()
