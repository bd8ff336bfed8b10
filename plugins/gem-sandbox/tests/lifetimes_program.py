"""A program that takes one kind of sandbox or machine through all ends of its life.

It prints the rows of the table that hold, one a line, and at the end the processes that must be
gone when it has ended. ``test_sandbox_lifetimes.py`` runs it.
"""

import contextlib
import faulthandler
import functools
import gc
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gem_core.errors import ForkError, GemError, MachineError, SandboxError
from gem_sandbox.guest.process_tree import children, descendants
from gem_sandbox.machines.local.provider import LocalProvider
from gem_sandbox.machines.process import ProcessProvider
from gem_sandbox.process import ProcessSandbox
from gem_sandbox.warm import WarmSandbox
from gem_workers.machine import MachineSpec
from gem_workers.sandbox import Program

__all__ = ["KINDS", "rows_of"]

LONG = "import os, time; os.fork(); time.sleep(1000)"
PATIENCE = 60


class Kind:
    """A kind of thing that is made, used and closed."""

    error: type[GemError]

    def __init__(self, workers: int = 2) -> None:
        self.workers = workers
        """Sandboxes with another number of workers have other processes."""
        self.idle: set[int] = set()
        self.made = self.make()

    def make(self) -> Any:
        raise NotImplementedError

    def use(self) -> str:
        """Return ``well`` if it can be used."""
        raise NotImplementedError

    def hold(self) -> object:
        """Use it for a long time."""
        raise NotImplementedError

    def kill_part(self) -> None:
        """Kill a process behind it, so that it goes on, or says that it has ended."""
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def begin(self) -> None:
        """Leave something that is lost if this ends."""

    def is_whole(self) -> bool:
        """Return whether it is still there."""
        return True

    def close(self) -> None:
        self.made.close()


HOME = "/home/ada"


class OfMachines(Kind):
    """Machines, and their shells."""

    error = MachineError
    provider: Any

    def make(self) -> Any:
        self.keeper = self.provider()
        return self.keeper.start(MachineSpec(workdir=HOME))

    def use(self) -> str:
        self.made.write(f"{HOME}/well", "well")
        with self.made.fork() as copy:
            assert copy.read(f"{HOME}/well") == b"well"
        return self.made.run("cat well").stdout

    def begin(self) -> None:
        self.made.write(f"{HOME}/kept", "kept")
        self.made.run("sleep 888 & echo")
        wait_until(lambda: "sleep 888" in self.made.processes())  # forked, not yet executed

    def is_whole(self) -> bool:
        return self.made.read(f"{HOME}/kept") == b"kept" and "sleep 888" in self.made.processes()

    def hold(self) -> object:
        return self.made.run(f"sleep 777{os.getpid()}", timeout=1000)


class ProcessMachines(OfMachines):
    provider = ProcessProvider


class LocalMachines(OfMachines):
    provider = LocalProvider


class Shells(OfMachines):
    def use(self) -> str:
        return self.made.shell().send("echo well").text.strip()

    def begin(self) -> None:
        super().begin()
        self.made.shell().send("kept=kept")

    def is_whole(self) -> bool:
        return super().is_whole() and self.made.shell().send("echo $kept").text == "kept\n"

    def hold(self) -> object:
        return self.made.shell().send(f"sleep 777{os.getpid()}", timeout=1000)


class ProcessShells(Shells):
    provider = ProcessProvider


class LocalShells(Shells):
    provider = LocalProvider


class Providers(Kind):
    error = MachineError
    provider: Any

    def make(self) -> Any:
        return self.provider()

    def use(self) -> str:
        with self.made.start(MachineSpec()) as machine:
            return machine.run("echo well").stdout.strip()

    def hold(self) -> object:
        return self.made.start(MachineSpec()).run(f"sleep 777{os.getpid()}", timeout=1000)


class ProcessProviders(Providers):
    provider = ProcessProvider


class LocalProviders(Providers):
    provider = LocalProvider


class OfSandboxes(Kind):
    error = SandboxError
    sandbox: Any

    def make(self) -> Any:
        self.keeper = self.sandbox(workers=self.workers)
        return self.keeper

    def use(self) -> str:
        outputs = self.made.run_tests(Program("print(input())"), ["we", "ll"])
        return "".join(each.stdout.strip() for each in outputs)

    def hold(self) -> object:
        return self.made.run(Program(LONG, timeout=1000))


