"""People's dialogues of a shop's assistant, written for gem-llm as its example of tau-bench is.

The environment has one agent, holds its data, its tools and the user, and its tools are classes
that change the data. The shop, its tasks and its user are small and made up here.
"""

import copy
import hashlib
import json

import pytest

import gem
from gem.envs.multiagent import MultiAgentEnv
from gem.envs.multiagent.multi_agent_env import AgentSelector
from gem.envs.registration import ENV_REGISTRY, register

STOP = "###STOP###"
DATA = {
    "users": {"ada_1": {"name": {"first_name": "Ada", "last_name": "Moss"}, "orders": ["#A1"]}},
    "orders": {"#A1": {"user_id": "ada_1", "status": "pending", "total": 1250.0}},
}


def find_user(data, first_name, last_name):
    for user_id, user in data["users"].items():
        if user["name"] == {"first_name": first_name, "last_name": last_name}:
            return user_id
    raise LookupError("user not found")


def get_order(data, order_id):
    return json.dumps(data["orders"][order_id])


def cancel_order(data, order_id, reason):
    order = data["orders"][order_id]
    order["status"], order["reason"] = "cancelled", reason
    return json.dumps(order)


def transfer_to_human_agents(data, summary):
    return "Transfer successful"


TOOLS = (find_user, get_order, cancel_order, transfer_to_human_agents)
CANCEL = {"name": "cancel_order", "kwargs": {"order_id": "#A1", "reason": "ordered by mistake"}}
TASKS = [
    {
        "instruction": "You are Ada Moss. Cancel #A1, ordered by mistake. Ask what it cost.",
        "actions": [CANCEL, {"name": "respond", "kwargs": {"content": "It cost 1250."}}],
        "outputs": ["1250"],
        "says": ["Please cancel #A1. What did it cost?", "Yes.", f"Thanks. {STOP}"],
    },
    {
        "instruction": "You are Ada Moss. You want to speak to a person.",
        "actions": [{"name": "transfer_to_human_agents", "kwargs": {"summary": "person"}}],
        "outputs": [],
        "says": ["I want to speak to a person."],
    },
]


class TauBenchEnv(MultiAgentEnv):
    """An assistant that serves a simulated user."""

    def __init__(self, task_split="test", user_model="none", user_provider="none"):
        super().__init__()
        self.possible_agents = ["assistant"]
        self.agent_selector = AgentSelector(self.possible_agents, mode="sequential")
        self.wiki = "You serve the users of a shop."
        self.tools_map = {tool.__name__: tool for tool in TOOLS}
        self.tool_definitions = [
            {"type": "function", "function": {"name": name, "parameters": {}}}
            for name in self.tools_map
        ]
        self.tasks = TASKS
        self.task = None
        self.actions_taken = []
        self.last_observation = ""

    def reset(self, seed=None, task_index=None):
        super().reset(seed)
        self.task = self.tasks[0 if task_index is None else task_index]
        self.data = copy.deepcopy(DATA)
        self.actions_taken = []
        self.user = iter(self.task["says"])
        self.last_observation = next(self.user)
        return {"assistant": self.observe("assistant")}, {"assistant": {"task": self.task}}

    def observe(self, agent):
        return self.last_observation

    def _process_actions(self, actions):
        action = self._parse(actions["assistant"])
        self.actions_taken.append(action)
        done, reward = False, 0.0
        if action["name"] == "respond":
            self.last_observation = next(self.user, STOP)
            done = STOP in self.last_observation
        elif action["name"] in self.tools_map:
            done = action["name"] == "transfer_to_human_agents"
            try:
                self.last_observation = self.tools_map[action["name"]](
                    self.data, **action["kwargs"]
                )
            except Exception as error:
                self.last_observation = f"Error: {error}"
        else:
            self.last_observation = f"Unknown action {action['name']}"
        if done:
            reward = self._reward()
        return (
            {"assistant": self.last_observation},
            {"assistant": reward},
            {"assistant": done},
            {"assistant": False},
            {"assistant": {"task": self.task}},
        )

    def _parse(self, text):
        try:
            action = json.loads(text)
            return {"name": action["name"], "kwargs": action["kwargs"]}
        except (ValueError, KeyError, TypeError):
            return {"name": "respond", "kwargs": {"content": text}}

    def _reward(self):
        expected = copy.deepcopy(DATA)
        for action in self.task["actions"]:
            if action["name"] != "respond":
                self.tools_map[action["name"]](expected, **action["kwargs"])
        if digest(expected) != digest(self.data):
            return 0.0
        said = [
            one["kwargs"]["content"].lower().replace(",", "")
            for one in self.actions_taken
            if one["name"] == "respond"
        ]
        return float(all(any(text in one for one in said) for text in self.task["outputs"]))


