"""gem-llm 0.1.0: its vector on threads, whose environments step in lock-step.

It has no client for models, so a pool of threads uses the openai SDK.
"""
# mypy: ignore-errors
# gem-llm is not installed where mypy runs.

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from gem.core import Env
from gem.vector.async_vector_env import AsyncVectorEnv
from rollouts.workload import REPLY, Message, Workload, message

__all__ = ["Asker", "play", "play_with"]


class _Talk(Env):
    def __init__(self, numbers: Iterator[int], turns_of: Callable[[int], int]) -> None:
        self.numbers = numbers
        self.turns_of = turns_of

    def reset(self, seed: int | None = None) -> Any:
        super().reset(seed)
        self.number = next(self.numbers)
        self.turn, self.turns = 1, self.turns_of(self.number)
        return message(self.number, 1, self.turns), {}

    def step(self, action: str) -> Any:
        ends = self.turn == self.turns
        self.turn += 1
        text = "" if ends else message(self.number, self.turn, self.turns)
        return text, float(action == REPLY), ends, False, {}


class Asker(Protocol):
    """A client of a model: from the messages so far to the next one."""

    def __call__(self, messages: list[Message]) -> Message: ...


class _Player:
    """Keeps the chat of an environment."""

    def __init__(self, ask: Asker) -> None:
        self.ask = ask
        self.messages: list[Message] = []

    def act(self, observation: str) -> str:
        if ", turn 1 of " in observation:
            self.messages = []
        self.messages.append({"role": "user", "content": observation})
        said = self.ask(self.messages)
        self.messages.append({"role": "assistant", "content": said["content"]})
        return said["content"]


def play(workload: Workload) -> None:
    """Play episodes with the openai SDK until the process is killed."""
    import openai  # noqa: PLC0415 - gem_llm_http does not need it

    client = openai.OpenAI(base_url=workload.url, api_key="any", timeout=600)

    def ask(messages: list[Message]) -> Message:
        answer = client.chat.completions.create(model="scripted", messages=messages)
        return {"content": answer.choices[0].message.content}

    play_with(workload, [ask] * workload.concurrency)


def play_with(workload: Workload, askers: list[Asker]) -> None:
    """Play episodes until the process is killed: a vector has no number of them.

    Args:
        workload: What to play.
        askers: The client of each environment.
    """
    numbers, count = itertools.count(), workload.concurrency
    makers = [lambda: _Talk(numbers, workload.turns_of)] * count
    vec = AsyncVectorEnv(["talk"] * count, makers)
    players = [_Player(ask) for ask in askers]
    observations, _ = vec.reset()
    with ThreadPoolExecutor(count) as pool:
        while True:
            actions = list(pool.map(_Player.act, players, observations))
            observations = vec.step(actions)[0]
