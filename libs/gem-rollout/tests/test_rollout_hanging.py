"""A step, a coroutine or an environment that hangs is abandoned after some seconds."""

import asyncio
import contextlib
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from ending_envs import Consumer, Waits, noting, wait_until

import gem_rollout.episodes.rollout
from gem_core import Action, AsyncEnv, BaseAgent, Info, Observation, Step
from gem_rollout import collect

TO_THREAD = """
import asyncio, threading
from gem_core import AsyncEnv
from gem_core.agent import SilentAgent
from gem_rollout import collect

class Hangs(AsyncEnv):
    async def start(self):
        return "", {}
    async def step(self, action):
        await asyncio.to_thread(inside.set)
        await asyncio.to_thread(threading.Event().wait)
    def close(self):
        print("closed", flush=True)

def close():
    inside.wait()
    run.close()

inside = threading.Event()
run = collect(Hangs, SilentAgent, episodes=1)
threading.Thread(target=close).start()
try:
    next(run)
except RuntimeError:
    pass
"""


class TestAHangingStep:
    """It is abandoned after some seconds, and that is said."""

    @pytest.mark.slow
    @pytest.mark.parametrize("asynchronous", [False, True])
    def test_a_step_that_hangs_in_a_thread(self, caplog: Any, *, asynchronous: bool) -> None:
        goes_on = threading.Event()

        class Hangs(noting(blocks=True)):  # type: ignore[misc]
            inside = threading.Event()

            def step(self, action: Action) -> Step:
                if self is not self.made[0]:
                    self.inside.set()
                    goes_on.wait()
                return Step("", 0.0, True, False, {})

        leave_early(Hangs, asynchronous=asynchronous)
        assert "abandoned" in caplog.text
        assert not Hangs.all_closed()
        goes_on.set()
        assert wait_until(Hangs.all_closed)

    @pytest.mark.slow
    @pytest.mark.parametrize("asynchronous", [False, True])
    def test_a_coroutine_that_ignores_its_cancellation(
        self, caplog: Any, *, asynchronous: bool
    ) -> None:
        class Hangs(AsyncEnv, noting()):  # type: ignore[misc]
            inside = threading.Event()

            async def start(self) -> tuple[Observation, Info]:
                return "", {}

            async def step(self, action: Action) -> Step:
                until = time.monotonic() + 2.5
                while self is not self.made[0] and time.monotonic() < until:
                    self.inside.set()
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.sleep(0.1)
                return Step("", 0.0, True, False, {})

        leave_early(Hangs, asynchronous=asynchronous)
        assert "abandoned" in caplog.text
        assert Hangs.all_closed()  # as its event loop has ended

    @pytest.mark.slow
    def test_an_environment_that_does_not_close(
        self, caplog: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        goes_on = threading.Event()

        class Hangs(noting(blocks=True)):  # type: ignore[misc]
            inside = threading.Event()
            inside.set()

            def close(self) -> None:
                goes_on.wait()
                super().close()

        monkeypatch.setattr("gem_rollout.episodes.engine.CLOSING", 0.2)
        leave_early(Hangs)
        assert "did not close" in caplog.text
        goes_on.set()
        assert wait_until(Hangs.all_closed)

    @pytest.mark.slow
    def test_an_environment_that_does_not_close_after_a_late_end(self) -> None:
        late, ends, closing, goes_on = (threading.Event() for _ in range(4))

        class Hangs(noting(blocks=True)):  # type: ignore[misc]
            def close(self) -> None:
                if self is not self.made[0]:
                    closing.set()
                    goes_on.wait()
                super().close()

        class Agent(BaseAgent):
            def reset(self, env: Any) -> None:
                self.waits_for = late if env.unwrapped is env.made[0] else ends

            async def act(self, observation: Observation, info: Info) -> Action:
                if self.waits_for is ends:
                    late.set()
                while not self.waits_for.is_set():
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.sleep(0.001)
                return "a"

        async def main() -> None:
            async with collect(Hangs, Agent, episodes=2, concurrency=2) as run:
                await anext(run)
            ends.set()
            while not closing.is_set():  # noqa: ASYNC110 - set by a thread
                await asyncio.sleep(0.001)
            goes_on.set()

        asyncio.run(main())
        assert wait_until(Hangs.all_closed)

    @pytest.mark.slow
    def test_a_call_of_to_thread_keeps_neither_close_nor_the_interpreter(self) -> None:
        ran = subprocess.run(
            [sys.executable, "-c", TO_THREAD],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert (ran.stdout, ran.stderr) == ("closed\n", "")

    def test_another_threads_step_in_the_event_loop(
        self, caplog: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        inside, goes_on = threading.Event(), threading.Event()

        class Hangs(noting()):  # type: ignore[misc]
            def step(self, action: Action) -> Step:
                inside.set()
                goes_on.wait()
                return Step("", 0.0, True, False, {})

        monkeypatch.setattr(gem_rollout.episodes.rollout, "_LIMIT", 0.1)
        run = collect(Hangs, Waits, episodes=9)
        consumer = Consumer(run)
        assert inside.wait(30)
        run.close()
        assert "closes the environments when the step returns" in caplog.text
        goes_on.set()
        consumer.join()
        assert consumer.was_refused
        assert Hangs.all_closed()


def leave_early(env: Any, *, asynchronous: bool = False) -> None:
    """Take one trajectory while another episode is in its step, and close the rollout."""

    class Agent(BaseAgent):
        def reset(self, env: Any) -> None:
            self.waits = env.unwrapped is env.made[0]

        async def act(self, observation: Observation, info: Info) -> Action:
            while self.waits and not env.inside.is_set():  # noqa: ASYNC110 - set by a thread
                await asyncio.sleep(0.001)
            return "a"

    async def main() -> None:
        async with collect(env, Agent, episodes=2, concurrency=2) as run:
            await anext(run)

    if asynchronous:
        asyncio.run(main())
    else:
        with collect(env, Agent, episodes=2, concurrency=2) as run:
            next(run)
