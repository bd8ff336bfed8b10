"""How rollouts, sessions, loops and files end: closed, dropped, in a fork, while a step hangs."""

import asyncio
import contextlib
import gc
import random
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import Command
from forks import in_fork

import gem_rollout.background
import gem_rollout.rollout
from gem_core import Action, AsyncEnv, BaseAgent, BaseEnv, Info, Observation, Step
from gem_core.errors import ClosedError, ConfigError, EpisodeEndedError, ForkError
from gem_rollout import Trajectory, TrajectoryFile, collect, collect_async
from gem_rollout.background import BackgroundLoop
from gem_rollout.models.tiny_model import make_tiny_tokenizer
from gem_rollout.runs import Run, write_json
from gem_rollout.token_session import TokenSession

pytestmark = pytest.mark.timeout(90)


def wait_until(check: Callable[[], Any]) -> Any:
    until = time.monotonic() + 30
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


class Kind:
    """A kind of thing that is made, used and closed."""

    closed: type[Exception] = ClosedError
    forked: type[Exception] | None = ForkError

    def __init__(self) -> None:
        self.env = noting()
        self.thing = self.make()

    def make(self) -> Any:
        raise NotImplementedError

    def use(self) -> Any:
        raise NotImplementedError

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
        return collect_async(self.env, Waits, episodes=99, concurrency=2)

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
        threads = [one for one in threading.enumerate() if one.name == "gem-background"]
        self.threads = threads

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
                async for _ in collect_async(env, Waits, episodes=9, concurrency=2):
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

        threads = [threading.Thread(target=leave) for _ in range(20)]
        for one in threads:
            one.start()
        for one in threads:
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
        def leave() -> None:
            for _ in collect(noting(), Waits, episodes=9):
                signal.raise_signal(signal.SIGINT)
                break
            time.sleep(30)

        with pytest.raises(KeyboardInterrupt):
            leave()

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
            async with collect_async(env, Waits, episodes=9) as run:
                await anext(run)
            assert env.all_closed()
            with pytest.raises(ClosedError):
                await anext(run)

        asyncio.run(main())

    def test_one_whose_episodes_have_ended_stays_at_its_end(self) -> None:
        run = collect(noting(), Waits, episodes=2)
        assert len(list(run)) == 2
        run.close()
        assert list(run) == []

    def test_an_asynchronous_one_ends_with_its_event_loop(self) -> None:
        env, kept = noting(), []

        async def main() -> None:
            kept.append(collect_async(env, Waits, episodes=9))
            await anext(kept[0])

        asyncio.run(main())
        assert env.all_closed()
        with pytest.raises(ClosedError):
            asyncio.run(main_of(kept[0]))

    def test_one_can_be_closed_in_an_event_loop_but_not_consumed(self) -> None:
        env = noting()
        run = collect(env, Waits, episodes=9)
        next(run)

        async def main() -> None:
            with pytest.raises(ConfigError, match="collect_async"):
                next(run)
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

        run, errors = collect(env, Hangs, episodes=9), []

        def consume() -> None:
            try:
                next(run)
            except ClosedError as error:
                errors.append(error)

        thread = threading.Thread(target=consume)
        thread.start()
        assert waiting.wait(30)
        run.close()
        thread.join(30)
        assert len(errors) == 1
        assert env.all_closed()

    def test_closing_an_asynchronous_one_ends_the_wait_of_another_task(self) -> None:
        env = noting()

        class Hangs(BaseAgent):
            async def act(self, observation: Observation, info: Info) -> Action:
                await asyncio.Event().wait()

        async def main() -> None:
            run = collect_async(env, Hangs, episodes=9)
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
                until = time.monotonic() + 1.6
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

        monkeypatch.setattr("gem_rollout.engine.CLOSING", 0.2)
        leave_early(Hangs)
        assert "did not close" in caplog.text
        goes_on.set()
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

        monkeypatch.setattr(gem_rollout.rollout, "_LIMIT", 0.1)
        run = collect(Hangs, Waits, episodes=9)
        errors: list[Any] = []

        def consume() -> None:
            try:
                next(run)
            except ClosedError as error:
                errors.append(error)

        thread = threading.Thread(target=consume)
        thread.start()
        assert inside.wait(30)
        run.close()
        assert "closes the environments when the step returns" in caplog.text
        goes_on.set()
        thread.join(30)
        assert len(errors) == 1
        assert Hangs.all_closed()

    def test_a_coroutine_that_blocks_a_background_loop(
        self, caplog: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(gem_rollout.background, "_PATIENCE", 0.1)
        inside, goes_on, errors = threading.Event(), threading.Event(), list[Any]()
        loop = BackgroundLoop()

        async def block() -> None:
            inside.set()
            goes_on.wait()

        def run() -> None:
            try:
                loop.run(block())
            except ClosedError as error:
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        assert inside.wait(30)
        loop.close()
        thread.join(30)
        assert len(errors) == 1
        assert "abandoned" in caplog.text
        goes_on.set()


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
        async with collect_async(env, Agent, episodes=2, concurrency=2) as run:
            await anext(run)

    if asynchronous:
        asyncio.run(main())
    else:
        with collect(env, Agent, episodes=2, concurrency=2) as run:
            next(run)


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


FORKS = """
import asyncio, os, signal, sys
from gem_core import BaseEnv, Step
from gem_core.agent import SilentAgent
from gem_rollout import Trajectory, TrajectoryFile, collect, collect_async
from gem_rollout.background import BackgroundLoop

signal.alarm(30)

class Noting(BaseEnv):
    def start(self):
        return "", {}
    def step(self, action):
        return Step("", 1.0, True, False, {})
    def close(self):
        os.write(1, f"{os.getpid() == parent}\\n".encode())

class Blocking(Noting):
    blocking = True

async def endless():
    while True:
        await asyncio.sleep(0)

parent = os.getpid()
runs = [collect(kind, SilentAgent, episodes=9, concurrency=1) for kind in (Noting, Blocking)]
for run in runs:
    next(run)
asynchronous = collect_async(Noting, SilentAgent, episodes=9, concurrency=1)
loop = BackgroundLoop()
loop.run(anext(asynchronous))
busy = loop.start(endless())
file = TrajectoryFile(sys.argv[1])
if os.fork() == 0:
    signal.alarm(30)
    loop.run(asyncio.sleep(0))
    if sys.argv[2] == "drop":
        del runs, run, asynchronous, loop, file
    sys.exit()
assert os.wait()[1] == 0
for run in runs:
    assert len(list(run)) == 8
loop.run(anext(asynchronous))
assert not busy.done()
file.append(Trajectory("a", "b", 0, 0))
try:
    TrajectoryFile(sys.argv[1])
except ValueError:
    pass
else:
    raise AssertionError("The lock is gone.")
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["keep", "drop"])
def test_the_exit_of_a_fork_ends_nothing_of_its_parent(how: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FORKS, tmp_path / "file.jsonl", how],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.split() == ["True"] * 3


DROPPED = """
from gem_core import BaseEnv, Step
from gem_core.agent import SilentAgent
from gem_rollout import collect
import os, time

class Slow(BaseEnv):
    blocking = {blocking}
    def start(self):
        return "", {{}}
    def step(self, action):
        return Step("", 1.0, True, False, {{}})
    def close(self):
        time.sleep(0.3)
        os.write(1, b"closed ")

{kept}for _ in collect(Slow, SilentAgent, episodes=9, concurrency=1):
    break
"""
KEPT = "run = collect(Slow, SilentAgent, episodes=9, concurrency=1)\nnext(run)\n"


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["", KEPT])
def test_the_end_of_the_interpreter_waits_for_what_ends(kept: str) -> None:
    program = DROPPED.format(blocking=bool(kept), kept=kept)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.split() == ["closed"] * (2 if kept else 1)
    assert not ran.stderr


INTERRUPTED = """
import asyncio, faulthandler, itertools, sys, threading, time
from gem_core import AsyncEnv, BaseAgent, BaseEnv, Step
from gem_rollout import collect

class Noting(BaseEnv):
    def __init__(self):
        opened.add(self)
        time.sleep(0.001)
    def start(self):
        self.turn = 0
        return "", {}
    def step(self, action):
        self.turn += 1
        time.sleep(0.0005)
        return Step("", 1.0, self.turn == 3, False, {})
    def close(self):
        opened.discard(self)

class Blocking(Noting):
    blocking = True

class Async(AsyncEnv, Noting):
    async def start(self):
        self.turn = 0
        return "", {}
    async def step(self, action):
        self.turn += 1
        await asyncio.sleep(0.0005)
        return Step("", 1.0, self.turn == 3, False, {})

class Slow(Noting):
    def step(self, action):
        time.sleep(3600)

class Agent(BaseAgent):
    async def act(self, observation, info):
        await asyncio.sleep(0)
        return "a"

def play(kind):
    print("begins", flush=True)
    fork = kind is Noting
    with collect(kind, Agent, episodes=itertools.count(), concurrency=4, fork_groups=fork,
                 episodes_per_group=3 if fork else 1) as run:
        for number, _ in enumerate(run):
            if number % 3 == 0:
                time.sleep(0.001)

opened = set()
for kind in [Noting, Blocking, Async] * int(sys.argv[1]) + [Slow]:
    faulthandler.dump_traceback_later(30, exit=True)
    try:
        play(kind)
    except KeyboardInterrupt:
        end = time.monotonic() + 10
        while opened and time.monotonic() < end:
            time.sleep(0.01)
        print("interrupted", len(opened), flush=True)
play(Noting)
"""


@pytest.mark.slow
def test_ctrl_c_at_any_moment_ends_a_rollout_and_closes_its_environments() -> None:
    rng, rounds = random.Random(7), 12
    process = Command(
        [sys.executable, "-c", INTERRUPTED, str(rounds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for _ in range(3 * rounds + 1):
        assert process.stdout.readline() == "begins\n", process.communicate()[1]
        time.sleep(rng.random() * 0.04)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted 0\n"
    assert process.stdout.readline() == "begins\n"
    time.sleep(rng.random() * 0.04)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert "destroyed" not in said


class TestFiles:
    def test_an_interrupted_write_leaves_no_part(self, tmp_path: Path) -> None:
        class Interrupts:
            def __repr__(self) -> str:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_json(tmp_path / "run.json", {"a": Interrupts()})
        assert list(tmp_path.iterdir()) == []

    def test_what_a_killed_run_left_is_removed(self, tmp_path: Path) -> None:
        (tmp_path / ".trajectories.jsonl.12345").touch()
        with TrajectoryFile(tmp_path / "trajectories.jsonl") as file:
            file.append(Trajectory("a", "b", 0, 0))
        Run(tmp_path).remove_errors()
        assert [one.name for one in tmp_path.iterdir()] == ["trajectories.jsonl"]
        assert len(list(Run(tmp_path).trajectories())) == 1