class Sessions(OfSandboxes):
    def make(self) -> Any:
        return super().make().session(timeout=1000)

    def use(self) -> str:
        return self.made.run("print('well')").stdout.strip()

    def begin(self) -> None:
        self.made.run("kept = 1")

    def is_whole(self) -> bool:
        return self.made.run("print(kept)").stdout == "1\n"

    def hold(self) -> object:
        return self.made.run(LONG)


class ProcessSandboxes(OfSandboxes):
    sandbox = ProcessSandbox


class WarmSandboxes(OfSandboxes):
    sandbox = staticmethod(functools.partial(WarmSandbox, preload=()))


class ProcessSessions(Sessions):
    sandbox = ProcessSandbox


class WarmSessions(Sessions):
    sandbox = staticmethod(functools.partial(WarmSandbox, preload=()))


KINDS: dict[str, type[Kind]] = {
    "machines of process": ProcessMachines,
    "machines of local": LocalMachines,
    "shells of process": ProcessShells,
    "shells of local": LocalShells,
    "the provider process": ProcessProviders,
    "the provider local": LocalProviders,
    "the sandbox process": ProcessSandboxes,
    "the sandbox warm": WarmSandboxes,
    "sessions of process": ProcessSessions,
    "sessions of warm": WarmSessions,
}


def in_child(act: Callable[[], object], *, ends: Callable[[int], Any] = os._exit) -> None:
    """Do something in a fork, and see that it succeeds."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(PATIENCE)
        try:
            act()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        ends(0)
    assert os.waitpid(pid, 0)[1] == 0


def refuses(act: Callable[[], object], error: type[BaseException]) -> None:
    try:
        found = act()
    except error:
        return
    raise AssertionError(f"no {error.__name__}, but {found!r}")


def wait_until(check: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not check():
        assert time.monotonic() < end
        time.sleep(0.005)


def marked() -> list[int]:
    """Return the processes of commands that ``hold`` has started; also those of machines."""
    found, mark = [], f"777{os.getpid()}".encode()
    for pid in os.listdir("/proc"):  # noqa: PTH208
        try:
            if pid.isdigit() and mark in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
        except OSError:
            pass
    return found


def busy(kind: Kind) -> list[int]:
    """Return the processes that work for ``hold``, once it has begun."""
    if isinstance(kind, OfSandboxes):
        return [pid for pid in descendants(os.getpid()) if pid not in kind.idle]
    return marked()


class Holding:
    """A thread that uses a thing for a long time, and what it gets."""

    def __init__(self, kind: Kind) -> None:
        self.kind, self.error = kind, None
        kind.idle = set(descendants(os.getpid()))
        self._thread = threading.Thread(target=self._hold, daemon=True)
        self._thread.start()
        wait_until(lambda: busy(kind))
        time.sleep(0.05)  # so that it waits for the end, mostly

    def _hold(self) -> None:
        try:
            self.kind.hold()
        except BaseException as error:
            self.error = error

    def check_ended(self) -> None:
        """See that the use ends with an error of the kind."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the use goes on"
        assert isinstance(self.error, self.kind.error), repr(self.error)


def a_child_that_uses_it_is_told(kind: Kind) -> None:
    in_child(lambda: refuses(kind.use, ForkError))


def a_child_that_closes_it_does_nothing(kind: Kind) -> None:
    in_child(lambda: (kind.close(), kind.close()))


def a_child_that_drops_it_does_nothing(kind: Kind) -> None:
    def drop() -> None:
        vars(kind).clear()
        gc.collect()
        time.sleep(0.03)

    in_child(drop)


def a_child_that_exits_does_nothing(kind: Kind) -> None:
    in_child(lambda: None, ends=sys.exit)


def a_child_that_was_forked_in_use_works_and_close_ends_the_use(kind: Kind) -> None:
    other = type(kind)()
    assert other.use() == "well"
    holding = Holding(other)

    def use() -> None:
        refuses(other.use, ForkError)
        other.close()
        own = type(kind)()
        assert own.use() == "well"
        own.close()

    in_child(use)
    assert busy(other)
    other.close()
    holding.check_ended()
    refuses(other.use, kind.error)
    wait_until(lambda: not marked())


