"""How rollouts, sessions, loops and files end: closed, dropped, in a fork, while a step hangs."""

import asyncio
import gc
import selectors
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ending_envs import Consumer, Noting, Waits, noting, wait_until
from forks import in_fork

from gem_core import Action, BaseAgent, Info, Observation, Step
from gem_core.background import BackgroundLoop
from gem_core.errors import ClosedError, ConfigError, EpisodeEndedError, ForkError
from gem_core.lifetimes import call_later
from gem_rollout import Trajectory, TrajectoryFile, collect
from gem_rollout.episodes import engine, threads
from gem_rollout.models.tiny_model import make_tiny_tokenizer
from gem_rollout.tokens.session import TokenSession

pytestmark = pytest.mark.timeout(90)


class Kind(ABC):
    """A kind of thing that is made, used and closed."""

    closed: type[Exception] = ClosedError
    forked: type[Exception] | None = ForkError

    def __init__(self) -> None:
        self.env = noting()
        self.thing = self.make()

    @abstractmethod
    def make(self) -> Any:
        """Return the thing."""

    @abstractmethod
    def use(self) -> Any:
        """Use the thing."""

    def close(self) -> None:
        self.thing.close()

    def ended(self) -> bool:
        return self.env.all_closed()

    def drop(self) -> None:
        del self.thing


class ARollout(Kind):
    def make(self) -> Any:
        return collect(self.env, Waits, episodes=99, concurrency=2)

    def use(self) -> None:
        next(self.thing)


class ABlockingRollout(ARollout):
    def __init__(self) -> None:
        self.env = noting(blocks=True)
        self.thing = self.make()


class AnAsyncRollout(Kind):
    """In an event loop whose selector is not shared with forks."""

    def make(self) -> Any:
        self.loop = asyncio.Runner(
            loop_factory=lambda: asyncio.SelectorEventLoop(selectors.PollSelector())
        )
        return collect(self.env, Waits, episodes=99, concurrency=2)

    def use(self) -> None:
        self.loop.run(self.wait_for(self.thing.__anext__))

    async def wait_for(self, function: Callable[[], Any]) -> None:
        await function()

    def close(self) -> None:
        self.loop.run(self.wait_for(self.thing.aclose))

    def ended(self) -> bool:
        self.loop.run(asyncio.sleep(0))
        return super().ended()


class ASession(AnAsyncRollout):
    closed = EpisodeEndedError

    def make(self) -> Any:
        super().make()
        return TokenSession(self.env, tokenizer(), seed=1)

    def use(self) -> None:
        asked = self.thing.begin if self.thing.prompt is None else self.reply
        self.loop.run(self.wait_for(asked))

    async def reply(self) -> None:
        await self.thing.feed([tokenizer().eos_token_id], [0.0])


class ABackgroundLoop(Kind):
    forked = None

    def make(self) -> Any:
        return BackgroundLoop()

    def use(self) -> None:
        self.thing.run(asyncio.sleep(0))
        self.threads = [one for one in threading.enumerate() if one.name == "gem-coroutines"]

    def ended(self) -> bool:
        return not any(one.is_alive() for one in self.threads)


class AFile(Kind):
    path = Path()

    def make(self) -> Any:
        return TrajectoryFile(self.path)

    def use(self) -> None:
        self.thing.append(Trajectory("a", "b", 0, 0))

    def ended(self) -> bool:
        try:
            TrajectoryFile(self.path).close()
        except ConfigError:  # still locked
            return False
        return True


def tokenizer() -> Any:
    pytest.importorskip("tokenizers")
    return make_tiny_tokenizer()


KINDS = [ARollout, ABlockingRollout, AnAsyncRollout, ASession, ABackgroundLoop, AFile]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request: Any, tmp_path: Path) -> Iterator[Kind]:
    AFile.path = tmp_path / "file.jsonl"
    made = request.param()
    made.use()
    yield made
    if hasattr(made, "thing"):
        made.close()
    if isinstance(made, AnAsyncRollout):
        made.loop.close()


