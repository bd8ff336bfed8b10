"""A lifetime ends once, in its own process, and never in the garbage collector."""

import gc
import os
import subprocess
import sys
import threading
import time

import pytest
from forks import in_fork

from gem_core.errors import ClosedError, ForkError, MachineError
from gem_core.lifetimes import Lifetime, Lock


class Owner:
    """Something that is dropped."""

    def __init__(self, *args, **kwargs):
        self.lifetime = Lifetime(self, *args, **{"what": "thing", **kwargs})


def wait_until(check):
    end = time.monotonic() + 60
    while not check() and time.monotonic() < end:
        time.sleep(0.005)
    return check()


def test_it_ends_once():
    released = []
    owner = Owner(released.append, 1)
    owner.lifetime.check()
    assert owner.lifetime.is_open
    owner.lifetime.end()
    owner.lifetime.end()
    assert released == [1]
    assert not owner.lifetime.is_open
    with pytest.raises(ClosedError, match="This thing is closed"):
        owner.lifetime.check()


def test_an_error_of_the_release_reaches_who_closes():
    owner = Owner(lambda: 1 / 0, error=MachineError)
    with pytest.raises(ZeroDivisionError):
        owner.lifetime.end()
    with pytest.raises(MachineError):
        owner.lifetime.check()


def test_of_many_threads_one_releases():
    released = []
    for _ in range(50):
        owner = Owner(released.append, 1)
        threads = [threading.Thread(target=owner.lifetime.end) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(released) == 50


def test_a_dropped_owner_is_released_by_another_thread_even_under_a_lock_that_is_needed():
    lock, released = threading.Lock(), []

    def release():
        with lock:
            released.append(threading.current_thread())

    owner = Owner(release)
    owner.myself = owner
    with lock:
        del owner
        gc.collect()
        assert not released
    assert wait_until(lambda: released)
    assert released[0] is not threading.current_thread()


def test_a_release_that_fails_does_not_keep_others_from_theirs(caplog):
    released = []
    Owner(lambda: 1 / 0)
    Owner(released.append, 1)
    assert wait_until(lambda: released)
    assert "ZeroDivisionError" in caplog.text


def test_in_a_fork_it_can_neither_be_used_nor_ended():
    released = []
    owner = Owner(released.append, 1)

    def use():
        owner.lifetime.end()
        with pytest.raises(ForkError, match=f"belongs to process {os.getppid()}"):
            owner.lifetime.check()
        return owner.lifetime.is_open, released

    assert in_fork(use) == "(False, [])"
    assert owner.lifetime.is_open
    owner.lifetime.end()
    assert released == [1]


def test_what_a_fork_makes_is_its_own():
    Owner(len, "")

    def make():
        released = []
        Owner(released.append, 1)
        return wait_until(lambda: released)

    assert in_fork(make) == "[1]"


PROGRAM = """\
import os, sys, time
from gem_core.lifetimes import Lifetime

class Owner: pass
kept = [Owner(), Owner(), Owner()]
lives = [
    Lifetime(one, print, name, what="thing", at_exit=at_exit)
    for one, name, at_exit in zip(kept, ("first", "second", "never"), (True, True, False))
]
if os.fork() == 0:
    sys.exit()
os.wait()

def slow():
    time.sleep(0.2)
    print("dropped")

Lifetime(Owner(), slow, what="thing", at_exit=False)
"""


def test_the_end_of_the_interpreter_releases_the_newest_first_and_a_forks_end_nothing():
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.split() == ["dropped", "second", "first"]


def test_a_lock_is_free_in_a_fork_unless_the_forking_thread_holds_it():
    lock, held, done = Lock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert not lock.acquire(blocking=False)
        assert in_fork(lambda: lock.acquire(timeout=30)) == "True"
    finally:
        done.set()
        thread.join()
    with lock, lock:
        assert in_fork(lambda: (lock.release(), lock.release())) == "(None, None)"
