"""The last step of every family says why it was paid so, and no agent is ever told."""

import copy
import json

import pytest
from kinds import one_of_each_kind

from gem_core import make, make_agent
from gem_core.agent import BaseAgent
from gem_core.info import LONGEST, Grading
from gem_rollout import play_episode

GOLD = "Xylographer7"
"""An answer that no prompt and no reply contains by chance."""
CUSTOM = {
    "math:Custom": {"problem": "What is it?", "answer": GOLD},
    "qa:Custom": {"question": "What is it?", "answer": GOLD},
    "code:Custom": {"problem": "Print it.", "tests": {"inputs": ["1\n"], "outputs": [GOLD]}},
}


class Wrong(BaseAgent):
    """Gives a wrong answer in each of the forms."""

    def act(self, observation, info):
        return "\\boxed{0} <answer>0</answer>\n```python\nprint(0)\n```"


class Recorder(BaseAgent):
    """Plays as another agent, and keeps what it is given."""

    def __init__(self, agent):
        self.agent, self.given = agent, []

    def reset(self, env):
        self.agent.reset(env)

    def act(self, observation, info):
        self.given.append(copy.deepcopy((observation, info)))
        return self.agent.act(observation, info)

    def close(self):
        self.agent.close()


def keys_in(value):
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from keys_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from keys_in(one)


def played(env, player):
    agent = Recorder(make_agent(player))
    with env:
        trajectory = play_episode(env, agent, 3)
    assert trajectory.error is None, trajectory.error
    assert agent.given
    return trajectory, agent.given


@pytest.mark.slow
@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("namespace", sorted({one.namespace for one in one_of_each_kind()}))
def test_every_family_says_what_decided_and_tells_no_agent(namespace, subtests):
    for spec in one_of_each_kind(levels=False):
        if spec.namespace != namespace:
            continue
        for player in ["silent", *(["oracle"] if spec.oracle else [])]:
            with subtests.test(env_id=spec.id, player=player):
                trajectory, given = played(make(spec, **spec.check_kwargs), player)
                assert "grading" not in set(keys_in(given))
                *before, last = [turn.info for turn in trajectory.turns]
                assert "grading" not in set(keys_in([trajectory.reset_info, *before]))
                grading = json.loads(json.dumps(last["grading"]))
                assert grading.keys() == Grading.__annotations__.keys()
                assert grading["question"]
                assert grading["reason"]
                assert max(map(len, filter(None, grading.values()))) <= LONGEST + 50
                assert (grading["verdict"] == "correct") is bool(trajectory.success)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", CUSTOM)
@pytest.mark.parametrize(
    "wrappers", [[], ["concat"], ["concat_with_action", "episode_tracking", "time_limit"]]
)
def test_an_agent_is_never_shown_the_expected_answer(env_id, wrappers):
    """Several episodes, so that one would be seen in the next."""
    tools = ["python"] if wrappers else []
    env = make(env_id, data=[CUSTOM[env_id]], wrappers=wrappers, tools=tools)
    agent = Recorder(Wrong())
    with env:
        for number in range(2):
            trajectory = play_episode(env, agent, number)
            assert trajectory.error is None, trajectory.error
            assert GOLD in trajectory.turns[-1].info["grading"]["expected"]
    assert len(agent.given) >= 2
    assert GOLD not in repr(agent.given)
