"""Environments for several agents, written as for gem-llm."""

import pytest

import gem
from gem.envs.multiagent import MultiAgentEnv
from gem.envs.multiagent.multi_agent_env import AgentSelector
from gem.envs.registration import ENV_REGISTRY, EnvSpec


class TalkEnv(MultiAgentEnv):
    """Two agents take turns for three turns."""

    def __init__(self):
        super().__init__()
        self.possible_agents = ["ann", "bob"]
        self.agent_selector = AgentSelector(self.possible_agents, mode="sequential")
        self.turn = 0

    def observe(self, agent):
        return f"{agent} at {self.turn}"

    def reset(self, seed=None):
        self.turn = 0
        return super().reset(seed)

    def _process_actions(self, actions):
        self.turn += 1
        agents = list(self.agents)
        for agent in agents:
            self.terminations[agent] = self.turn == 3
        return (
            {agent: self.observe(agent) for agent in agents},
            {agent: float(agent in actions) for agent in agents},
            dict.fromkeys(agents, self.turn == 3),
            dict.fromkeys(agents, False),
            {agent: {} for agent in agents},
        )


@pytest.fixture
def env(monkeypatch):
    monkeypatch.setitem(ENV_REGISTRY, "test:Talk-v0", EnvSpec("test:Talk-v0", TalkEnv))
    return gem.make("test:Talk-v0")


def test_agents_take_turns_until_they_leave(env):
    observations, infos = env.reset(seed=3)
    assert observations == {"ann": "ann at 0", "bob": "bob at 0"}
    assert infos == {"ann": {}, "bob": {}}
    assert env.agent_selector.get_active_agents() == ["ann"]
    observations, rewards, terminated, truncated, infos = env.step({"ann": "hi"})
    assert rewards == {"ann": 1.0, "bob": 0.0}
    with pytest.raises(ValueError, match="'ann' does not act now"):
        env.step({"ann": "hi"})
    env.step({"bob": "ho"})
    _, rewards, terminated, *_ = env.step({"ann": "bye"})
    assert terminated == {"ann": True, "bob": True}
    assert env.agents == []
    assert env.reset(3)[0]["ann"] == "ann at 0"


def test_agents_have_states_and_send_messages(env):
    env.reset()
    env.step({"ann": "hi"})
    observation, reward, terminated, truncated, info = env.get_state("ann")
    assert (observation, reward, terminated, truncated, info) == ("ann at 1", 1.0, False, False, {})
    assert list(env.get_active_states()) == ["bob"]
    env.send_message("ann", "bob", "psst")
    env.broadcast_message("bob", "hear")
    assert env.shared_memory == [
        {"from": "ann", "to": "bob", "message": "psst"},
        {"from": "bob", "to": "ann", "message": "hear"},
    ]
    with pytest.raises(ValueError, match="nobody"):
        env.get_state("nobody")
