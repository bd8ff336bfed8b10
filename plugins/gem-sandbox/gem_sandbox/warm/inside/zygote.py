"""The zygote: an interpreter that has imported everything, of which all programs are forks.

It learns nothing of the programs: it forks supervisors, which speak with the host, and at their
word the rooms of programs, which speak with them. So no program can find what another one left in
the memory that it came from. When a supervisor ends, its room is killed; when the host is gone, so
is everything.
"""

import contextlib
import gc
import importlib
import os
import random
import resource
import select
import signal
import site
import socket
import sys
import traceback
import warnings
from typing import Any, NamedTuple, NoReturn

from gem_sandbox.warm.inside import kernel, names, passing, program, room
from gem_sandbox.warm.inside.messages import unpack_room
from gem_sandbox.warm.inside.supervisor import Supervisor
from gem_sandbox.warm.inside.tiers import enter_tier
from gem_sandbox.warm.inside.walls import Walls, send_signal
from gem_workers.frames import READY, pack

__all__ = ["begin"]

_COMMON = ("abc", "array", "cmath", "contextlib", "enum", "linecache", "numbers", "weakref")
"""Not ``threading`` nor what imports it: it doubles the time that a fork takes."""
_FIRST_USE = {
    "numpy": "import numpy; numpy.arange(4.0).reshape(2, 2) @ numpy.eye(2)",
    "sympy": "import sympy; x = sympy.Symbol('x'); f = x**2 * sympy.sin(x) + sympy.Rational(1, 2); "
    "str(sympy.simplify(f.diff(x)).subs(x, 1).evalf()); sympy.solve(x**2 - 2, x); f.expand()",
}
"""What libraries set up when they are first used, rather than when they are imported."""
_OURS = ("gem_core", "gem_sandbox")


def begin(descriptor: int, plan: dict[str, Any]) -> None:
    """Be a zygote, controlled over the socket of a descriptor, until that is closed."""
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    walls = enter_tier(plan)
    _become_interpreter(plan)
    _warm_up(plan["preload"], walls)
    walls.measure()
    zygote = _Zygote(control, walls)
    control.sendall(pack(READY))
    zygote.run()
    os._exit(0)


def _become_interpreter(plan: dict[str, Any]) -> None:
    """Be as an interpreter that was started in the usual way."""
    for name in plan["only_at_start"]:
        os.environ.pop(name, None)
    sys.path[:] = plan["path"]
    sys.prefix = sys.exec_prefix = plan["prefix"]
    sys.executable, sys.argv[:] = plan["executable"], [""]
    for function in (site.setquit, site.setcopyright, site.sethelper):
        function()


def _warm_up(preload: list[str], walls: Walls) -> None:
    """Import, compile and fail once, so that runs find all of that done."""
    for name in (*names.MODULES, *_COMMON, *preload):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
            exec(_FIRST_USE.get(name, ""), {})  # noqa: S102 - our own text
    try:
        exec(program.compile_script(b"def f():\n    1 / 0\nf()", "main.py"), {})  # noqa: S102
    except ZeroDivisionError as error:
        traceback.format_exception(error)
    room.rehearse(walls)
    random.seed()  # of which forks only renew the numbers
    for name in [name for name in sys.modules if name.partition(".")[0] in _OURS]:
        del sys.modules[name]
    program.fresh_main()
    kernel.merge_mappings()
    warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
    gc.collect()
    gc.freeze()


class _Zygote:
    def __init__(self, control: socket.socket, walls: Walls) -> None:
        self._control = control
        self._walls = walls
        self._supervisors: dict[int, _Supervised] = {}  # by descriptor of the link
        self._rooms: dict[int, int] = {}  # descriptor of the link by process id
        self._alarm, self._bell = socket.socketpair()
        self._poll = select.poll()
        self._prepare()

    def _prepare(self) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self._alarm.setblocking(False)
        self._bell.setblocking(False)
        signal.set_wakeup_fd(self._bell.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _ring)
        self._poll.register(self._alarm, select.POLLIN)
        self._poll.register(self._control, select.POLLIN)

    def run(self) -> None:
        """Fork, kill and bury until the host is gone; then kill them all."""
        alarm, control = self._alarm.fileno(), self._control.fileno()
        serving = True
        while serving:
            for descriptor, _ in self._poll.poll():
                if descriptor == alarm:
                    self._bury()
                elif descriptor == control:
                    serving = self._begin_supervisor()
                elif descriptor in self._supervisors:
                    self._begin_room(descriptor)
        for descriptor in list(self._supervisors):
            self._end_supervisor(descriptor)
        self._walls.end()

    def _begin_supervisor(self) -> bool:
        """Fork a supervisor for the connection that comes in; tell whether one did."""
        message, passed = passing.receive(self._control)
        if message and passed:
            ours, theirs = socket.socketpair()
            with contextlib.suppress(OSError):  # too many processes; the host sees it closed
                pid = os.fork()
                if pid == 0:
                    self._be_supervisor(passed[0], theirs)
                self._supervisors[ours.fileno()] = _Supervised(pid, ours)
                self._poll.register(ours, select.POLLIN)
            theirs.close()
            os.close(passed[0])
        return bool(message)

    def _be_supervisor(self, connection: int, link: socket.socket) -> NoReturn:
        try:
            self._leave()
            room.place([0, 1, 2, connection, link.detach()])
            host, zygote = socket.socket(fileno=3), socket.socket(fileno=4)
            Supervisor(host, zygote, self._walls).serve()
        except BaseException:  # noqa: BLE001 - of ours, so to who looks into a sandbox that fails
            traceback.print_exc()
        finally:
            os._exit(0)

    def _leave(self) -> None:
        """Be no zygote any more."""
        kernel.die_with_parent()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def _begin_room(self, descriptor: int) -> None:
        """Fork a room for a supervisor, and tell it which process to watch."""
        link = self._supervisors[descriptor].link
        message, passed = passing.receive(link)
        if not message:
            self._end_supervisor(descriptor)
            return
        self._walls.next_room(descriptor)
        try:
            pid = kernel.clone(self._walls.clone_flags)
        except OSError:
            pid = -1
        if pid == 0:
            self._be_room(message, passed[0])
        for each in passed:
            os.close(each)
        self._tell(link, pid)
        if pid > 0:
            self._rooms[pid] = descriptor

    def _be_room(self, message: bytes, link: int) -> NoReturn:
        try:
            room.be_first(self._walls, unpack_room(message), link)
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            os._exit(1)

    def _tell(self, link: socket.socket, pid: int) -> None:
        with contextlib.suppress(OSError):
            pidfd = [os.pidfd_open(pid)] if pid > 0 else []
            passing.send(link, str(pid).encode(), pidfd)
            for each in pidfd:
                os.close(each)

    def _end_supervisor(self, descriptor: int) -> None:
        """Kill a supervisor and what it watches over."""
        ended = self._supervisors.pop(descriptor)
        self._poll.unregister(descriptor)
        ended.link.close()
        send_signal(ended.pid, signal.SIGKILL)
        for pid, link in self._rooms.items():
            if link == descriptor:
                send_signal(pid, self._walls.end_signal)

    def _bury(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._alarm.recv(1 << 12)
        with contextlib.suppress(ChildProcessError):
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) > 0:
                self._rooms.pop(pid, None)
        supervisors = (supervised.pid for supervised in self._supervisors.values())
        self._walls.sweep({*self._rooms, *supervisors})


class _Supervised(NamedTuple):
    pid: int
    link: socket.socket


def _ring(*_: object) -> None:
    """Have the signal wake up the loop."""
