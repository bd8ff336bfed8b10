"""The template: a process that has imported the modules and forks workers in milliseconds.

It has one thread and no state except the imports, so its forks are safe where a fork of the host is
not. For each worker it keeps a copy of the worker's end of the socket to the host. When the host
hangs up, the template kills the worker with all its child processes. When a worker dies, the
template sends its exit status to the host. So workers end with their host, however that ends.
"""

import contextlib
import ctypes
import gc
import importlib
import os
import resource
import select
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from gem_core.specs import load_entry_point
from gem_workers.frames import DIED, RAISED, READY, pack
from gem_workers.serving import dump_error

__all__ = ["run"]

_PR_SET_PDEATHSIG = 1
_STDOUT, _STDERR = 1, 2


def run(descriptor: int, *, serve: str, preload: Sequence[str], memory_mib: int | None) -> None:
    """Run a template until its control socket is closed.

    Args:
        descriptor: File descriptor of the control socket.
        serve: Entry point of the function that workers run, called with the socket to the host
            and ``memory_mib``.
        preload: Modules to import.
        memory_mib: See ``Launcher``.
    """
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    failure = _import_all([*preload, serve.partition(":")[0]])
    with contextlib.suppress(OSError):  # the host is gone
        control.sendall(pack(RAISED, failure) if failure else pack(READY))
        if not failure:
            _Template(control, load_entry_point(serve), memory_mib).run()
    os._exit(0)  # skip the exit handlers of modules that were only imported


def _import_all(names: Sequence[str]) -> bytes:
    """Import the modules; return the pickle of the first error, or nothing."""
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException as error:  # noqa: BLE001 - a module may call sys.exit
            return dump_error(f"importing {name!r} raised", error)
    return b""


class _Template:
    def __init__(
        self, control: socket.socket, serve: Callable[..., None], memory_mib: int | None
    ) -> None:
        self._control = control
        self._serve = serve
        self._memory_mib = memory_mib
        # Measured here, because opening a file costs a new fork a millisecond.
        self._memory_limit = memory_mib and _address_space() + (memory_mib << 20)
        self._pid = os.getpid()
        self._connections: dict[int, socket.socket] = {}  # by pid
        self._pids: dict[int, int] = {}  # by descriptor of the connection
        self._die_with_template = _death_signal()
        self._alarm, self._bell = socket.socketpair()
        self._poll = select.poll()
        self._prepare()

    def _prepare(self) -> None:
        os.dup2(_STDOUT, _STDERR)  # the host reads it only until the template is ready
        warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
        gc.collect()
        gc.freeze()  # so that collections in the workers leave shared pages alone
        self._alarm.setblocking(False)
        self._bell.setblocking(False)
        signal.set_wakeup_fd(self._bell.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll.register(self._alarm, select.POLLIN)
        self._poll.register(self._control, select.POLLIN)

    def run(self) -> None:
        """Fork, kill and reap workers until the host closes the control socket; then kill all."""
        serving = True
        while serving:
            ready = {descriptor for descriptor, _ in self._poll.poll()}
            for descriptor in ready & self._pids.keys():
                self._kill(descriptor)
            if self._alarm.fileno() in ready:
                self._reap()
            if self._control.fileno() in ready:
                serving = self._serve_host()
        signal.set_wakeup_fd(-1)  # or a worker's end complains of the pipe that closes first
        for descriptor in list(self._pids):
            self._kill(descriptor)

    def _serve_host(self) -> bool:
        """Fork a worker for the received socket; return False if the host has hung up."""
        message, descriptors, *_ = socket.recv_fds(self._control, 1, 1)
        if message:
            connection = socket.socket(fileno=descriptors[0])
            connection.set_inheritable(False)
            try:
                self._fork(connection)
            except OSError:  # too many processes; the host sees that the socket is closed
                connection.close()
        return bool(message)

    def _fork(self, connection: socket.socket) -> None:
        pid = os.fork()
        if pid == 0:
            self._run_worker(connection)
        self._connections[pid] = connection
        self._pids[connection.fileno()] = pid
        self._poll.register(connection, 0)  # hang-ups only, which cannot be masked

    def _run_worker(self, connection: socket.socket) -> None:
        status = 1
        try:
            os.setsid()
            self._die_with_template()
            if os.getppid() == self._pid:
                self._forget()
                if self._memory_limit:
                    _limit_memory(self._memory_limit)
                self._serve(connection, self._memory_mib)
                status = 0
        finally:
            os._exit(status)

    def _forget(self) -> None:
        """Close the template's own descriptors and the sockets of other workers."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for other in (self._control, self._alarm, self._bell, *self._connections.values()):
            other.close()

    def _kill(self, descriptor: int) -> None:
        """Kill the worker of a connection with its child processes; ``_reap`` does the rest."""
        pid = self._pids.pop(descriptor)
        self._poll.unregister(descriptor)
        _send_kill(os.kill, pid)  # it may not have its process group yet
        _send_kill(os.killpg, pid)

    def _reap(self) -> None:
        """Wait for dead workers, and send their exit statuses to the host."""
        with contextlib.suppress(BlockingIOError):
            self._alarm.recv(1 << 12)
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                _send_kill(os.killpg, pid)
                self._notify(pid, os.waitstatus_to_exitcode(status))

    def _notify(self, pid: int, status: int) -> None:
        connection = self._connections.pop(pid, None)
        if connection is None:
            return  # not a worker, but a child process of an imported module
        if self._pids.pop(connection.fileno(), None):
            self._poll.unregister(connection)
            with contextlib.suppress(OSError):
                frame = pack(DIED, str(status).encode(), last=True)
                connection.send(frame, socket.MSG_DONTWAIT)
        connection.close()


def _send_kill(send_signal: Callable[[int, int], None], pid: int) -> None:
    with contextlib.suppress(OSError):  # the process may be gone
        send_signal(pid, signal.SIGKILL)


def _death_signal() -> Callable[[], None]:
    """Return a function that makes the kernel kill this process when its parent ends."""
    if not sys.platform.startswith("linux"):
        return lambda: None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _limit_memory(size: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard != resource.RLIM_INFINITY:
        size = min(size, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS may refuse
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _address_space() -> int:
    """Return the size of this process's address space in bytes; 0 where it is unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()
