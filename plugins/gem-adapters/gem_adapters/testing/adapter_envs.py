"""The environments of the conformance suite: the family ``conformance``, which lists no ids.

The first observation has a number that differs by seed, and every later one repeats the state, so
that equal prompts stand for equal states.
"""

import asyncio
import base64
import re
from collections.abc import Mapping
from typing import Any

from gem_core.content import Image
from gem_core.env import AsyncEnv, BaseEnv, Env, Step
from gem_core.observation import Action, Info, Observation
from gem_core.tool import BaseTool, ToolCall, ToolResult
from gem_core.wrappers.tools import ToolWrapper
from gem_rollout.multi_agent.env import MultiAgentEnv

__all__ = [
    "OPEN",
    "Adder",
    "Asynchronous",
    "Failing",
    "Game",
    "Hanging",
    "Meeting",
    "Picture",
    "Sums",
    "Turns",
    "TwoAgents",
    "sums",
]

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAf"
    "FcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)
_MEETING_SECONDS = 60.0

OPEN: set[int] = set()
"""The identities of the environments that were reset and are not closed yet."""


class _Rules:
    """The rules that the environments share.

    Args:
        label: Shown in the first observation.
    """

    rng: Any
    turns = 3
    cut = False
    """Whether the last turn is truncated instead of terminated."""

    def __init__(self, label: str = "") -> None:
        self.label = label

    def opening(self) -> tuple[Observation, Info]:
        OPEN.add(id(self))
        self.turn, self.total = 0, 0
        self.number = self.rng.randrange(10**8, 10**9)
        return f"{type(self).__name__} {self.number} {self.label}: name a digit.", {}

    def take_turn(self, action: Action) -> Step:
        self.turn += 1
        points = _digit(action) + self.turn
        self.total += points
        ended = self.turn == self.turns
        seen = f"Turn {self.turn}: {points} points for {action}, {self.total} in all."
        return Step(seen, points / 8, ended and not self.cut, ended and self.cut, {})

    def close(self) -> None:
        OPEN.discard(id(self))


class Game(_Rules, BaseEnv):
    """A game that ends when its secret digit is named, or after four turns."""

    turns = 4

    def start(self) -> tuple[Observation, Info]:
        return self.opening()

    def step(self, action: Action) -> Step:
        step = self.take_turn(action)
        is_won = _digit(action) == self.number % 10
        return step._replace(reward=4.0, terminated=True) if is_won else step


class Turns(Game):
    """Eight turns, the last of which is truncated."""

    turns = 8
    cut = True

    def step(self, action: Action) -> Step:
        return self.take_turn(action)


class Failing(Game):
    """Raises in its second turn."""

    def step(self, action: Action) -> Step:
        if self.turn == 1:
            raise RuntimeError("The environment failed in turn 2.")
        return self.take_turn(action)


class Asynchronous(_Rules, AsyncEnv):
    """Three turns of an asynchronous environment."""

    async def start(self) -> tuple[Observation, Info]:
        await asyncio.sleep(0)
        return self.opening()

    async def step(self, action: Action) -> Step:
        await asyncio.sleep(0.001 * (self.number % 7))
        return self.take_turn(action)


class Hanging(Asynchronous):
    """Never ends its second turn."""

    async def step(self, action: Action) -> Step:
        if self.turn == 1:
            await asyncio.Event().wait()
        return self.take_turn(action)


class Meeting(Asynchronous):
    """Waits in its only turn for other episodes, and rewards 1 if all of them came.

    Args:
        name: Name of the meeting.
        parties: How many episodes take part.
    """

    present: dict[str, int] = {}  # noqa: RUF012 - shared by the episodes on purpose

    def __init__(self, name: str, parties: int) -> None:
        super().__init__(name)
        self.parties = parties

    async def step(self, action: Action) -> Step:
        self.present[self.label] = self.present.get(self.label, 0) + 1
        loop = asyncio.get_running_loop()
        end = loop.time() + _MEETING_SECONDS
        while 0 <= self.present[self.label] < self.parties and loop.time() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # the others may be in loops of their own
        has_met = self.present[self.label] >= self.parties
        if not has_met:
            self.present[self.label] = -self.parties  # nobody else waits
        return Step("The end.", float(has_met), True, False, {})


class Sums(Game):
    """An addition for which there is a tool."""

    def start(self) -> tuple[Observation, Info]:
        _, info = self.opening()
        left, right = divmod(self.number % 100, 10)
        self.sum = left + right
        return f"Sum {self.number}: {left} + {right}? Add with <add>{left} {right}</add>.", info

    def step(self, action: Action) -> Step:
        return Step("The end.", 1.0 if _digit(action) == self.sum else 0.25, True, False, {})


class Adder(BaseTool):
    """Adds two numbers: ``<add>1 2</add>``."""

    name = "add"

    def instructions(self) -> str:
        return "<add>1 2</add> adds two numbers."

    def parse(self, action: Action) -> ToolCall | None:
        found = re.search(r"<add>(\d+) (\d+)</add>", str(action))
        if found is None:
            return None
        return ToolCall("add", {"numbers": found.groups()}, str(action)[: found.end()])

    def run(self, call: ToolCall) -> ToolResult:
        return ToolResult(f"Result: {sum(map(int, call.arguments['numbers']))}.")


def sums() -> Env:
    """Return ``Sums`` with its tool."""
    return ToolWrapper(Sums(), tools=[Adder()], tool_reward=0.125)


class Picture(Game):
    """Shows an image."""

    def start(self) -> tuple[Observation, Info]:
        self.opening()
        image = Image(base64.b64decode(PIXEL), "image/png")
        return {"text": "What is this? <image>", "images": [image]}, {}


class TwoAgents(MultiAgentEnv):
    """A game of two agents."""

    possible_agents = ("left", "right")

    def observe(self, agent: str) -> Observation:
        return f"You are {agent}."

    def process_actions(self, actions: Mapping[str, Action]) -> Any:
        done = dict.fromkeys(actions, True)
        return {}, dict.fromkeys(actions, 0.0), done, {}, {}


def _digit(action: Action) -> int:
    digits = re.findall(r"\d", str(action))
    return int(digits[-1]) if digits else 0
