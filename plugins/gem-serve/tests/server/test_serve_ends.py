"""What holds sessions, sockets and threads ends once, in its own process, and in limited time."""

import asyncio
import gc
import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from gem_core import make
from gem_core.errors import ClosedError
from gem_serve.server import sessions as server_sessions

Running = Any
Serve = Callable[..., Running]

FORKS = """
import contextlib, gc, json, os, socket, sys, threading, time
from gem_core import make
from gem_core.errors import GemError
from gem_serve.gateway.serving import GatewayThread
from gem_serve.harness.relay import Relay

address, rows = sys.argv[1], {}

def said(function):
    try:
        return repr(function())
    except GemError as error:
        return type(error).__name__

def row(name, function, is_whole):
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, said(function).encode())
        sys.exit()  # an ordinary one, through every block and finalizer
    os.close(write)
    with os.fdopen(read) as file:
        found = file.read()
    os.waitpid(child, 0)
    rows[name] = found if is_whole() else f"{found}, and the parent's has ended"

def dropped(names):
    for name in names:
        del globals()[name]
    gc.collect()

# An environment on a server.
with make(f"remote:{address}/coin") as env:
    env.reset(seed=1, coins=100)

    def steps():
        return env.step("heads").observation.endswith("left")

    def anew():
        with make(f"remote:{address}/coin") as mine:
            return mine.reset(seed=1, coins=100)[0][:9]

    for name, function in {
        "step": lambda: env.step("heads"),
        "pickle": lambda: env.__reduce_ex__(4),
        "close": lambda: (env.close(), env.close()),
        "drop": lambda: dropped(["env"]),
        "exit": lambda: None,
        "anew": anew,
    }.items():
        row(f"env: {name}", function, steps)

    # A fork at any moment: other threads make environments, step and close.
    going = True
    def work():
        while going:
            with make(f"remote:{address}/coin", reconnect=60 + len(rows)) as mine:
                mine.reset(seed=1)
                mine.step("heads")
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    found = set()
    for number in range(4):
        row("env: any moment", anew, steps)
        found.add(rows["env: any moment"])
    rows["env: any moment"] = " or ".join(sorted(found))
    going = False
    for thread in threads:
        thread.join()

# A relay.
with socket.create_server(("127.0.0.1", 0)) as target:
    def answer():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = target.accept()
                threading.Thread(target=lambda: connection.sendall(connection.recv(9))).start()
    threading.Thread(target=answer, daemon=True).start()
    with Relay(socket.create_server(("127.0.0.1", 0)), target.getsockname()) as relay:
        def passes():
            with contextlib.suppress(OSError), socket.create_connection(
                ("127.0.0.1", relay.port), 20
            ) as client:
                client.sendall(b"hello")
                return client.recv(9) == b"hello"
        for name, function in {
            "use": lambda: relay.__enter__(),
            "close": lambda: (relay.close(), relay.close()),
            "drop": lambda: dropped(["relay"]),
            "exit": lambda: None,
        }.items():
            row(f"relay: {name}", function, passes)
    rows["relay: use after close"] = str(passes())

# A gateway.
with GatewayThread("http://127.0.0.1:9") as gateway:
    def creates():
        return bool(gateway.admin.create(env_id="a:b").episode)
    for name, function in {
        "use": creates,
        "close": lambda: gateway.__exit__(),
        "drop": lambda: dropped(["gateway"]),
        "exit": lambda: None,
    }.items():
        row(f"gateway: {name}", function, creates)

print(json.dumps(rows))
"""
"""Opens each resource, and uses, closes, drops and forgets it in a fork."""

EXPECTED = {
    "env: step": "ForkError",
    "env: pickle": "ForkError",
    "env: close": "(None, None)",
    "env: drop": "None",
    "env: exit": "None",
    "env: anew": "'100 coins'",
    "env: any moment": "'100 coins'",
    "relay: use": "ForkError",
    "relay: close": "(None, None)",
    "relay: drop": "None",
    "relay: exit": "None",
    "relay: use after close": "None",
    "gateway: use": "True",
    "gateway: close": "None",
    "gateway: drop": "None",
    "gateway: exit": "None",
}


@pytest.mark.slow
def test_what_a_fork_uses_closes_drops_or_forgets_goes_on_in_the_parent(serve: Serve) -> None:
    running = serve("coin")
    done = subprocess.run(
        [sys.executable, "-c", FORKS, running.address],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) == EXPECTED
    running.until(lambda one: len(one.server.sessions) == 0)


