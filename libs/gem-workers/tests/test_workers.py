"""Calls of worker pools: what they return and raise, and what becomes of workers that fail."""

import asyncio
import gc
import math
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core import GemError
from gem_core.errors import ConfigError, DeadlineError, WorkerCallError, WorkerDiedError
from gem_workers import WorkerPool

LONG = 60.0
"""A deadline that nothing here should reach."""
SHORT = 0.3


@pytest.fixture(scope="module", autouse=True)
def _find_worker_functions() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent)
        yield


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(preload=["worker_functions"], max_workers=3) as pool:
        yield pool


@pytest.fixture
def make_pool() -> Iterator[Callable[..., WorkerPool]]:
    made: list[WorkerPool] = []

    def make(**kwargs: Any) -> WorkerPool:
        made.append(WorkerPool(**{"preload": ["worker_functions"], **kwargs}))
        return made[-1]

    yield make
    for each in made:
        each.close()


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_for_end(pid: int) -> None:
    wait_until(lambda: not is_alive(pid), f"process {pid} has ended")


def read_pid(path: Path) -> int:
    wait_until(path.exists, f"{path} is there")
    return int(path.read_text())


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text()
    | st.binary()
    | st.fractions(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


class TestACall:
    @pytest.mark.slow
    def test_a_call_returns_what_the_function_returns(self, pool: WorkerPool) -> None:
        assert pool.call("math:hypot", 3.0, 4.0, deadline=LONG) == 5.0
        assert pool.call("os.path:join", "a", "b", deadline=math.inf) == os.path.join("a", "b")  # noqa: PTH118

    def test_calls_that_do_not_overlap_are_run_by_the_same_other_process(
        self, pool: WorkerPool
    ) -> None:
        pids = {pool.call("os:getpid", deadline=LONG) for _ in range(20)}
        assert len(pids) == 1
        assert os.getpid() not in pids

    @pytest.mark.slow
    @given(value=VALUES)
    @settings(deadline=None, max_examples=100 if thorough() else 20)
    def test_a_call_brings_any_value_back_unchanged(self, pool: WorkerPool, value: Any) -> None:
        again = pool.call("worker_functions:same", value, deadline=LONG)
        assert again == value
        assert type(again) is type(value)

    @pytest.mark.slow
    def test_a_call_carries_arguments_and_results_of_any_size(
        self, pool: WorkerPool, subtests: pytest.Subtests
    ) -> None:
        for size in (0, 1, 65_527, 65_528, 1 << 20, 20 << 20):
            with subtests.test(f"{size} bytes"):
                data = os.urandom(size)
                assert pool.call("worker_functions:same", data, deadline=LONG) == data

    def test_a_call_that_raises_says_what_was_raised_where(self, pool: WorkerPool) -> None:
        with pytest.raises(
            WorkerCallError, match=r"^json:loads raised JSONDecodeError: Expecting value: line 1"
        ) as raised:
            pool.call("json:loads", "", deadline=LONG)
        assert any("in raw_decode" in note for note in raised.value.__notes__)

    def test_a_call_that_fails_costs_no_worker(
        self, pool: WorkerPool, subtests: pytest.Subtests
    ) -> None:
        before = pool.call("os:getpid", deadline=LONG)
        for target, message in (
            ("worker_functions:recurse", "RecursionError"),
            ("sys:exit", "SystemExit"),
            ("signal:default_int_handler", "KeyboardInterrupt|TypeError"),
            ("worker_functions:raise_silent", "SilentError: .*without a readable message"),
            ("worker_functions:make_lock", "returned lock, which cannot be pickled"),
            ("worker_functions:make_unreadable", "cannot be read"),
            ("worker_functions:smae", "'smae'. Did you mean 'same'"),
            ("no_such_module:x", "no module 'no_such_module'"),
            ("worker_functions", "does not have the form 'module:attribute'"),
        ):
            with subtests.test(target):
                with pytest.raises(WorkerCallError, match=message):
                    pool.call(target, deadline=LONG)
                assert pool.call("os:getpid", deadline=LONG) == before

    def test_a_call_keeps_only_the_beginning_of_a_huge_message(self, pool: WorkerPool) -> None:
        with pytest.raises(WorkerCallError, match="ValueError: xxx") as raised:
            pool.call("worker_functions:raise_long", deadline=LONG)
        assert len(str(raised.value)) < 3000

    def test_a_call_with_arguments_that_cannot_be_pickled_is_an_error(
        self, pool: WorkerPool
    ) -> None:
        with pytest.raises(WorkerCallError, match="arguments of math:sqrt cannot be pickled"):
            pool.call("math:sqrt", threading.Lock(), deadline=LONG)

    def test_a_call_with_arguments_that_cannot_be_read_is_an_error(self, pool: WorkerPool) -> None:
        unreadable = __import__("worker_functions").Unreadable()
        with pytest.raises(WorkerCallError, match="raised ValueError: invalid literal"):
            pool.call("worker_functions:same", unreadable, deadline=LONG)

    @pytest.mark.parametrize("deadline", [0, -1.0, math.nan])
    def test_a_call_needs_a_deadline_in_the_future(self, pool: WorkerPool, deadline: float) -> None:
        with pytest.raises(ConfigError, match="deadline must be a positive number of seconds"):
            pool.call("os:getpid", deadline=deadline)

    def test_a_call_is_not_heard_on_the_streams_of_the_host(
        self, pool: WorkerPool, capfd: pytest.CaptureFixture[str]
    ) -> None:
        assert pool.call("worker_functions:talk", deadline=LONG) == ""
        assert capfd.readouterr() == ("", "")

    def test_a_call_is_safe_from_ctrl_c_and_leaves_no_core_dump(self, pool: WorkerPool) -> None:
        assert pool.call("worker_functions:ignores_sigint", deadline=LONG)
        assert pool.call("worker_functions:limit_of_core_dumps", deadline=LONG) == 0

    def test_a_call_that_forks_and_returns_twice_is_answered_once(self, pool: WorkerPool) -> None:
        first = pool.call("worker_functions:fork_and_return_twice", deadline=LONG)
        assert first > 0
        assert pool.call("worker_functions:same", "next", deadline=LONG) == "next"

    @pytest.mark.slow
    def test_a_call_holds_no_socket_but_its_own(self, pool: WorkerPool) -> None:
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(lambda _: pool.call("time:sleep", 0.1, deadline=LONG), range(3)))
        assert pool.call("worker_functions:sockets", deadline=LONG) == 1