def closed_is_a_state(kind: Kind) -> None:
    other = type(kind)()
    assert other.use() == "well"
    other.close()
    other.close()
    refuses(other.use, kind.error)


def a_drop_ends_it(kind: Kind) -> None:
    check_drop(kind)


def check_drop(kind: Kind) -> None:
    """Drop another one, which has a process of its own, in a cycle of references."""
    before = set(children(os.getpid()))
    other = type(kind)(workers=3)
    assert other.use() == "well"
    if isinstance(other, Shells):
        other.made.shell().send(f"sleep 777{os.getpid()} &")
    folder = other.made._folder if isinstance(other, ProcessMachines | ProcessShells) else None
    vars(other)["itself"] = other
    del other
    gc.collect()
    wait_until(lambda: set(children(os.getpid())) <= before and not marked())
    if folder is not None:
        wait_until(lambda: not folder.exists())


def the_garbage_collector_may_run_at_any_point(kind: Kind) -> None:
    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    try:
        closed_is_a_state(kind)
        check_drop(kind)
    finally:
        gc.set_threshold(*thresholds)


def ctrl_c_ends_it(kind: Kind) -> None:
    kind.idle = set(descendants(os.getpid()))

    def interrupt() -> None:
        wait_until(lambda: busy(kind))
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    refuses(kind.hold, KeyboardInterrupt)
    if isinstance(kind, Shells):
        kind.made.shell().interrupt()
    wait_until(lambda: not marked())


def a_part_dies(kind: Kind) -> None:
    """Then it works again, or says that it has ended; another one works."""
    other = type(kind)()
    assert other.use() == "well"
    other.kill_part()
    try:
        for _ in range(3):  # a session, what it is forked from, and the server of both have died
            found = other.use()
    except other.error:
        pass
    else:
        assert found == "well", found
    other.close()
    third = type(kind)()
    assert third.use() == "well"
    third.close()


ROWS: list[Callable[[Kind], None]] = [
    a_child_that_uses_it_is_told,
    a_child_that_closes_it_does_nothing,
    a_child_that_drops_it_does_nothing,
    a_child_that_exits_does_nothing,
    a_child_that_was_forked_in_use_works_and_close_ends_the_use,
    closed_is_a_state,
    a_drop_ends_it,
    the_garbage_collector_may_run_at_any_point,
    ctrl_c_ends_it,
    a_part_dies,
]


def rows_of(name: str) -> list[Callable[[Kind], None]]:
    """Return the rows of a kind; those of shells and providers that add to those of machines."""
    if name.startswith("shells"):
        left_out = {a_child_that_drops_it_does_nothing, a_child_that_exits_does_nothing}
        left_out |= {closed_is_a_state, a_part_dies}
    elif name.startswith("the provider"):
        left_out = {a_child_that_drops_it_does_nothing, a_drop_ends_it}
        left_out |= {the_garbage_collector_may_run_at_any_point, ctrl_c_ends_it}
    else:
        left_out = set()
    return [row for row in ROWS if row not in left_out]


def main(name: str, rows: list[str]) -> None:
    """Take a kind through the rows."""
    warnings.simplefilter("ignore", RuntimeWarning)
    warnings.simplefilter("ignore", DeprecationWarning)  # a fork with threads, on purpose
    faulthandler.register(signal.SIGALRM, chain=True)
    kind = KINDS[name]()
    assert kind.use() == "well"
    for row in rows_of(name):
        if rows and row.__name__ not in rows:
            continue
        signal.alarm(2 * PATIENCE)
        try:
            kind.begin()
            row(kind)
            if row is not a_part_dies:
                assert kind.use() == "well"
            if row not in (a_part_dies, ctrl_c_ends_it):
                assert kind.is_whole()
        except Exception:
            sys.excepthook(*sys.exc_info())
        else:
            print(row.__name__, flush=True)
    last = KINDS[name]()
    assert last.use() == "well"
    print(*descendants(os.getpid()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