EXITS = """
import atexit, sys, threading
def show():
    print(any("remote" in thread.name for thread in threading.enumerate()))

atexit.register(show)  # called last, as it is the first
from gem_core import make
env = make(f"remote:{sys.argv[1]}/coin")
env.reset(seed=1)
show()
"""


@pytest.mark.slow
def test_the_connections_of_a_process_end_with_it(serve: Serve) -> None:
    running = serve("coin")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", EXITS, running.address],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["True", "False"], "")
    running.until(lambda one: len(one.server.sessions) == 0)


def remote(running: Running, name: str = "coin", **options: Any) -> Any:
    return make(f"remote:{running.address}/{name}", **options)


def stepping(running: Running, env: Any, pool: ThreadPoolExecutor) -> Any:
    """Return the future of a step that the server holds."""
    step = pool.submit(env.step, "heads")
    running.until(lambda one: any(each.is_busy for each in list(one.server.sessions)))
    return step


USES: dict[str, Callable[[Any], Any]] = {
    "step": lambda env: env.step("heads"),
    "reset": lambda env: env.reset(seed=1),
    "fork": lambda env: env.fork(),
    "sample": lambda env: env.sample_random_action(),
    "seed": lambda env: env.seed(1),
    "snapshot": lambda env: env.snapshot(),
    "pickle": lambda env: env.__reduce_ex__(4),
}


def test_a_closed_environment_stays_closed(serve: Serve) -> None:
    running = serve()
    env = remote(running)
    env.reset(seed=1)
    twin = env.fork()
    env.close()
    env.close()
    for use in USES.values():
        with pytest.raises(ClosedError, match="environment on a server is closed"):
            use(env)
    assert twin.step("heads").observation == "4 left"
    twin.close()
    running.until(lambda one: len(one.server.sessions) == 0)


def test_closing_ends_the_call_that_another_thread_waits_for(serve: Serve, gate: Event) -> None:
    running = serve("stuck")
    env = remote(running, "stuck")
    env.reset(seed=1)
    gate.clear()
    with ThreadPoolExecutor() as pool:
        step = stepping(running, env, pool)
        env.close()
        with pytest.raises(ClosedError):
            step.result(30)
        gate.set()
    running.until(lambda one: len(one.server.sessions) == 0)


def test_closing_ends_the_call_that_a_task_awaits(serve: Serve, gate: Event) -> None:
    running = serve("stuck")
    env = remote(running, "stuck")
    env.reset(seed=1)
    gate.clear()

    async def play() -> None:
        step = asyncio.ensure_future(env.step("heads"))
        busy = lambda one: any(each.is_busy for each in list(one.server.sessions))  # noqa: E731
        await asyncio.to_thread(running.until, busy)
        env.close()
        with pytest.raises(ClosedError):
            await asyncio.wait_for(step, 30)

    asyncio.run(play())
    gate.set()
    running.until(lambda one: len(one.server.sessions) == 0)


def test_closing_ends_the_wait_for_a_slot_and_no_session_begins_afterwards(serve: Serve) -> None:
    running = serve(max_envs=1)
    playing, waiting = remote(running), remote(running)
    playing.reset(seed=1)
    with ThreadPoolExecutor() as pool:
        reset = pool.submit(waiting.reset, seed=1)
        running.until(lambda one: one.server.sessions.capacity.waiting == 1)
        waiting.close()
        with pytest.raises(ClosedError):
            reset.result(30)
    playing.close()
    running.until(lambda one: len(one.server.sessions) == 0)
    assert running.server.sessions.capacity.taken == 0


def test_a_dropped_environment_frees_its_session(serve: Serve) -> None:
    running = serve()
    env = remote(running)
    env.reset(seed=1)
    running.until(lambda one: len(one.server.sessions) == 1)
    env.myself = env
    del env
    gc.collect()
    running.until(lambda one: len(one.server.sessions) == 0)


@pytest.mark.slow
def test_a_server_ends_also_if_an_environment_does_not(
    serve: Serve, gate: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_sessions, "_SECONDS_TO_CLOSE", 0.1)
    monkeypatch.setattr(server_sessions, "GRACE", 0.1)
    running = serve("lingering")
    remote(running, "lingering").reset(seed=1)
    gate.clear()
    running.stop()
    gate.set()
