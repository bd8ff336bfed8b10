"""Agents that play dialogues in tests, what they are paid, and what the scripted user answers."""

import functools

import pytest
from hypothesis import given, settings
from selection import thorough
from tau_toy import lending_task

from gem_core.agent import BaseAgent
from gem_core.observation import text_of
from gem_tau.env import make_dialogue
from gem_tau.sources import ListedTasks
from gem_tau.users import ScriptedUser

TRANSFER = '{"name": "transfer_to_human_agents", "arguments": {"summary": "No idea."}}'
IDLE = ["", "Goodbye.", TRANSFER, "Done! Is there anything else I can help you with?"]


class Repeater(BaseAgent):
    """Says the same each turn."""

    def __init__(self, text):
        self.text = text

    def act(self, observation, info):
        return self.text


def rewards(tasks, agent, **options):
    """Return what an agent is paid for each task, by the task's id."""
    env = make_dialogue(tasks=ListedTasks(tasks), **options)
    return {task.id: played(env, agent, number)[0] for number, task in enumerate(tasks)}


def played(env, agent, number=0):
    """Return the reward of an episode, and the info at its end."""
    observation, info = env.reset(seed=0, idx=number)
    agent.reset(env)
    while True:
        action = agent.act(observation, info)
        observation, reward, is_over, is_cut, info = env.step(action)
        if is_over or is_cut:
            return reward, info


@functools.cache
def _seat(scenario):
    """Return the user's seat in a dialogue about a scenario."""
    env = make_dialogue(tasks=ListedTasks([lending_task(scenario=scenario)]), seat="user")
    env.reset(seed=0)
    return env


def answers(scenario, *messages):
    """Return what the scripted user answers to messages, after it has stated its first goal."""
    user = ScriptedUser()
    user.reset(_seat(scenario))
    return [text_of(user.act(message, {})) for message in ("How can I help?", *messages)][1:]


def on_every_task(listed, drawn, *, examples=100):
    """Make a test of a check of one task: it runs on all that are listed, and on drawn ones.

    Args:
        listed: A function that returns the tasks.
        drawn: A strategy for others.
        examples: The number of drawn ones in a thorough run; a tenth of it otherwise.
    """

    def decorate(check):
        some_examples = settings(max_examples=examples if thorough() else examples // 10)
        on_drawn = some_examples(given(drawn)(check))

        def test():
            for task in listed():
                try:
                    check(task)
                except AssertionError as error:
                    error.add_note(f"The task is {task.id}.")
                    raise
            on_drawn()

        test.__name__ = check.__name__
        return pytest.mark.slow(test)

    return decorate