def digest(data):
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


class Agent:
    """A loop of function calls, as people write it; ``complete`` stands for a model."""

    def __init__(self, complete):
        self.complete = complete

    def solve(self, env, task_index=None, max_num_steps=30):
        observations, infos = env.reset(task_index=task_index)
        messages = [
            {"role": "system", "content": env.wiki},
            {"role": "user", "content": observations["assistant"]},
        ]
        total, done = 0.0, False
        for _ in range(max_num_steps):
            message = self.complete(messages, env.tool_definitions)
            messages.append(message)
            call = message.get("call")
            action = json.dumps(call) if call else message["content"]
            observations, rewards, terminated, truncated, infos = env.step({"assistant": action})
            total += rewards["assistant"]
            role = "tool" if call else "user"
            messages.append({"role": role, "content": observations["assistant"]})
            done = terminated["assistant"] or truncated["assistant"]
            if done:
                break
        return {"reward": total, "done": done, "messages": messages, "task": infos["assistant"]}


def scripted(*said):
    replies = iter(said)

    def complete(messages, tools):
        reply = next(replies)
        key = "call" if isinstance(reply, dict) else "content"
        return {"role": "assistant", "content": None, key: reply}

    return complete


@pytest.fixture
def env():
    return TauBenchEnv(task_split="test")


FIND = {"name": "find_user", "kwargs": {"first_name": "Ada", "last_name": "Moss"}}
LOOK = {"name": "get_order", "kwargs": {"order_id": "#A1"}}


def test_an_agent_that_does_the_task_is_paid(env):
    said = ("It cost 1,250. Shall I cancel it?", "It is cancelled.")
    result = Agent(scripted(FIND, LOOK, said[0], CANCEL, said[1])).solve(env, 0)
    assert (result["reward"], result["done"]) == (1.0, True)
    roles = [message["role"] for message in result["messages"]]
    assert roles.count("tool") == 3
    assert result["messages"][3]["content"] == "ada_1"
    assert result["task"] == {"task": TASKS[0]}


@pytest.mark.parametrize(
    ("said", "what"),
    [
        (("It cost 1250.", "Goodbye."), "the order is not cancelled"),
        (("Shall I?", CANCEL, "It is cancelled."), "the amount is not said"),
        (({**CANCEL, "kwargs": {"order_id": "#A1", "reason": "x"}}, "1250", "ok"), "the reason"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_agent_that_does_not_is_not_paid(env, said, what):
    result = Agent(scripted(*said)).solve(env, 0)
    assert (result["reward"], result["done"]) == (0.0, True)


def test_errors_of_tools_and_unknown_names_are_texts(env):
    env.reset(task_index=0)
    wrong = json.dumps({"name": "get_order", "kwargs": {"order_id": "#Z9"}})
    assert env.step({"assistant": wrong})[0]["assistant"].startswith("Error: ")
    unknown = json.dumps({"name": "sing", "kwargs": {}})
    assert env.step({"assistant": unknown})[0] == {"assistant": "Unknown action sing"}
    malformed = json.dumps({"name": "get_order"})
    assert env.step({"assistant": malformed})[0] == {"assistant": "Yes."}


def test_handing_over_ends_the_episode_and_the_agent_leaves(env):
    hand_over = {"name": "transfer_to_human_agents", "kwargs": {"summary": "person"}}
    assert Agent(scripted(hand_over)).solve(env, 1)["reward"] == 1.0
    assert env.agents == []
    assert env.get_state("assistant")[1:4] == (1.0, True, False)


def test_a_new_episode_starts_from_fresh_data(env):
    results = [
        Agent(scripted("It cost 1250. Shall I?", CANCEL, "It is done.")).solve(env, 0)["reward"]
        for _ in range(2)
    ]
    assert results == [1.0, 1.0]
    observations, infos = env.reset(seed=3)
    assert observations == {"assistant": TASKS[0]["says"][0]}
    assert infos["assistant"]["task"] is TASKS[0]
    assert env.data == DATA


def test_an_episode_ends_after_the_largest_number_of_steps(env):
    result = Agent(scripted(*[LOOK] * 5)).solve(env, 0, max_num_steps=5)
    assert (result["reward"], result["done"]) == (0.0, False)


def test_it_can_be_registered_and_made():
    register("tau_bench:Retail-v0", TauBenchEnv)
    try:
        env = gem.make("tau_bench:Retail-v0", task_split="dev")
        assert isinstance(env, TauBenchEnv)
        assert env.reset(task_index=1)[0] == {"assistant": TASKS[1]["says"][0]}
    finally:
        ENV_REGISTRY.pop("tau_bench:Retail-v0", None)
