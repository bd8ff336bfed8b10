"""gem-llm 0.1.0: its vector on threads, all of whose environments step at once (in lock-step).

It has no client for models: each environment's is a kept-alive connection of the standard library,
which is cheaper than any SDK, and all of them are asked at once by a pool of threads.
"""
# mypy: ignore-errors
# gem-llm is not installed where mypy runs.

import http.client
import itertools
import json
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

from gem.core import Env
from gem.vector.async_vector_env import AsyncVectorEnv
from workload import REPLY, message

__all__ = ["play"]


class _Talk(Env):
    def __init__(self, numbers, turns_of):
        self.numbers = numbers
        self.turns_of = turns_of

    def reset(self, seed=None):
        super().reset(seed)
        self.number = next(self.numbers)
        self.turn, self.turns = 1, self.turns_of(self.number)
        return message(self.number, 1, self.turns), {}

    def step(self, action):
        ends = self.turn == self.turns
        self.turn += 1
        text = "" if ends else message(self.number, self.turn, self.turns)
        return text, float(action == REPLY), ends, False, {}


class _Player:
    """Keeps the chat of an environment, and asks for it."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.path = f"{parts.path}/chat/completions"
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=600)
        self.messages = []

    def act(self, observation):
        if ", turn 1 of " in observation:
            self.messages = []
        self.messages.append({"role": "user", "content": observation})
        body = json.dumps({"model": "scripted", "messages": self.messages})
        headers = {"Content-Type": "application/json"}
        self.connection.request("POST", self.path, body, headers)
        answer = json.loads(self.connection.getresponse().read())
        said = answer["choices"][0]["message"]
        self.messages.append(said)
        return said["content"]


def play(workload):
    """Play episodes until the process is killed: a vector has no number of them."""
    numbers, count = itertools.count(), workload.concurrency
    makers = [lambda: _Talk(numbers, workload.turns_of)] * count
    vec = AsyncVectorEnv(["talk"] * count, makers)
    players = [_Player(workload.url) for _ in range(count)]
    observations, _ = vec.reset()
    with ThreadPoolExecutor(count) as pool:
        while True:
            actions = list(pool.map(_Player.act, players, observations))
            observations = vec.step(actions)[0]
