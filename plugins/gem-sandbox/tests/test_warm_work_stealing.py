"""Work stealing: several supervisors share the runs of one program while slots are free."""

import asyncio
import contextlib
import itertools
import marshal
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from backends import make_backend
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_sandbox.guest.process_tree import children, descendants
from gem_sandbox.warm.guest.messages import END, ENDED, NEXT, RUN, TESTS, Outcome
from gem_sandbox.warm.jobs import Job
from gem_sandbox.warm.tiers import TIERS
from gem_workers.frames import DIED, NOT_BEGUN, Frame, FrameReader
from gem_workers.sandbox import Program

SLOW = "import time\nbegin = time.monotonic()\ntime.sleep(float(input()))\n"
TIMED = SLOW + "print(begin, time.monotonic())"


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=TIERS)
def sandbox(request):
    with contextlib.closing(make_backend(f"warm-{request.param}", workers=3)) as made:
        yield made


def at_most_at_once(executions):
    """Return the number of runs at the same time, by the clock that they share."""
    spans = [tuple(map(float, each.stdout.split())) for each in executions]
    return max(sum(begin <= at < end for begin, end in spans) for at, _ in spans)


def test_slow_runs_of_one_program_use_all_free_slots(sandbox):
    for seconds in ("0.1", "1", "5"):  # slow starts get a longer try
        executions = sandbox.run_tests(Program(TIMED), [seconds] * 9)
        assert all(each.ok for each in executions)
        if (together := at_most_at_once(executions)) > 1:
            break
    assert 2 <= together <= 3


def test_results_and_calls_of_stop_come_in_order(sandbox):
    seconds = [f"0.{number * 7 % 5:02}" for number in range(0, 45, 6)]
    seen = []

    def stop(index, execution):
        seen.append((index, execution.stdout.strip()))
        return False

    program = Program("import time\nsaid = input()\ntime.sleep(float(said))\nprint(said)")
    for run_tests in (
        sandbox.run_tests,
        lambda *arguments, **options: asyncio.run(sandbox.arun_tests(*arguments, **options)),
    ):
        seen.clear()
        executions = run_tests(program, seconds, stop=stop)
        assert [each.stdout.strip() for each in executions] == seconds
        assert seen == list(enumerate(seconds))


def test_no_caller_waits_for_slots_of_stealing_threads(sandbox):
    begun, served = threading.Event(), threading.Event()

    def stop(index, _execution):
        begun.set()
        return served.is_set()

    with ThreadPoolExecutor(1) as threads:
        shared = threads.submit(sandbox.run_tests, Program(TIMED), ["0.2"] * 500, stop=stop)
        assert begun.wait(60)
        for _ in range(3):
            assert sandbox.run(Program("print(1)")).stdout == "1\n"
        assert not shared.done()
        served.set()
        assert all(each.ok for each in shared.result())


@pytest.mark.parametrize("asynchronous", [False, True])
def test_after_the_last_wanted_run_the_others_are_ended(sandbox, asynchronous, subtests):
    def stop(index, _execution):
        return index == 3

    for last, seconds in (
        ("of a stealing thread", ["0.1", "0.1", "0.1", "0.3"]),
        ("of the caller", ["0.1", "0.4", "0.1", "0.1"]),
    ):
        inputs, program = [*seconds, *["3600"] * 6], Program(TIMED, timeout=4000)
        with subtests.test(f"the last run is one {last}"):
            if asynchronous:
                executions = asyncio.run(sandbox.arun_tests(program, inputs, stop=stop))
            else:
                executions = sandbox.run_tests(program, inputs, stop=stop)
            assert [each.ok for each in executions] == [True] * 4
            check_all_slots_are_free(sandbox)


def check_all_slots_are_free(sandbox):
    """Run programs that need all three slots at the same time; slow starts get a longer try."""
    with ThreadPoolExecutor(3) as threads:
        for seconds in ("0.2", "1.5", "10"):
            spans = list(threads.map(sandbox.run, [Program(TIMED, stdin=seconds)] * 3))
            if at_most_at_once(spans) == 3:
                return
    pytest.fail("not all slots are free")


def test_if_stop_raises_all_runs_are_ended(sandbox):
    def stop(index, _execution):
        if index == 2:
            raise LookupError("mine")
        return False

    with pytest.raises(LookupError, match="mine"):
        sandbox.run_tests(Program(TIMED, timeout=4000), ["0.1"] * 3 + ["3600"] * 6, stop=stop)
    check_all_slots_are_free(sandbox)


def test_if_a_task_is_cancelled_all_runs_are_ended(sandbox):
    begun = threading.Event()

    def stop(_index, _execution):
        begun.set()
        return False

    async def main():
        program, inputs = Program(TIMED, timeout=4000), ["0.1"] * 3 + ["3600"] * 6
        task = asyncio.create_task(sandbox.arun_tests(program, inputs, stop=stop))
        assert await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    check_all_slots_are_free(sandbox)


