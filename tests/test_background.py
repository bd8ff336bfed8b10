"""One event loop in a thread serves code that is not asynchronous."""

import asyncio
import pickle
import threading

import pytest
from forks import in_fork

from gem_core.background import BackgroundLoop
from gem_core.errors import ClosedError


@pytest.fixture
def loop():
    made = BackgroundLoop(seconds=60)
    yield made
    made.close()


async def name():
    await asyncio.sleep(0)
    return threading.current_thread().name


def test_it_runs_in_its_own_thread_even_inside_another_loop_and_a_copy_in_another(loop):
    async def inside():
        return loop.run(name())

    assert loop.run(name()) == asyncio.run(inside()) == "gem-coroutines"
    copy = pickle.loads(pickle.dumps(loop))  # noqa: S301
    assert copy.run(name()) == "gem-coroutines"
    for one in (loop, copy):
        one.close()
        one.close()
    assert "gem-coroutines" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(ClosedError, match="event loop of coroutines is closed"):
        loop.run(name())


def test_what_it_runs_cannot_wait_for_it(loop):
    async def inside():
        return loop.run(name())

    with pytest.raises(RuntimeError, match="must await"):
        loop.run(inside())


def test_its_end_awaits_what_was_registered_and_then_cancels_the_rest(loop):
    seen = []

    async def endless():
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("cancelled")

    async def close():
        await asyncio.sleep(0.01)
        seen.append("closed")

    async def fail():
        raise ValueError("the close failed")

    async def start():
        loop.task = asyncio.create_task(endless())

    loop.run(start())
    for one in (close, fail, endless):
        loop.before_end(one)
    loop.without(endless)
    with pytest.raises(ValueError, match="the close failed"):
        loop.close()
    assert seen == ["closed", "cancelled"]


def test_its_end_waits_for_calls_in_threads(loop):
    inside, goes_on, seen = threading.Event(), threading.Event(), []

    def work():
        inside.set()
        goes_on.wait(30)
        seen.append("returned")

    loop.start(asyncio.to_thread(work))
    assert inside.wait(30)
    threading.Timer(0.05, goes_on.set).start()
    loop.close()
    assert seen == ["returned"]


def run(loop, work, errors):
    try:
        loop.run(work)
    except ClosedError as error:
        errors.append(error)


@pytest.mark.slow
def test_what_does_not_end_is_left_to_its_thread_and_who_waits_for_it_is_told(subtests):
    async def block(inside, goes_on):
        inside.set()
        goes_on.wait(30)

    async def call(inside, goes_on):
        await asyncio.to_thread(lambda: (inside.set(), goes_on.wait(30)))

    async def refuse(inside, goes_on):
        while not goes_on.is_set():
            try:
                inside.set()
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    for work in (block, call, refuse):
        with subtests.test(work=work.__name__):
            inside, goes_on, errors = threading.Event(), threading.Event(), []
            loop = BackgroundLoop("tests", seconds=0.1)
            thread = threading.Thread(target=run, args=(loop, work(inside, goes_on), errors))
            thread.start()
            assert inside.wait(30)
            with pytest.warns(RuntimeWarning, match="event loop of tests did not end"):
                loop.close()
            thread.join(30)
            assert len(errors) == 1
            goes_on.set()


@pytest.mark.slow
def test_a_fork_begins_anew_and_ends_nothing_of_its_parent(loop):
    running, closed = loop.start(asyncio.sleep(3600)), []

    async def close():
        closed.append(True)

    loop.before_end(close)

    def use():
        first = loop.run(name())
        loop.close()
        return first, closed

    assert in_fork(use) == "('gem-coroutines', [])"
    assert not running.done()
    assert loop.run(name()) == "gem-coroutines"
