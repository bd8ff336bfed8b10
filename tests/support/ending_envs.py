"""Environments that note their end, for tests of what ends them."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

from gem_core import Action, BaseAgent, BaseEnv, Info, Observation, Step
from gem_core.errors import ClosedError

__all__ = ["Consumer", "Noting", "Waits", "noting", "wait_until"]


def wait_until(check: Callable[[], Any]) -> Any:
    until = time.monotonic() + 60
    while not check() and time.monotonic() < until:
        time.sleep(0.005)
    return check()


class Noting(BaseEnv):
    """Notes that it was made and closed."""

    made: "list[Noting]"
    is_open = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.made = []

    def __init__(self) -> None:
        self.made.append(self)

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return "start", {}

    def step(self, action: Action) -> Step:
        self.turn += 1
        return Step("", 1.0, self.turn == 9, False, {})

    def close(self) -> None:
        self.is_open = False

    @classmethod
    def all_closed(cls) -> bool:
        return bool(cls.made) and not any(one.is_open for one in cls.made)


class Waits(BaseAgent):
    async def act(self, observation: Observation, info: Info) -> Action:
        await asyncio.sleep(0)
        return "a"


def noting(*, blocks: bool = False) -> type[Noting]:
    class Fresh(Noting):
        blocking = blocks

    return Fresh


class Consumer:
    """A thread that waits for the next trajectory of a run until the run is closed."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self.was_refused = False
        self._thread = threading.Thread(target=self._consume)
        self._thread.start()

    def _consume(self) -> None:
        try:
            next(self._run)
        except ClosedError:
            self.was_refused = True

    def join(self) -> None:
        """Wait for the end of the thread."""
        self._thread.join(60)