def test_if_no_thread_can_start_the_caller_runs_everything(sandbox):
    usual = threading.stack_size(1 << 46)
    try:
        with pytest.raises(RuntimeError):
            threading.Thread(target=int).start()
        executions = sandbox.run_tests(Program(TIMED), ["0.1"] * 6)
    finally:
        threading.stack_size(usual)
    assert all(each.ok for each in executions)
    assert at_most_at_once(executions) == 1
    check_all_slots_are_free(sandbox)


def test_runs_whose_supervisors_are_killed_are_run_again(sandbox):
    others = children(os.getpid())
    own = make_backend(f"warm-{sandbox.tier}", workers=3, preload=())  # has a zygote of its own
    with contextlib.closing(own):
        own.run(Program("print(1)"))
        zygotes = set(children(os.getpid())).difference(others)

        def stop(index, _execution):
            if index in {3, 9, 15}:  # far apart: no run is killed twice
                kill_one_supervisor(zygotes)
            return False

        executions = own.run_tests(Program(TIMED), ["0.15"] * 24, stop=stop)
    assert all(each.ok for each in executions), executions


def kill_one_supervisor(zygotes):
    """Kill the oldest process that a zygote has forked: supervisors come before init processes."""
    below = sorted({*zygotes, *itertools.chain(*map(descendants, zygotes))})
    forked = next(found for found in map(children, below) if len(found) > 1)
    os.kill(min(forked), signal.SIGKILL)


class Supervisor:
    """Answers like a supervisor, without running anything."""

    def __init__(self, job):
        self._steps = job.steps(may_continue=lambda: not self.is_wanted_elsewhere)
        self._left = 0
        self.is_wanted_elsewhere = False
        self.asked = next(self._steps, None)

    def answer(self, fate):
        with contextlib.suppress(StopIteration):
            self.asked = self._steps.send(self._frame(fate))
            return
        self.asked = None

    def _frame(self, fate):
        asked = FrameReader().feed(self.asked.message)
        if fate != "answers":
            self._left = 0
            return Frame(DIED if fate == "dies" else NOT_BEGUN, last=True)
        if asked.kind == END:
            assert self._left > 0
            return Frame(ENDED)
        said = marshal.loads(asked.body)  # noqa: S302 - our own
        if asked.kind != NEXT:
            assert self._left == 0, "a new program was requested in the middle of another"
            assert asked.kind in {RUN, TESTS}
            self._left = said["tests"]
            said = said["inputs"]
        outcomes = []
        assert len(said) <= self._left, "more runs were requested than announced"
        for text in said:
            self._left -= 1
            fails = b"fails" in text
            outcomes.append(Outcome(int(fails), "", 0.05, 0.01, 0, text, b""))
            if fails:
                break
        return Frame(ENDED, body=b"".join(each.pack() for each in outcomes))


FATES = st.sampled_from(["answers"] * 6 + ["dies", "was dead"])


def answer_all(supervisor):
    while supervisor.asked is not None:
        supervisor.answer("answers")


@settings(max_examples=100 if thorough() else 40)
@given(
    fails=st.lists(st.booleans(), min_size=1, max_size=40),
    last=st.integers(0, 50),
    events=st.lists(st.tuples(st.integers(0, 3), FATES, st.booleans()), max_size=200),
)
def test_each_run_is_reported_once_and_in_order_however_it_is_shared(fails, last, events):
    """The events: which supervisor answers, dies or was dead, and whether its slot is wanted."""
    inputs = [f"{number} {'fails' if each else ''}" for number, each in enumerate(fails)]
    reported = []

    def stop(index, execution):
        reported.append((index, execution))
        return index == last

    job = Job(Program("", timeout=1.0), inputs, stop)
    supervisors = [Supervisor(job)]
    for number, fate, leaves in events:
        if job.workers_wanted > 0 and len(supervisors) < 4:
            supervisors.append(Supervisor(job))
        supervisor = supervisors[number % len(supervisors)]
        supervisor.is_wanted_elsewhere |= leaves and supervisor is not supervisors[0]
        if supervisor.asked is not None:
            supervisor.answer(fate)
    for supervisor in supervisors:
        answer_all(supervisor)
    if not job.is_done:
        answer_all(Supervisor(job))
    assert job.is_done
    executions = job.executions()
    assert len(executions) == min(len(inputs), last + 1)
    assert reported == list(enumerate(executions))
    died = any(fate == "dies" for _, fate, _ in events)
    for text, execution in zip(inputs, executions, strict=False):
        assert execution.stdout == text or (died and "was killed" in execution.stderr)