class TestACallThatIsLate:
    @pytest.mark.slow
    def test_a_late_call_is_killed_with_all_that_it_started(
        self, pool: WorkerPool, tmp_path: Path, subtests: pytest.Subtests
    ) -> None:
        for function in (
            "write_pid_and_sleep",
            "write_pid_and_ignore_signals",
            "write_pid_and_stop",
            "write_pid_and_compute",
            "write_pid_of_fork_and_sleep",
            "write_pid_of_program_and_sleep",
        ):
            with subtests.test(function):
                path = tmp_path / function
                for seconds in (SHORT, 5.0, LONG):  # a loaded machine may take long to begin
                    message = f"{function} took longer than {seconds:g} seconds"
                    with pytest.raises(DeadlineError, match=message):
                        pool.call(f"worker_functions:{function}", str(path), deadline=seconds)
                    if path.exists():
                        break
                wait_for_end(read_pid(path))
                assert pool.call("worker_functions:same", 1, deadline=LONG) == 1

    def test_a_late_call_can_be_caught_as_the_builtin(self, pool: WorkerPool) -> None:
        with pytest.raises(TimeoutError):
            pool.call("time:sleep", 300, deadline=0.01)

    @pytest.mark.slow
    def test_a_late_call_harms_no_other_call(self, pool: WorkerPool) -> None:
        with ThreadPoolExecutor(3) as threads:
            slow = threads.submit(
                pool.call, "worker_functions:sleep_and_tell_pid", 0.5, deadline=LONG
            )
            for _ in range(3):
                with pytest.raises(DeadlineError):
                    pool.call("time:sleep", 300, deadline=0.05)
            assert is_alive(slow.result())

    @pytest.mark.slow
    def test_the_wait_for_a_worker_or_for_imports_does_not_make_a_call_late(
        self, make_pool: Callable[..., WorkerPool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "slow_to_import.py").write_text("import time; time.sleep(2.1)")
        monkeypatch.syspath_prepend(tmp_path)
        pool = make_pool(preload=["slow_to_import"], max_workers=1)
        with ThreadPoolExecutor(8) as threads:
            calls = [threads.submit(pool.call, "time:sleep", 0.5, deadline=2.0) for _ in range(6)]
            assert [call.result() for call in calls] == [None] * 6

    @pytest.mark.slow
    def test_a_call_can_be_late_while_its_arguments_are_sent(self, pool: WorkerPool) -> None:
        with pytest.raises(DeadlineError):
            pool.call("worker_functions:length", bytes(64 << 20), deadline=0.001)
        assert pool.call("worker_functions:length", bytes(1 << 20), deadline=LONG) == 1 << 20


class TestAWorkerThatDies:
    def test_a_worker_that_dies_is_an_error_with_its_status_and_is_replaced(
        self, pool: WorkerPool, subtests: pytest.Subtests
    ) -> None:
        for target, args, status in (
            ("os:_exit", (3,), 3),
            ("os:abort", (), -signal.SIGABRT),
            ("worker_functions:read_nowhere", (), -signal.SIGSEGV),
            ("worker_functions:send_to_itself", (signal.SIGKILL,), -signal.SIGKILL),
            ("worker_functions:send_to_itself", (signal.SIGTERM,), -signal.SIGTERM),
        ):
            with subtests.test(f"{target} {status}"):
                message = rf"died in {target} \(exit status {status}\)"
                with pytest.raises(WorkerDiedError, match=message):
                    pool.call(target, *args, deadline=LONG)
                assert pool.call("worker_functions:same", 1, deadline=LONG) == 1

    def test_a_worker_that_dies_takes_what_it_started_with_it(
        self, pool: WorkerPool, tmp_path: Path
    ) -> None:
        path = str(tmp_path / "pid")
        with pytest.raises(WorkerDiedError, match="exit status 7"):
            pool.call("worker_functions:write_pid_of_program_and_die", path, deadline=LONG)
        wait_for_end(read_pid(tmp_path / "pid"))

    def test_a_worker_that_dies_again_and_again_is_replaced_each_time(
        self, pool: WorkerPool
    ) -> None:
        for _ in range(5):
            with pytest.raises(WorkerDiedError):
                pool.call("os:_exit", 1, deadline=LONG)
        assert pool.call("worker_functions:same", 1, deadline=LONG) == 1

    def test_nobody_notices_that_an_idle_worker_has_died(self, pool: WorkerPool) -> None:
        pid = pool.call("os:getpid", deadline=LONG)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the worker is buried")
        assert pool.call("os:getpid", deadline=LONG) != pid

    @pytest.mark.slow
    def test_workers_and_their_template_are_replaced_if_all_die(
        self, make_pool: Callable[..., WorkerPool]
    ) -> None:
        pool = make_pool(max_workers=2)
        worker, template = (
            pool.call(target, deadline=LONG) for target in ("os:getpid", "os:getppid")
        )
        os.kill(template, signal.SIGKILL)
        wait_for_end(worker)
        assert pool.call("os:getppid", deadline=LONG) != template

    @pytest.mark.slow
    def test_a_call_whose_worker_dies_with_the_template_raises(
        self, make_pool: Callable[..., WorkerPool], tmp_path: Path
    ) -> None:
        pool = make_pool(max_workers=1)
        template = pool.call("os:getppid", deadline=LONG)
        with ThreadPoolExecutor(1) as threads:
            call = threads.submit(
                pool.call,
                "worker_functions:write_pid_and_sleep",
                str(tmp_path / "pid"),
                deadline=LONG,
            )
            read_pid(tmp_path / "pid")
            os.kill(template, signal.SIGKILL)
            with pytest.raises(WorkerDiedError, match="exit status unknown"):
                call.result()


class TestMemory:
    @pytest.mark.slow
    def test_a_call_that_needs_too_much_memory_raises_and_its_worker_is_replaced(
        self, make_pool: Callable[..., WorkerPool]
    ) -> None:
        pool = make_pool(memory_mib=256, max_workers=1)
        before = pool.call("os:getpid", deadline=LONG)
        with pytest.raises(WorkerDiedError, match=r"out of memory \(memory_mib=256\)"):
            pool.call("worker_functions:allocate", 300, deadline=LONG)
        assert pool.call("os:getpid", deadline=LONG) != before

    @pytest.mark.slow
    def test_a_call_gets_the_memory_that_its_limit_allows(
        self, make_pool: Callable[..., WorkerPool]
    ) -> None:
        pool = make_pool(memory_mib=256, max_workers=1)
        assert pool.call("worker_functions:allocate", 200, deadline=LONG) == 200 << 20

    @pytest.mark.slow
    def test_arguments_larger_than_the_memory_raise_and_are_not_sent_again_and_again(
        self, make_pool: Callable[..., WorkerPool]
    ) -> None:
        pool = make_pool(memory_mib=32, max_workers=2)
        for _ in range(2):
            with pytest.raises(WorkerDiedError):
                pool.call("worker_functions:length", bytes(64 << 20), deadline=LONG)
        assert pool.call("worker_functions:same", 1, deadline=LONG) == 1

    @pytest.mark.slow
    def test_a_worker_that_keeps_memory_is_replaced(
        self, make_pool: Callable[..., WorkerPool]
    ) -> None:
        pool = make_pool(memory_mib=256, max_workers=1)
        pids = [pool.call("worker_functions:keep", 10, deadline=LONG) for _ in range(16)]
        assert 3 <= len(set(pids)) <= 8
        wait_for_end(pids[0])


class TestManyThreads:
    @pytest.mark.slow
    def test_many_threads_share_the_workers_and_each_gets_its_own_answers(
        self, pool: WorkerPool
    ) -> None:
        def ask(start: int) -> bool:
            return all(
                pool.call("worker_functions:same", start + i, deadline=LONG) == start + i
                for i in range(10)
            )

        with ThreadPoolExecutor(64) as threads:
            assert all(threads.map(ask, range(0, 64_000, 1000)))

    @pytest.mark.slow
    def test_many_threads_never_have_more_workers_than_the_size(
        self, make_pool: Callable[..., WorkerPool], tmp_path: Path
    ) -> None:
        pool = make_pool(max_workers=2)
        with ThreadPoolExecutor(16) as threads:
            pids = threads.map(
                lambda _: pool.call("worker_functions:meet", str(tmp_path), 2, deadline=LONG),
                range(24),
            )
            assert len(set(pids)) == 2

    @pytest.mark.slow
    def test_threads_get_their_answers_while_workers_of_others_are_killed(
        self, pool: WorkerPool
    ) -> None:
        def ask(i: int) -> Any:
            try:
                if i % 5 == 0:
                    return pool.call("os:_exit", 1, deadline=LONG)
                if i % 7 == 0:
                    return pool.call("time:sleep", 300, deadline=0.02)
                return pool.call("worker_functions:same", i, deadline=LONG)
            except (WorkerDiedError, DeadlineError) as error:
                return type(error)

        def expected(i: int) -> Any:
            return WorkerDiedError if i % 5 == 0 else DeadlineError if i % 7 == 0 else i

        with ThreadPoolExecutor(16) as threads:
            count = 300 if thorough() else 80
            assert list(threads.map(ask, range(count))) == [expected(i) for i in range(count)]


class TestAsync:
    def test_asynchronous_calls_return_what_the_function_returns(self, pool: WorkerPool) -> None:
        async def ask() -> list[Any]:
            return await asyncio.gather(
                *(pool.call_async("worker_functions:same", i, deadline=LONG) for i in range(100))
            )

        assert asyncio.run(ask()) == list(range(100))

    @pytest.mark.slow
    def test_asynchronous_calls_raise_what_other_calls_raise(self, pool: WorkerPool) -> None:
        async def ask() -> list[Any]:
            targets = [("os:_exit", 3), ("json:loads", "{"), ("abs", 1)]
            calls = [pool.call_async(*target, deadline=LONG) for target in targets]
            calls.append(pool.call_async("time:sleep", 300, deadline=SHORT))
            return await asyncio.gather(*calls, return_exceptions=True)

        assert [type(error) for error in asyncio.run(ask())] == [
            WorkerDiedError,
            WorkerCallError,
            WorkerCallError,
            DeadlineError,
        ]

    @pytest.mark.slow
    def test_asynchronous_calls_carry_megabytes(self, pool: WorkerPool) -> None:
        data = os.urandom(5 << 20)

        async def ask() -> Any:
            return await pool.call_async("worker_functions:same", data, deadline=LONG)

        assert asyncio.run(ask()) == data

    @pytest.mark.slow
    def test_asynchronous_calls_never_block_the_event_loop(
        self, make_pool: Callable[..., WorkerPool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "slow_to_import_2.py").write_text("import time; time.sleep(0.3)")
        monkeypatch.syspath_prepend(tmp_path)
        pool = make_pool(preload=["slow_to_import_2"], max_workers=1)

        async def count_turns(of: asyncio.Future[Any]) -> int:
            turns = 0
            while not of.done():
                await asyncio.sleep(0.01)
                turns += 1
            return turns

        async def ask() -> int:
            calls = asyncio.gather(
                *(pool.call_async("time:sleep", 0.1, deadline=LONG) for _ in range(3))
            )
            return await count_turns(calls)

        assert asyncio.run(ask()) >= 10

    @pytest.mark.slow
    def test_a_cancelled_call_ends_its_worker_and_no_other(
        self, make_pool: Callable[..., WorkerPool], tmp_path: Path
    ) -> None:
        pool = make_pool(max_workers=2)
        path = tmp_path / "pid"

        async def ask() -> tuple[int, int]:
            other = asyncio.create_task(
                pool.call_async("worker_functions:sleep_and_tell_pid", 0.5, deadline=LONG)
            )
            call = asyncio.create_task(
                pool.call_async("worker_functions:write_pid_and_sleep", str(path), deadline=LONG)
            )
            await asyncio.to_thread(read_pid, path)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            return int(path.read_text()), await other

        cancelled, other = asyncio.run(ask())
        wait_for_end(cancelled)
        assert is_alive(other)

    @pytest.mark.slow
    @pytest.mark.parametrize("size", [1, 2])
    def test_a_pool_keeps_its_size_when_calls_are_cancelled_at_any_moment(
        self, make_pool: Callable[..., WorkerPool], tmp_path: Path, size: int
    ) -> None:
        pool = make_pool(max_workers=size)

        async def cancel_some() -> None:
            calls = [
                asyncio.create_task(pool.call_async("time:sleep", 0.001, deadline=LONG))
                for _ in range(40)
            ]
            for i, call in enumerate(calls):
                await asyncio.sleep(0.0005 * (i % 3))
                if i % 2:
                    call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)

        for _ in range(5 if thorough() else 2):
            asyncio.run(cancel_some())
        with ThreadPoolExecutor(4) as threads:
            calls = [
                threads.submit(
                    pool.call, "worker_functions:meet", str(tmp_path), size, deadline=LONG
                )
                for _ in range(4)
            ]
            assert len({call.result() for call in calls}) == size

    @pytest.mark.slow
    def test_loops_of_several_threads_and_plain_calls_share_the_workers(
        self, make_pool: Callable[..., WorkerPool]
    ) -> None:
        pool = make_pool(max_workers=2)

        async def gather(start: int) -> list[int]:
            return await asyncio.gather(
                *(
                    pool.call_async("worker_functions:same", start + i, deadline=LONG)
                    for i in range(50)
                )
            )

        def ask(start: int) -> list[int]:
            if start % 200:
                return asyncio.run(gather(start))
            return [pool.call("worker_functions:same", start + i, deadline=LONG) for i in range(50)]

        starts = range(0, 1000, 100)
        with ThreadPoolExecutor(10) as threads:
            answers = list(threads.map(ask, starts))
        assert answers == [list(range(start, start + 50)) for start in starts]


CLOSES_A_POOL = """
import gc, os, time
from concurrent.futures import ThreadPoolExecutor
from gem_core.errors import DeadlineError
from gem_workers import WorkerPool

def count():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))

before = count()
with WorkerPool(max_workers=2) as pool, ThreadPoolExecutor(2) as threads:
    print(*threads.map(lambda _: pool.call("os:getpid", deadline=30), range(4)))
    print(pool.call("os:getppid", deadline=30))
    try:
        pool.call("time:sleep", 300, deadline=0.01)
    except DeadlineError:
        pass
until = time.monotonic() + 60  # a worker that was being started is ended by its thread
while count() > before and time.monotonic() < until:
    time.sleep(0.01)
print(count() - before)
"""


class TestAPoolThatIsClosed:
    @pytest.mark.slow
    def test_a_closed_pool_refuses_calls(self, make_pool: Callable[..., WorkerPool]) -> None:
        pool = make_pool()
        pool.call("os:getpid", deadline=LONG)
        pool.close()
        pool.close()
        assert pool.closed
        with pytest.raises(GemError, match="closed"):
            pool.call("os:getpid", deadline=LONG)

    @pytest.mark.slow
    def test_a_closed_pool_ends_calls_that_are_under_way_and_that_wait(
        self, make_pool: Callable[..., WorkerPool], tmp_path: Path
    ) -> None:
        pool = make_pool(max_workers=1)
        target = "worker_functions:write_pid_and_sleep"

        async def ask(path: str) -> None:
            await pool.call_async(target, path, deadline=LONG)

        with ThreadPoolExecutor(3) as threads:
            calls = [threads.submit(pool.call, target, str(tmp_path / "pid"), deadline=LONG)]
            pid = read_pid(tmp_path / "pid")
            calls.append(threads.submit(pool.call, target, str(tmp_path / "b"), deadline=LONG))
            calls.append(threads.submit(asyncio.run, ask(str(tmp_path / "c"))))
            wait_until(lambda: len(pool._waiters) == 2, "both wait")
            pool.close()
            for call in calls:
                with pytest.raises(GemError, match="closed"):
                    call.result()
        wait_for_end(pid)

    @pytest.mark.slow
    def test_a_closed_pool_leaves_no_process_and_no_descriptor(
        self, run_python: Callable[..., str]
    ) -> None:
        *pids, more = map(int, run_python(CLOSES_A_POOL).split())
        assert more == 0
        for pid in pids:
            wait_for_end(pid)

    @pytest.mark.slow
    def test_a_forgotten_pool_leaves_no_process(self) -> None:
        pool = WorkerPool(max_workers=1)
        pid = pool.call("os:getpid", deadline=LONG)
        gone = weakref.ref(pool)
        del pool
        gc.collect()
        assert gone() is None
        wait_for_end(pid)

    @pytest.mark.slow
    def test_a_closed_pool_has_buried_the_workers_that_it_killed(
        self, make_pool: Callable[..., WorkerPool]
    ) -> None:
        pool = make_pool(max_workers=2)
        template = pool.call("os:getppid", deadline=LONG)
        for _ in range(5):
            with pytest.raises(DeadlineError):
                pool.call("time:sleep", 300, deadline=0.01)
        children = Path(f"/proc/{template}/task/{template}/children")
        wait_until(lambda: len(children.read_text().split()) <= 1, "the dead are buried")


class TestAStartThatFails:
    @pytest.mark.parametrize("failures", [1, 2, 4])
    def test_a_start_that_fails_fails_one_caller(
        self,
        make_pool: Callable[..., WorkerPool],
        monkeypatch: pytest.MonkeyPatch,
        failures: int,
    ) -> None:
        pool = make_pool(max_workers=1, preload=[])
        start, left = pool._launcher.start_worker, list(range(failures))
        waiting = threading.Event()

        def fail_first() -> Any:
            waiting.wait(LONG)
            if left:
                left.pop()
                raise OSError("too many open files")
            return start()

        monkeypatch.setattr(pool._launcher, "start_worker", fail_first)
        with ThreadPoolExecutor(4) as threads:
            calls = [threads.submit(pool.call, "os:getpid", deadline=LONG) for _ in range(4)]
            wait_until(lambda: len(pool._waiters) == 4, "all wait")
            waiting.set()
            errors = [call.exception(LONG) for call in calls]
        assert sum(isinstance(error, OSError) for error in errors) == failures
        assert sum(error is None for error in errors) == 4 - failures

    def test_a_start_for_which_there_is_no_thread_is_an_error_and_no_wait(
        self, make_pool: Callable[..., WorkerPool], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pool = make_pool(max_workers=1, preload=[])

        def refuse(_: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        pool.call("os:getpid", deadline=LONG)  # the thread that closes runs by then
        with pytest.raises(DeadlineError):
            pool.call("time:sleep", 300, deadline=0.01)
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            with pytest.raises(RuntimeError, match="new thread"):
                pool.call("os:getpid", deadline=LONG)
        assert pool.call("os:getpid", deadline=LONG) > 0


def test_a_call_that_is_abandoned_is_ended_outside_of_the_garbage_collector(
    make_pool: Callable[..., WorkerPool], tmp_path: Path
) -> None:
    pool, path = make_pool(max_workers=1), tmp_path / "pid"
    loop = asyncio.new_event_loop()
    task = loop.create_task(
        pool.call_async("worker_functions:write_pid_and_sleep", str(path), deadline=LONG)
    )
    pid = loop.run_until_complete(asyncio.to_thread(read_pid, path))
    task.get_coro().close()
    wait_for_end(pid)
    assert pool.call("os:getpid", deadline=LONG) != pid
    task._log_destroy_pending = False
    loop.close()
