"""A machine's first process: starts jobs, opens files, ends everything.

It is a fork of the server, so it has our code in memory and loads nothing from the machine's files.
Its memory cannot be reached from the machine: the kernel counts it as the host's.
"""

import contextlib
import errno
import os
import resource
import select
import signal
import socket
import stat
from collections.abc import Iterator
from typing import IO, Any, NoReturn, cast

from gem_sandbox.guest.process_tree import ProcessStopper
from gem_sandbox.machines.archive import layers, pack, pack_all
from gem_sandbox.machines.local.messages import LARGEST, STATUS, receive, send
from gem_sandbox.machines.local.plain_root import Listing, changes
from gem_sandbox.machines.selection import Selection, offer
from gem_sandbox.machines.signals import send_signal
from gem_sandbox.machines.trees import make_folders
from gem_sandbox.warm.guest import kernel

__all__ = ["serve"]

_WATCH = 250
"""Milliseconds between two looks at the memory."""
_TICKS = os.sysconf("SC_CLK_TCK")
_NOT_FOUND, _NOT_STARTED = 127, 126
_LONGEST_LINE, _MOST_LINES, _BYTES_OF_LINES = 4096, LARGEST >> 7, LARGEST >> 2
"""Bytes of a command line that are told, command lines, and bytes of all: a message has no more."""


