"""An environment that counts what is open, for the tests of adapters."""

from collections.abc import Iterator

import pytest

import gem_core
from gem_core.env import BaseEnv, Step
from gem_core.observation import Action, Info, Observation
from gem_core.plugins import default_registry


class CountedRoom(BaseEnv):
    """Three turns with the rewards 1 to 3; counts what is open, and may fail.

    Args:
        fault: ``reset`` or ``raise`` (in the second turn); empty for none.
        words: Words of the first observation.
        first: The first room with the fault, from 1 in the order in which they are made.
        last: The last one.
    """

    id = "test:CountedRoom-v0"
    open = made = 0

    def __init__(self, fault: str = "", words: int = 1, first: int = 1, last: int = 99) -> None:
        type(self).made += 1
        type(self).open += 1
        self.fault = fault if first <= self.made <= last else ""
        self.words = words

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        if self.fault == "reset":
            raise RuntimeError("the room has no door")
        return f"{self.rng.random()}" + " word" * self.words, {}

    def step(self, action: Action) -> Step:
        self.turn += 1
        if self.turn == 2 and self.fault == "raise":
            raise RuntimeError("the room is on fire")
        return Step(f"turn {self.turn}", float(self.turn), self.turn == 3, False, {})

    def close(self) -> None:
        type(self).open -= 1


@pytest.fixture
def counted_room(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[CountedRoom]]:
    """The registered room; all rooms are closed at the end of the test."""
    specs = default_registry()._specs
    gem_core.list_envs("game:*")
    monkeypatch.setitem(specs, "envs", dict(specs["envs"]))
    gem_core.register(CountedRoom.id, CountedRoom)
    CountedRoom.open = CountedRoom.made = 0
    yield CountedRoom
    assert CountedRoom.open == 0


@pytest.fixture
def room(counted_room: type[CountedRoom]) -> str:
    """The id of the registered room."""
    return counted_room.id
