"""Rows that threads load: nobody waits for another dataset, and a fork loads what it lacks."""

import asyncio
import os
import subprocess
import sys
import threading
import time

import pytest
from forks import in_fork

from gem_tasks.rows import forget_rows, shared_with_process
from gem_tasks.single_flight import SingleFlight
from gem_tasks.testing.fake_hub import FakeHub

SECONDS = 60


@pytest.fixture
def blocked():
    """Something that another thread is loading for the key ``"x"``, until the test ends."""
    begun, release = threading.Event(), threading.Event()

    def load():
        begun.set()
        release.wait(SECONDS)
        return "loaded"

    forget_rows()
    thread = threading.Thread(target=shared_with_process, args=("x", load))
    thread.start()
    assert begun.wait(SECONDS)
    yield "x"
    release.set()
    thread.join()
    forget_rows()


def test_a_fork_loads_anew_what_another_thread_of_its_parent_was_loading(blocked):
    assert in_fork(lambda: shared_with_process(blocked, lambda: "mine")) == "'mine'"
    assert shared_with_process("y", lambda: "another key") == "another key"


def test_a_fork_has_what_its_parent_has_loaded():
    shared_with_process("loaded", lambda: 1)
    assert in_fork(lambda: shared_with_process("loaded", lambda: 2)) == "1"
    forget_rows()


def test_ctrl_c_and_a_cancellation_concern_only_the_thread_that_they_end():
    for error in (KeyboardInterrupt, asyncio.CancelledError):
        flight, begun, found = SingleFlight(), threading.Event(), []

        def interrupted(begun=begun, error=error):
            begun.set()
            time.sleep(0.05)  # the other thread waits by now
            raise error

        def make(flight=flight, interrupted=interrupted, error=error):
            with pytest.raises(error):
                flight.get("x", interrupted)

        thread = threading.Thread(target=make)
        thread.start()
        assert begun.wait(SECONDS)
        found.append(flight.get("x", lambda: "made by the next"))
        thread.join()
        assert found == ["made by the next"]


PROGRAM = """
import os, signal, sys, threading
from pathlib import Path
from gem_tasks.rows import forget_rows
from gem_tasks.hub import load_from_hub
from gem_tasks.testing.fake_hub import FakeHub
from gem_tasks.testing.hub_server import HubServer

rows = [{"problem": "?"}]
begun, release = threading.Event(), threading.Event()
take_fault = HubServer.take_fault

def block(server, name, *, is_file):
    if name == "acme/slow":
        begun.set()
        release.wait(60)
    return take_fault(server, name, is_file=is_file)

HubServer.take_fault = block
hub = FakeHub({f"acme/{name}": {"train": rows} for name in ("slow", "fast", "f")})
with hub, hub.in_process(Path(home)):
    import datasets
    datasets.disable_progress_bars()
    slow = threading.Thread(target=load_from_hub, args=["acme/slow"], kwargs={"streaming": False})
    slow.start()
    begun.wait(60)
    print("another dataset", list(load_from_hub("acme/fast", streaming=False)), flush=True)
    child = os.fork()
    if not child:
        signal.alarm(60)
        print("in a fork", list(load_from_hub("acme/f", streaming=False)), flush=True)
        hub.close()
        sys.exit()
    print("exit of the fork", os.waitpid(child, 0)[1], flush=True)
    release.set()
    slow.join()
    print("the first one", list(load_from_hub("acme/slow", streaming=False)), flush=True)
"""

IMPORT = """
import os, sys, threading, time
from gem_tasks.hub import import_datasets
thread = threading.Thread(target=import_datasets)
thread.start()
while "datasets" not in sys.modules: time.sleep(0.001)
child = os.fork()
if not child:
    print(import_datasets().load_dataset is not None, flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1])
thread.join()
"""


def run_program(code, **given):
    lines = [f"{name} = {value!r}" for name, value in given.items()]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join([*lines, code])],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_download_blocks_neither_another_dataset_nor_a_fork(tmp_path):
    assert run_program(PROGRAM, home=str(tmp_path)) == [
        "another dataset ['train']",
        "in a fork ['train']",
        "exit of the fork 0",
        "the first one ['train']",
    ]


@pytest.mark.slow
def test_a_fork_waits_for_an_import_that_it_could_not_do_itself():
    assert run_program(IMPORT) == ["True", "0"]


def test_a_fork_does_not_close_the_hub_of_its_parent():
    with FakeHub({}) as hub:
        assert in_fork(hub.close) == "None"
        assert hub._lifetime.is_open
    hub.close()