class TestEach:
    def test_it_ends_when_it_is_closed_and_says_so_when_it_is_used(self, kind: Kind) -> None:
        kind.close()
        assert kind.ended()
        kind.close()
        with pytest.raises(kind.closed):
            kind.use()
        assert kind.ended()

    def test_it_ends_soon_after_it_is_dropped(self, kind: Kind) -> None:
        kind.drop()
        assert wait_until(kind.ended)

    def test_it_ends_soon_after_it_is_dropped_by_the_collector(self, kind: Kind) -> None:
        cycle: list[Any] = [kind.thing]
        cycle.append(cycle)
        kind.drop()
        del cycle
        gc.collect()
        assert wait_until(kind.ended)

    def test_a_fork_can_neither_use_nor_end_it(self, kind: Kind) -> None:
        def use() -> None:
            if kind.forked is None:
                kind.use()
            else:
                with pytest.raises(kind.forked):
                    kind.use()
            kind.close()
            kind.drop()
            gc.collect()

        assert in_fork(use) == "None"
        assert not kind.ended()
        for _ in range(3):
            kind.use()


class TestARollout:
    def test_half_consumed_rollouts_in_an_event_loop_are_all_closed(self, capfd: Any) -> None:
        env = noting()

        async def main() -> None:
            for _ in range(200):
                async for _ in collect(env, Waits, episodes=9, concurrency=2):
                    break

        asyncio.run(main())
        assert wait_until(env.all_closed)
        assert len(env.made) >= 200
        gc.collect()
        assert "destroyed" not in capfd.readouterr().err

    def test_half_consumed_rollouts_in_threads_are_all_closed(self) -> None:
        env = noting()

        def leave() -> None:
            for _ in collect(env, Waits, episodes=9):
                break

        leaving = [threading.Thread(target=leave) for _ in range(20)]
        for one in leaving:
            one.start()
        for one in leaving:
            one.join()
        assert wait_until(env.all_closed)

    def test_one_that_is_dropped_elsewhere_is_closed_and_swallows_no_ctrl_c(self) -> None:
        env = noting()
        made = []
        for _ in range(5):
            run = collect(env, Waits, episodes=9)
            next(run)
            made.append(run)
        del run

        async def drop() -> None:
            made.pop()

        asyncio.run(drop())
        thread = threading.Thread(target=made.clear)
        thread.start()
        thread.join()
        assert wait_until(env.all_closed)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    def test_a_ctrl_c_that_was_noted_is_raised_when_the_rollout_is_dropped(self) -> None:
        class Interrupts(noting()):  # type: ignore[misc]
            def step(self, action: Action) -> Step:
                signal.raise_signal(signal.SIGINT)
                return Step("", 1.0, True, False, {})

        def leave() -> None:
            for _ in collect(Interrupts, Waits, episodes=9):
                break
            time.sleep(30)

        with pytest.raises(KeyboardInterrupt):
            leave()

    def test_in_a_fork_of_a_block_ctrl_c_is_raised_immediately(self) -> None:
        def interrupt() -> None:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)

        with collect(noting(), Waits, episodes=9) as run:
            next(run)
            assert in_fork(interrupt) == "None"

    def test_the_end_of_a_block_ends_it(self) -> None:
        env = noting()
        with collect(env, Waits, episodes=9) as run:
            next(run)
        assert env.all_closed()
        with pytest.raises(ClosedError), run:
            pass
        with pytest.raises(ClosedError):
            next(run)

    def test_the_end_of_an_asynchronous_block_ends_it(self) -> None:
        env = noting()

        async def main() -> None:
            async with collect(env, Waits, episodes=9) as run:
                await anext(run)
            assert env.all_closed()
            with pytest.raises(ClosedError):
                await anext(run)

        asyncio.run(main())

    def test_one_whose_episodes_have_ended_stays_at_its_end(self) -> None:
        run = collect(noting(), Waits, episodes=2)
        assert len(list(run)) == 2
        run.close()
        assert next(run, None) is None

    def test_an_asynchronous_one_ends_with_its_event_loop(self) -> None:
        env, kept = noting(), []

        async def main() -> None:
            kept.append(collect(env, Waits, episodes=9))
            await anext(kept[0])

        asyncio.run(main())
        assert env.all_closed()
        with pytest.raises(ConfigError, match="where it has begun"):
            next(kept[0])
        with pytest.raises(ClosedError):
            asyncio.run(main_of(kept[0]))

    def test_one_that_is_dropped_while_its_event_loop_ends_is_closed_once(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        closing, released = threading.Event(), threading.Event()
        kept: list[Any] = []

        class Slow(noting(blocks=True)):  # type: ignore[misc]
            def close(self) -> None:
                closing.set()
                assert released.wait(60)
                super().close()

        async def main() -> None:
            kept.append(collect(Slow, Waits, episodes=9, concurrency=1))
            await anext(kept[0])

        def release(loop: asyncio.AbstractEventLoop, after: int) -> None:
            if after:
                loop.call_soon(release, loop, after - 1)
            else:
                released.set()

        def drop(loop: asyncio.AbstractEventLoop) -> None:
            assert closing.wait(60)
            kept.clear()
            # The closer notes the drop, and the loop the request to end, in this order.
            call_later(loop.call_soon_threadsafe, release, loop, 9)

        with asyncio.Runner() as runner:
            runner.run(main())
            thread = threading.Thread(target=drop, args=[runner.get_loop()])
            thread.start()
        thread.join()
        assert Slow.all_closed()
        assert caplog.messages == []

    def test_the_end_of_its_event_loop_waits_for_the_step_of_one_that_was_dropped(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(threads, "GRACE", 60.0)
        monkeypatch.setattr(engine, "PATIENCE", 60.0)
        blocked, released = threading.Event(), threading.Event()

        class Blocks(noting(blocks=True)):  # type: ignore[misc]
            def start(self) -> tuple[Observation, Info]:
                if self is not self.made[0]:
                    blocked.set()
                    assert released.wait(60)
                return super().start()

            def step(self, action: Action) -> Step:
                assert blocked.wait(60)
                return Step("", 1.0, True, False, {})

        async def release() -> None:
            try:
                await asyncio.Event().wait()
            finally:  # the end of the event loop has cancelled the end of the run as well
                await some_turns()
                released.set()

        async def main() -> None:
            kept.append(asyncio.create_task(release()))
            async for _ in collect(Blocks, Waits, episodes=9, concurrency=2):
                break
            loop, ending = asyncio.get_running_loop(), asyncio.Event()
            call_later(loop.call_soon_threadsafe, ending.set)  # after the drop
            await ending.wait()
            await some_turns()

        kept: list[Any] = []
        asyncio.run(main())
        assert Blocks.all_closed()
        assert caplog.messages == []

    def test_one_can_be_closed_in_an_event_loop_but_not_consumed(self) -> None:
        env = noting()
        run = collect(env, Waits, episodes=9)
        next(run)

        async def main() -> None:
            with pytest.raises(ConfigError, match="async for"):
                next(run)
            with pytest.raises(ConfigError, match="where it has begun"):
                await anext(run)
            run.close()

        asyncio.run(main())
        assert env.all_closed()

    @pytest.mark.parametrize("blocks", [False, True])
    def test_closing_it_ends_the_wait_of_another_thread(self, *, blocks: bool) -> None:
        env, waiting = noting(blocks=blocks), threading.Event()

        class Hangs(BaseAgent):
            async def act(self, observation: Observation, info: Info) -> Action:
                waiting.set()
                await asyncio.Event().wait()

        run = collect(env, Hangs, episodes=9)
        consumer = Consumer(run)
        assert waiting.wait(30)
        run.close()
        consumer.join()
        assert consumer.was_refused
        assert env.all_closed()

    def test_closing_an_asynchronous_one_ends_the_wait_of_another_task(self) -> None:
        env = noting()

        class Hangs(BaseAgent):
            async def act(self, observation: Observation, info: Info) -> Action:
                await asyncio.Event().wait()

        async def main() -> None:
            run = collect(env, Hangs, episodes=9)
            task = asyncio.create_task(main_of(run))
            await asyncio.sleep(0.01)
            await run.aclose()
            with pytest.raises(ClosedError):
                await task

        asyncio.run(main())
        assert env.all_closed()

    def test_a_step_may_close_its_own_rollout(self) -> None:
        class Closes(Noting):
            def step(self, action: Action) -> Step:
                run.close()
                return Step("", 0.0, True, False, {})

        run = collect(Closes, Waits, episodes=9)
        with pytest.raises(ClosedError):
            next(run)
        assert wait_until(Closes.all_closed)


async def main_of(run: Any) -> None:
    await anext(run)


async def some_turns() -> None:
    """Let everything in the event loop go on that does not wait."""
    for _ in range(9):
        await asyncio.sleep(0)