class Jobs:
    """The processes of a machine.

    Args:
        plan: The machine's limits.
        layers: A descriptor of the folder that holds what was written.
        before: What was there before, if the folder has what was there too.
    """

    def __init__(self, plan: dict[str, Any], layers: int, before: Listing | None = None) -> None:
        self._before = before
        self._plan = plan
        self._layers = layers
        self._status: dict[int, int] = {}
        """Descriptors for the status of jobs, by process id."""
        self._ended_for_memory: set[int] = set()
        self._is_packing = 0
        self._stopper = ProcessStopper(_pids)

    # Requests: a method each; it returns the answer, and perhaps a descriptor.

    def spawn(self, request: dict[str, Any], descriptors: list[int]) -> tuple[int, None]:
        """Start a program; the last descriptor is for its status."""
        user, group, groups, home, name = _user(request["user"])
        env = {"HOME": home, "USER": name, "LOGNAME": name, **request["env"]}
        if user and self._plan["one_user"]:
            raise LookupError("the machine has no user but root, as root did not start it")
        if not os.path.isdir(request["cwd"]):
            raise NotADirectoryError(errno.ENOTDIR, f"{request['cwd']!r} is not a folder")
        pid = os.fork()
        if pid == 0:
            try:
                self._begin(descriptors[:-1])
                if not self._plan["one_user"]:
                    os.setgroups(groups)
                    os.setresgid(group, group, group)
                    os.setresuid(user, user, user)
                os.chdir(request["cwd"])
                os.execve(request["argv"][0], request["argv"], env)  # noqa: S606
            except OSError as error:
                os.write(2, f"{error.filename}: {error.strerror}\n".encode())
                os._exit(_NOT_FOUND if error.errno == errno.ENOENT else _NOT_STARTED)
            finally:
                os._exit(_NOT_STARTED)
        self._status[pid] = descriptors.pop()
        return pid, None

    def _begin(self, descriptors: list[int]) -> None:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for each in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGINT, signal.SIGXFSZ):
            signal.signal(each, signal.SIG_DFL)
        os.umask(0o022)
        kept = [os.dup(one) for one in descriptors]  # so that no number is overwritten too early
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)
        kernel.close_from(len(kept))
        most = self._plan["processes"] + 1
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def signal(self, request: dict[str, Any], _: list[int]) -> tuple[None, None]:
        """Send a signal to the process group of a job, or to its younger descendants."""
        group = request["pid"]
        if request["since"] is None:
            members = [pid for pid in _pids() if _group(pid) == group]
            send_signal(request["number"], members, group=group)
        else:
            since = request["since"] - 1 / _TICKS
            younger = [pid for pid in _descendants(group) if _start(pid) >= since]
            send_signal(request["number"], younger)
        return None, None

    def open(self, request: dict[str, Any], _: list[int]) -> tuple[None, int]:
        """Open a regular file; create its folders if it is opened for writing."""
        path, flags = request["path"], request["flags"]
        if flags & os.O_CREAT:
            make_folders(os.path.dirname(path))
        try:
            descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY, request["mode"])
        except OSError as error:
            if error.errno == errno.ENXIO:  # a pipe that nobody reads, or a socket
                raise OSError(errno.EINVAL, "not a regular file") from error
            raise
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "not a regular file")
        if flags & os.O_CREAT:
            os.fchmod(descriptor, request["mode"])
        return None, descriptor

    def listen(self, request: dict[str, Any], _: list[int]) -> tuple[None, int]:
        """Listen on a port of the machine's loopback; the host accepts the connections."""
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", request["port"]))
            listener.listen(128)
            return None, listener.detach()

    def pack(self, request: dict[str, Any], descriptors: list[int]) -> tuple[int, None]:
        """Write an archive of a file or folder; or of what was written, if none is named.

        All processes are stopped until the archive is complete.
        """
        if request["path"] is not None:
            os.lstat(request["path"])
        self._stopper.stop()
        try:
            pid = os.fork()
        except OSError:
            self._stopper.resume()
            raise
        if pid == 0:
            try:
                with socket.socket(fileno=descriptors[0]) as link, link.makefile("rwb") as file:
                    self._pack(request, cast("IO[bytes]", file))
                os._exit(0)
            except Exception as error:  # noqa: BLE001 - the host hears of it
                os.write(descriptors[1], _reason(error).encode("utf-8", "replace"))
            finally:
                os._exit(1)
        self._status[pid] = descriptors.pop()
        self._is_packing = pid
        return pid, None

    def _pack(self, request: dict[str, Any], file: IO[bytes]) -> None:
        path, limit = request["path"], request["limit"]
        if path is not None:
            pack(path, file, limit)
            return
        before = self._before
        found = layers(self._layers) if before is None else changes(self._layers, before)
        if request["offers"]:
            offer(Selection(self._layers, found), file, limit)
        else:
            pack_all(self._layers, found, file, limit)

    def stop(self, _: dict[str, Any], __: list[int]) -> tuple[None, int | None]:
        """Stop all processes, and return the folder of what was written, to be copied.

        Without overlayfs, return nothing: an archive is copied instead.
        """
        if self._before is not None:
            return None, None
        if not self._stopper.stop():
            self._stopper.resume()
            raise OSError(errno.EBUSY, "its processes cannot be stopped")
        return None, os.dup(self._layers)

    def resume(self, _: dict[str, Any], __: list[int]) -> tuple[None, None]:
        """Let the processes go on."""
        self._stopper.resume()
        return None, None

    def processes(self, _: dict[str, Any], __: list[int]) -> tuple[list[tuple[int, str]], None]:
        """Return the process ids and command lines of what runs."""
        found = []
        pids, left = _pids()[:_MOST_LINES], _BYTES_OF_LINES
        for number, pid in enumerate(pids):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
                most = min(_LONGEST_LINE, left // (len(pids) - number))
                line = file.read(most).rstrip(b"\0").replace(b"\0", b" ")
                left -= len(line)
                if line:  # not a zombie
                    found.append((pid, line.decode("utf-8", "replace")))
        return found, None

    def kill_all(self, _: dict[str, Any], __: list[int]) -> tuple[None, None]:
        """End all processes."""
        while True:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            self.reap(wait=True)
            if not _pids():
                return None, None

    # Between requests.

    def reap(self, *, wait: bool = False) -> None:
        """Report the jobs that have ended."""
        while True:
            try:
                pid, status, usage = os.wait3(0 if wait else os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._is_packing:
                self._is_packing = 0
                self._stopper.resume()
            report = self._status.pop(pid, -1)
            if report >= 0:
                ended = pid in self._ended_for_memory
                self._ended_for_memory.discard(pid)
                with contextlib.suppress(OSError):
                    os.write(report, STATUS.pack(status, usage.ru_maxrss << 10, ended))
                os.close(report)

    def watch(self) -> None:
        """Kill the largest process if all together have more memory than allowed."""
        pids = [pid for pid in _pids() if pid != self._is_packing]
        if sum(map(_size, pids)) <= self._plan["memory"]:
            return
        sizes = {pid: _size(pid, shares=True) for pid in pids}
        if sum(sizes.values()) > self._plan["memory"]:
            largest = max(sizes, key=lambda pid: sizes[pid])
            with contextlib.suppress(OSError):
                self._ended_for_memory.add(os.getsid(largest))
                os.kill(largest, signal.SIGKILL)

    @property
    def is_idle(self) -> bool:
        """Whether no job runs; others that a job left may run."""
        return not self._status


def serve(
    control: socket.socket, plan: dict[str, Any], layers: int, before: Listing | None
) -> NoReturn:
    """Answer the host's requests until it hangs up; then all processes of the machine end.

    The server has set a handler for ``SIGCHLD``, without which there would be no wake-up.
    """
    jobs = Jobs(plan, layers, before)
    ended, wakeup = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(ended, select.POLLIN)
    while True:
        events = poll.poll(None if jobs.is_idle and not _pids() else _WATCH)
        for descriptor, _ in events:
            if descriptor == ended:
                os.read(ended, 512)
                jobs.reap()
            else:
                request, descriptors = receive(control)
                if request is None:
                    os._exit(0)
                _answer(control, jobs, request, descriptors)
        if not events:
            jobs.watch()


def _answer(
    control: socket.socket, jobs: Jobs, request: dict[str, Any], descriptors: list[int]
) -> None:
    opened = None
    try:
        value, opened = getattr(jobs, request["do"])(request, descriptors)
        answer = {"value": value}
    except Exception as error:  # noqa: BLE001 - the host hears of it, and the machine goes on
        answer = {"error": _reason(error)}
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    try:
        send(control, answer, [] if opened is None else [opened])
    except ValueError as error:
        send(control, {"error": str(error)})
    if opened is not None:
        os.close(opened)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error.args[0] if isinstance(error, LookupError) else error)[:1000] or repr(error)


def _user(name: str) -> tuple[int, int, list[int], str, str]:
    """Return the ids of a user, the home folder and the name, from the machine's own files."""
    if name in {"root", "0"}:
        return 0, 0, [], "/root", "root"
    for line in _lines("/etc/passwd"):
        fields = line.split(":")
        if len(fields) == 7 and name in {fields[0], fields[2]} and _are_ids(fields[2:4]):
            groups = [
                int(group)
                for _, _, group, members in (
                    each.split(":") for each in _lines("/etc/group") if each.count(":") == 3
                )
                if fields[0] in members.split(",") and _are_ids([group])
            ]
            return int(fields[2]), int(fields[3]), groups, fields[5] or "/", fields[0]
    if name.isdecimal():
        return int(name), int(name), [], "/", name
    raise LookupError(f"no such user: {name!r}")


def _are_ids(fields: list[str]) -> bool:
    return all(field.isdecimal() and len(field) < 11 for field in fields)


def _lines(path: str) -> list[str]:
    """Return the lines of a regular file of the machine; an empty list for anything else."""
    try:
        with _opened(path) as descriptor:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return []
            return os.read(descriptor, 1 << 20).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _pids() -> list[int]:
    """Return the process ids of all processes but this one."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]


def _stat(pid: int) -> list[str]:
    """Return the fields of a process from its parent on; none if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[1:]
    except OSError:
        return []


def _group(pid: int) -> int:
    """Return the process group of a process; 0 if it has ended."""
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def _start(pid: int) -> float:
    """Return when a process was started, as the kernel's clock since its start says."""
    fields = _stat(pid)
    return int(fields[18]) / _TICKS if fields else 0.0


def _descendants(pid: int) -> list[int]:
    parents = {one: int(fields[0]) for one in _pids() if (fields := _stat(one))}
    found, rest = [], [pid]
    while rest:
        parent = rest.pop()
        inner = [one for one, above in parents.items() if above == parent]
        found += inner
        rest += inner
    return found


def _size(pid: int, *, shares: bool = False) -> int:
    """Return the bytes of memory of a process, without files of a disk; 0 if it has ended.

    Args:
        pid: The process id.
        shares: Divide what several processes have by their number; this takes longer.
    """
    file, names = (
        ("smaps_rollup", ("Pss_Anon", "Pss_Shmem"))
        if shares
        else ("status", ("RssAnon", "RssShmem"))
    )
    try:
        with open(f"/proc/{pid}/{file}", encoding="utf-8", errors="replace") as opened:
            fields = dict(line.partition(":")[::2] for line in opened)
    except OSError:
        return _size(pid) if shares else 0  # only the machine's root may see the shares
    return sum(int(fields.get(name, "0").split()[0]) << 10 for name in names)
