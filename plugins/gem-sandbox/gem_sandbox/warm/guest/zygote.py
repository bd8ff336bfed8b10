"""The zygote: an interpreter that has imported everything, from which all programs are forked.

It never sees a program. It forks supervisors, which communicate with the host, and at their request
the init processes of isolation scopes, which communicate with the supervisors. So no program can
find anything of another one in the memory that it inherits. When a supervisor ends, its scope is
killed; when the host is gone, everything is.
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

from gem_sandbox.warm.guest import fd_passing, kernel, program, scope
from gem_sandbox.warm.guest.isolation import OPEN_FILES, Isolation, send_signal
from gem_sandbox.warm.guest.messages import unpack_scope_limits
from gem_sandbox.warm.guest.supervisor import Supervisor
from gem_sandbox.warm.guest.tiers import enter_tier
from gem_workers import common_names
from gem_workers.frames import READY, pack

__all__ = ["begin"]

_COMMON = ("abc", "array", "cmath", "contextlib", "enum", "linecache", "numbers", "weakref")
"""Without ``threading`` and modules that import it: it doubles the time of a fork."""
_FIRST_USE = {
    "numpy": "import numpy; numpy.arange(4.0).reshape(2, 2) @ numpy.eye(2)",
    "sympy": "import sympy; x = sympy.Symbol('x'); f = x**2 * sympy.sin(x) + sympy.Rational(1, 2); "
    "str(sympy.simplify(f.diff(x)).subs(x, 1).evalf()); sympy.solve(x**2 - 2, x); f.expand()",
}
"""Code that makes libraries do what they put off until they are first used."""
_OURS = ("gem_core", "gem_sandbox", "gem_workers")


def begin(descriptor: int, plan: dict[str, Any]) -> None:
    """Be a zygote, controlled over a socket, until that is closed."""
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    isolation = enter_tier(plan)
    _become_interpreter(plan)
    _warm_up(plan["preload"], isolation)
    isolation.measure()
    zygote = _Zygote(control, isolation)
    control.sendall(pack(READY))
    zygote.run()
    os._exit(0)


def _become_interpreter(plan: dict[str, Any]) -> None:
    """Make this process look like an interpreter that was started in the usual way."""
    for name in plan["only_at_start"]:
        os.environ.pop(name, None)
    sys.path[:] = plan["path"]
    sys.prefix = sys.exec_prefix = plan["prefix"]
    sys.executable, sys.argv[:] = plan["executable"], [""]
    for function in (site.setquit, site.setcopyright, site.sethelper):
        function()


def _warm_up(preload: list[str], isolation: Isolation) -> None:
    """Import modules, compile code and print a traceback once, so runs need not do it again."""
    for name in (*common_names.MODULES, *_COMMON, *preload):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
            exec(_FIRST_USE.get(name, ""), {})  # noqa: S102 - our own text
    try:
        exec(program.compile_script(b"def f():\n    1 / 0\nf()", "main.py"), {})  # noqa: S102
    except ZeroDivisionError as error:
        traceback.format_exception(error)
    scope.warm_up(isolation)
    random.seed()  # forks seed it again
    for name in [name for name in sys.modules if name.partition(".")[0] in _OURS]:
        del sys.modules[name]
    program.fresh_main()
    kernel.merge_mappings()
    warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
    gc.collect()
    gc.freeze()


class _Zygote:
    def __init__(self, control: socket.socket, isolation: Isolation) -> None:
        self._control = control
        self._isolation = isolation
        self._supervisors: dict[int, _Supervised] = {}  # by descriptor of the link
        self._scopes: dict[int, int] = {}  # descriptor of the link by process id
        self._wakeup, self._signalled = socket.socketpair()
        self._poll = select.poll()
        self._prepare()

    def _prepare(self) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, OPEN_FILES), hard))
        self._wakeup.setblocking(False)
        self._signalled.setblocking(False)
        signal.set_wakeup_fd(self._signalled.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _wake_up)
        self._poll.register(self._wakeup, select.POLLIN)
        self._poll.register(self._control, select.POLLIN)

    def run(self) -> None:
        """Fork, kill and reap until the host is gone; then kill all that is left."""
        wakeup, control = self._wakeup.fileno(), self._control.fileno()
        serving = True
        while serving:
            for descriptor, _ in self._poll.poll():
                if descriptor == wakeup:
                    self._reap()
                elif descriptor == control:
                    serving = self._fork_supervisor()
                elif descriptor in self._supervisors:
                    self._fork_scope(descriptor)
        signal.set_wakeup_fd(-1)
        for descriptor in list(self._supervisors):
            self._end_supervisor(descriptor)
        self._isolation.end()

    def _fork_supervisor(self) -> bool:
        """Fork a supervisor for a connection from the host; return whether the host is there."""
        message, passed = fd_passing.receive(self._control)
        if message and passed:
            ours, theirs = socket.socketpair()
            with contextlib.suppress(OSError):  # too many processes; the connection closes
                pid = os.fork()
                if pid == 0:
                    self._run_supervisor(passed[0], theirs)
                self._supervisors[ours.fileno()] = _Supervised(pid, ours)
                self._poll.register(ours, select.POLLIN)
            theirs.close()
            os.close(passed[0])
        return bool(message)

    def _run_supervisor(self, connection: int, link: socket.socket) -> NoReturn:
        try:
            self._detach()
            scope.renumber([0, 1, 2, connection, link.detach()])
            host, zygote = socket.socket(fileno=3), socket.socket(fileno=4)
            Supervisor(host, zygote, self._isolation).serve()
        except BaseException:  # noqa: BLE001 - an error of ours, for debugging
            traceback.print_exc()
        finally:
            os._exit(0)

    def _detach(self) -> None:
        """Undo in a forked process what is for the zygote only."""
        kernel.die_with_parent()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def _fork_scope(self, descriptor: int) -> None:
        """Fork an init process for a supervisor, and send the supervisor its process id."""
        link = self._supervisors[descriptor].link
        message, passed = fd_passing.receive(link)
        if not message:
            self._end_supervisor(descriptor)
            return
        self._isolation.prepare_scope(descriptor)
        try:
            pid = kernel.clone(self._isolation.clone_flags)
        except OSError:
            pid = -1
        if pid == 0:
            self._run_scope(message, passed[0])
        for each in passed:
            os.close(each)
        self._send_pid(link, pid)
        if pid > 0:
            self._scopes[pid] = descriptor

    def _run_scope(self, message: bytes, link: int) -> NoReturn:
        try:
            scope.run_init(self._isolation, unpack_scope_limits(message), link)
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            os._exit(1)

    def _send_pid(self, link: socket.socket, pid: int) -> None:
        with contextlib.suppress(OSError):
            pidfd = [os.pidfd_open(pid)] if pid > 0 else []
            fd_passing.send(link, str(pid).encode(), pidfd)
            for each in pidfd:
                os.close(each)

    def _end_supervisor(self, descriptor: int) -> None:
        """Kill a supervisor and its isolation scope."""
        ended = self._supervisors.pop(descriptor)
        self._poll.unregister(descriptor)
        ended.link.close()
        send_signal(ended.pid, signal.SIGKILL)
        for pid, link in self._scopes.items():
            if link == descriptor:
                send_signal(pid, self._isolation.end_signal)

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._wakeup.recv(1 << 12)
        with contextlib.suppress(ChildProcessError):
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) > 0:
                self._scopes.pop(pid, None)
        supervisors = (supervised.pid for supervised in self._supervisors.values())
        self._isolation.sweep({*self._scopes, *supervisors})


class _Supervised(NamedTuple):
    pid: int
    link: socket.socket


def _wake_up(*_: object) -> None:
    """Do nothing: the wakeup descriptor makes the loop continue."""
