"""Metrics of the episodes of a step."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough
from simple_episodes import trajectory

import gem_core
import gem_tasks
from gem_core.agent import ScriptedAgent
from gem_rollout import collect
from gem_train.metrics import rollout_metrics


def test_metrics_are_those_of_the_episodes():
    found = rollout_metrics(
        [
            trajectory(success=True, rewards=(0.0, 1.0), tokens=(2, 4), cut=(1,)),
            trajectory(success=False, rewards=(-0.5,), tokens=(6,), truncated=True),
            trajectory(success=None, rewards=(0.25,), infos=({"format_error": True},)),
            trajectory(success=False, rewards=(), error="env"),
        ]
    )
    assert found == {
        "rollout/episodes": 4,
        "rollout/return": pytest.approx(0.75 / 4),
        "rollout/success": pytest.approx(1 / 3),
        "rollout/turns": 1.0,
        "rollout/response_tokens": 4.0,
        "rollout/truncated": 0.25,
        "rollout/cut": pytest.approx(1 / 3),
        "rollout/format_errors": 0.25,
        "rollout/errors": 0.25,
        "rollout/retried": 0.0,
        "rollout/equal_groups": 0.0,
    }


def test_several_environments_have_separate_metrics():
    found = rollout_metrics(
        [
            trajectory(success=True, component="easy"),
            trajectory(success=False, component="hard", rewards=(0.0,)),
            trajectory(success=False, component="hard", rewards=(0.5,)),
        ]
    )
    assert found["rollout/success"] == pytest.approx(1 / 3)
    assert found["rollout/easy/success"] == 1
    assert found["rollout/hard/success"] == 0
    assert found["rollout/hard/return"] == 0.25
    assert found["rollout/hard/episodes"] == 2


def test_unknown_metrics_are_left_out():
    assert rollout_metrics([]) == {"rollout/episodes": 0}
    found = rollout_metrics([trajectory(success=None)])
    assert "rollout/success" not in found
    assert "rollout/response_tokens" not in found
    assert "rollout/tool_calls" not in found


def test_tool_calls_are_those_that_the_wrapper_counts():
    @gem_tasks.as_tool
    def half(number: int) -> float:
        """Return half of an even number."""
        if number % 2:
            raise ValueError("It is odd.")
        return number / 2

    call = '<tool_call>{"name": "half", "arguments": {"number": %d}}</tool_call>'
    actions = [call % 2, call % 3, call % 4, r"\boxed{1}"]
    (played,) = collect(
        lambda: gem_core.make(
            "game:GuessTheNumber-v0-easy", tools=[half], tool_use={"call_format": "hermes"}
        ),
        lambda: ScriptedAgent(actions),
        episodes=1,
    )
    found = rollout_metrics([played])
    assert found["rollout/tool_calls"] == 3
    assert found["rollout/tool_errors"] == pytest.approx(1 / 3)
    without = rollout_metrics([trajectory(infos=({"tool_use_counter": 0},))])
    assert without["rollout/tool_calls"] == 0
    assert "rollout/tool_errors" not in without


def test_the_mean_return_is_the_weighted_sum_of_the_mean_parts():
    rows = [{"problem": f"{n} + {n}?", "answer": str(2 * n)} for n in range(4)]
    rewards = {"correctness": 1.0, "format": 0.25}
    played = list(
        collect(
            lambda: gem_core.make("math:Custom", data=rows, rewards=rewards),
            lambda: ScriptedAgent([r"\boxed{2}"]),
            episodes=[1, 2, 3],
            seed=0,
        )
    )
    found = rollout_metrics(played)
    assert found["rollout/rewards/format"] == 1.0
    parts = found["rollout/rewards/correctness"] + 0.25 * found["rollout/rewards/format"]
    assert found["rollout/return"] == pytest.approx(parts)


def test_parts_of_a_reward_are_summed_over_the_steps_of_an_episode():
    two = ({"rewards": {"brief": 0.5}}, {"rewards": {"brief": 0.25, "won": True}})
    found = rollout_metrics(
        [
            trajectory(rewards=(0.0, 1.0), infos=two, component="graded"),
            trajectory(rewards=(0.0,), truncated=True, component="graded"),
            trajectory(rewards=(1.0,), component="plain"),
        ]
    )
    assert found["rollout/rewards/brief"] == 0.375
    assert found["rollout/graded/rewards/won"] == 0.5
    assert "rollout/plain/rewards/brief" not in found


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 25)
@given(
    st.lists(
        st.builds(
            trajectory,
            success=st.sampled_from([True, False, None]),
            rewards=st.lists(st.floats(-1, 1), max_size=4),
            tokens=st.lists(st.integers(0, 9), max_size=4),
            component=st.sampled_from(["a", "b", "c"]),
            truncated=st.booleans(),
            error=st.sampled_from([None, "env"]),
        )
    )
)
def test_the_whole_is_the_weighted_mean_of_its_parts(episodes):
    found = rollout_metrics(episodes)
    names = {one.component for one in episodes}
    if len(names) < 2:
        assert not any(name.count("/") > 1 for name in found)
        return
    for figure in ("return", "turns", "errors", "truncated"):
        whole = sum(
            found[f"rollout/{name}/{figure}"] * found[f"rollout/{name}/episodes"] for name in names
        )
        assert found[f"rollout/{figure}"] == pytest.approx(whole / len(episodes))
    for name, value in found.items():
        if name.endswith(("success", "truncated", "cut", "format_errors", "errors")):
            assert 0 <= value <= 1
