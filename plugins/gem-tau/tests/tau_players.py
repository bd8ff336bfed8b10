"""Agents that play dialogues in tests, and what they are paid."""

from gem_core.agent import BaseAgent
from gem_tau.env import make_dialogue
from gem_tau.sources import ListedTasks

TRANSFER = '{"name": "transfer_to_human_agents", "arguments": {"summary": "No idea."}}'


class Repeater(BaseAgent):
    """Says the same each turn."""

    def __init__(self, text):
        self.text = text

    def act(self, observation, info):
        return self.text


def rewards(tasks, agent):
    """Return what an agent is paid for each task, by the task's id."""
    env = make_dialogue(tasks=ListedTasks(tasks))
    return {task.id: played(env, agent, number) for number, task in enumerate(tasks)}


def played(env, agent, number):
    observation, info = env.reset(seed=0, idx=number)
    agent.reset(env)
    while True:
        action = agent.act(observation, info)
        observation, reward, is_over, is_cut, info = env.step(action)
        if is_over or is_cut:
            return reward
