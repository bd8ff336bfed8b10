"""A server on a real port, and environments that show how it calls them."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiohttp import web

from gem_core.background import BackgroundLoop
from gem_core.env import BaseEnv, Step
from gem_core.errors import SnapshotError
from gem_core.factory import EnvFactory, make_factory
from gem_core.specs import EnvSpec
from gem_serve.server import EnvServer, Limits

GATE = threading.Event()
GATE.set()


class Coin(BaseEnv):
    """Guess five coins; the episode says how many guesses were right."""

    sides = ("heads", "tails")

    def start(self, *, coins: int = 5) -> tuple[str, dict[str, Any]]:
        self.left, self.right = coins, 0
        self.side = self.rng.choice(self.sides)
        return f"{self.left} coins, {self.rng.random()}", {"kept": (1, b"2"), "set": {"four"}}

    def step(self, action: Any) -> Step:
        hit = action == self.side
        self.right += hit
        self.left -= 1
        self.side = self.rng.choice(self.sides)
        info = {"right": self.right, "guess": (action, None), "nothing": float("inf")}
        return Step(f"{self.left} left", float(hit), self.left == 0, False, info)

    def sample_random_action(self) -> str:
        return self.action_rng.choice(self.sides)


class Tasks(Coin):
    """Says the number of its task."""

    def start(self, *, idx: int = -1) -> tuple[str, dict[str, Any]]:
        super().start()
        return f"task {idx}", {}

    def reset_options(self, number: int, seed: int | None = None) -> dict[str, Any]:
        return {"idx": 100 * (seed or 0) + number}


class Together(Coin):
    """A blocking environment whose step waits until two of them step."""

    blocking = True
    shared = ("barrier",)
    barrier = threading.Barrier(2, timeout=30)

    def step(self, action: Any) -> Step:
        self.barrier.wait()
        return super().step(action)


class Stuck(Coin):
    """A blocking environment whose step waits for the gate."""

    blocking = True

    def step(self, action: Any) -> Step:
        GATE.wait(30)
        return super().step(action)


class Lingering(Coin):
    """A blocking environment whose end waits for the gate."""

    blocking = True

    def close(self) -> None:
        GATE.wait(30)


class Unsaved(Coin):
    """Cannot be saved."""

    def snapshot(self) -> bytes:
        raise SnapshotError("It holds a lock.")


CLOSED: list[str] = []
"""The names of environments that were closed, which the test has cleared."""


class Held(Stuck):
    """Waits for the gate in its step, and says when it is closed."""

    def close(self) -> None:
        CLOSED.append("held")


class Awaited(Coin):
    """An asynchronous environment whose step never returns, and that says when it is closed."""

    async def step(self, action: Any) -> Step:  # type: ignore[override]
        await asyncio.Event().wait()
        raise AssertionError("it waits for ever")

    def close(self) -> None:
        CLOSED.append("awaited")


class Broken(Coin):
    """Raises in its step."""

    def step(self, action: Any) -> Step:
        raise LookupError(f"no {action}")


ENVS = {
    "coin": Coin,
    "tasks": Tasks,
    "together": Together,
    "stuck": Stuck,
    "lingering": Lingering,
    "broken": Broken,
    "unsaved": Unsaved,
    "held": Held,
    "awaited": Awaited,
}


def local(name: str) -> EnvFactory:
    """Return the factory of an environment of this file, or of a registered one."""
    if name not in ENVS:
        return make_factory(name)
    return make_factory(EnvSpec(id=f"test:{name}", entry_point=ENVS[name], description=name))


class Running:
    """A server in a thread, at ``address``."""

    def __init__(self, factories: dict[str, EnvFactory], port: int, **options: Any) -> None:
        self.server = EnvServer(factories, **options)
        self._loop = BackgroundLoop("servers", seconds=30)
        runner = web.AppRunner(self.server.app(), shutdown_timeout=1.0)
        self._loop.before_end(runner.cleanup)
        self.do(runner.setup())
        self.do(web.TCPSite(runner, "127.0.0.1", port).start())
        self.port: int = runner.addresses[0][1]
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.address}"

    def do(self, work: Any) -> Any:
        """Await something in the server's loop."""
        return self._loop.start(work).result(60)

    def until(self, condition: Callable[["Running"], bool]) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + 60
        while not condition(self):
            assert time.monotonic() < end, "it did not happen within a minute"
            time.sleep(0.01)

    def stop(self) -> None:
        self._loop.close()


Serve = Callable[..., Running]


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What ``stuck`` and ``lingering`` wait for while a test has cleared it."""
    yield GATE
    GATE.set()


@pytest.fixture
def closed() -> list[str]:
    """Return the names of the environments ``held`` and ``awaited`` that were closed."""
    CLOSED.clear()
    return CLOSED


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start servers of the named environments; they are stopped at the end."""
    with contextlib.ExitStack() as stack:

        def start(
            *names: str,
            port: int = 0,
            token: str | None = None,
            secret: bytes | None = None,
            **limits: Any,
        ) -> Running:
            factories = {name: local(name) for name in names or ("coin",)}
            running = Running(factories, port, token=token, secret=secret, limits=Limits(**limits))
            stack.callback(running.stop)
            return running

        yield start
