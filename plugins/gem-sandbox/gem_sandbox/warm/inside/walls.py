"""What is put between a run and everything else; one class for each way that a kernel offers.

The same object serves in the zygote, in supervisors and in runs, as all are forks of one process:
its methods are grouped by where they are called.
"""

import contextlib
import os
import resource
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from gem_sandbox.warm.inside import folders, kernel
from gem_sandbox.warm.inside.kernel import FolderWatch, Step
from gem_sandbox.warm.inside.messages import Request
from gem_sandbox.warm.inside.program import MAIN

__all__ = [
    "NamespaceWalls",
    "Walls",
    "children",
    "descendants",
    "have_children",
    "limit",
    "send_signal",
]

_USER = 1000
_FIRST = 1
"""The first process is counted with a program's, and is not its own."""
_MOST_FILES = 1 << 14
_OPEN_FILES = 256
_SOON = 0.0002
_SHIELD = (resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE)
_SLACK = 1 << 30
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_MODE = 0o644
_BEYOND = Request(file_size=1 << 62, cpu_time=1 << 32, processes=1 << 30)
"""Limits that nothing reaches; the kernel counts CPU time in nanoseconds."""
_SCRATCH = "/tmp"  # noqa: S108 - private to the run
_QUIET = kernel.MS_NOSUID | kernel.MS_NODEV
_LAST_PID = "/proc/sys/kernel/ns_last_pid"
_INIT = b"1"
"""The first process: so the next one is the second."""


class Walls(ABC):
    """Common to all ways.

    Args:
        plan: From the host: ``filter`` (a BPF program, of a program's process), ``readable``
            (paths).
    """

    clone_flags = 0
    end_signal = signal.SIGKILL
    """What ends a room when it is sent to its first process."""
    folder = _SCRATCH
    folders: tuple[str, ...] = (_SCRATCH, "/dev/shm")  # noqa: S108
    kept: Mapping[str, Collection[str]] = {}
    """Names in the folders that are not the program's, by folder."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._filter = kernel.CallFilter(plan["filter"])
        self._readable = plan["readable"]
        self._landlock = kernel.landlock_abi()
        self._rules = -1
        self._last_steps = [kernel.dumpability(1)]
        self._mapped = self._data = 0

    # In the zygote.

    def measure(self) -> None:
        """Note what the zygote takes, so that a program is not charged for it."""
        self._mapped, self._data = _sizes()

    def rehearse(self) -> None:
        """Do in vain what can be done in vain of ``steps``: set limits that limit nothing."""
        kernel.take(self._limits_of(_BEYOND, servers=0))

    def next_room(self, slot: int) -> None:  # noqa: B027 - not all ways need it
        """Prepare for the room that is forked next, for a supervisor of that number."""

    def sweep(self, known: Collection[int]) -> None:  # noqa: B027 - not all ways need it
        """Kill what has become a child of the zygote, but for those it knows."""

    def end(self) -> None:  # noqa: B027 - not all ways need it
        """Remove what is left, as the zygote ends."""

    # In a room's first process.

    @abstractmethod
    def begin(self, limits: dict[str, int]) -> None:
        """Put this process, and all that come from it, apart from everything else."""

    @abstractmethod
    def furnish(self) -> None:
        """Make what the next program finds: empty folders, and rules that let it write there."""

    @abstractmethod
    def finish(self) -> None:
        """Kill and remove all that a program has left."""

    @abstractmethod
    def first_steps(self) -> list[Step]:
        """Return what the process of the next program does before that is known."""

    # In the program's process, and where one is forked for several inputs.

    @abstractmethod
    def end_others(self) -> None:
        """Kill all processes that a program has left."""

    def clear(self) -> None:
        """Remove the files of the same program, run before."""
        for folder in self.folders:
            folders.empty(folder, self.kept.get(folder, ()))

    def lay(self, files: Mapping[str, bytes]) -> None:
        """Write files into the program's folder, by name."""
        for name, content in files.items():
            for folder in _folders_of(name):
                self._make(f"{self.folder}/{folder}")
            descriptor = os.open(f"{self.folder}/{name}", _NEW, _MODE)
            os.write(descriptor, content)
            self.give(descriptor)
            os.close(descriptor)

    def lay_for_one_run(self, files: Mapping[str, bytes]) -> None:
        """Write the files of a program that runs once, and is the last that uses them."""
        self.lay(files)

    def _make(self, folder: str) -> None:
        """Make a folder of the program's own."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder)
            descriptor = os.open(folder, os.O_RDONLY)
            self.give(descriptor)
            os.close(descriptor)

    def watch(self, files: Iterable[str]) -> None:  # noqa: B027 - not all ways can
        """Note from now on what happens to these files, by name, and beside them."""

    def is_changed(self) -> bool:
        """Tell whether files may have changed since this was last asked."""
        return True

    def give(self, descriptor: int) -> None:  # noqa: B027 - not all ways need it
        """Make a file or folder the program's own."""

    def steps(self, request: Request, *, servers: int = 0) -> list[Step]:
        """Return what takes from a process what a program must not have: the last steps to it.

        Args:
            request: What the program may use.
            servers: Processes that serve it and are counted with it, besides the first one.
        """
        return [*self._limits_of(request, servers), *self._last_steps]

    def _permit(self, *, readable: Sequence[str]) -> None:
        """Have programs from now on read only there, and write into their folders."""
        if self._rules >= 0:
            os.close(self._rules)
        writable = [*self.folders, "/dev/null"]
        self._rules = kernel.landlock_rules(self._landlock, readable=readable, writable=writable)
        restriction = kernel.landlock_restriction(self._rules)
        self._last_steps = [kernel.dumpability(1), restriction]

    def _limits_of(self, request: Request, servers: int) -> list[Step]:
        """Return what sets the limits of one program."""
        return [
            limit(resource.RLIMIT_FSIZE, request.file_size),
            limit(resource.RLIMIT_CPU, request.cpu_time, request.cpu_time + 1),
            self._limit_of_tasks(request.processes, servers),
        ]

    @abstractmethod
    def _limit_of_tasks(self, processes: int, servers: int) -> Step:
        """Return what limits the tasks of the program's user, so that it can have ``processes``."""

    def _room_limits(self, limits: dict[str, int]) -> list[Step]:
        """Return what limits what a process, and those that come from it, may use each."""
        return [
            limit(resource.RLIMIT_DATA, self._data + limits["memory"]),
            limit(resource.RLIMIT_AS, self._mapped + limits["memory"] + _SLACK),
            limit(resource.RLIMIT_NOFILE, _OPEN_FILES),
            *(limit(kind, 0) for kind in _SHIELD),
        ]

    # In a supervisor.

    def processes(self, first: int) -> list[int]:
        """Return the processes below a room's first one."""
        return descendants(first)

    @abstractmethod
    def files_size(self, first: int, pids: list[int]) -> int:
        """Return how many bytes a program's files take."""

    def signal_all(self, first: int, number: int) -> None:
        """Send a signal to all processes below a room's first one."""
        for pid in self.processes(first):
            send_signal(pid, number)


class NamespaceWalls(Walls):
    """Own users, processes, mounts and System V objects: the run sees itself alone."""

    clone_flags = (
        kernel.CLONE_NEWUSER | kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC
    )

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__(plan)
        self._room_filter = kernel.CallFilter(plan["room_filter"])
        self._outside = os.getuid(), os.getgid()
        self.folder = plan["folder"]
        others = (each for each in Walls.folders if each != self.folder)
        self.folders = (self.folder, *others)
        self._covered, self._covered_links = _covered_by(self.folders, plan)
        self.kept = {
            folder: {os.path.basename(path) for path in self._covered if path.startswith(folder)}
            for folder in self.folders
        }
        self._covered_at: dict[str, int] = {}
        self._options = ""
        self._restart_ids: list[Step] = []
        main = f"{self.folder}/{MAIN}".encode()
        self._open_main = kernel.call("open", main, _NEW, _MODE)
        self._remove_main = kernel.call("unlink", main)
        self._is_furnished = False
        self._watch: FolderWatch | None = None
        """Sees what happens to files from one run of a program to the next."""
        self._room_watch: FolderWatch | None = None
        """Sees what happens to them from one program to the next."""

    def begin(self, limits: dict[str, int]) -> None:
        self._covered_at = {path: os.open(path, os.O_PATH) for path in self._covered}
        self._restart_ids = _restart_ids()
        kernel.take([kernel.dumpability(1)])  # or the files in /proc would not be ours to write
        kernel.map_user(_USER, self._outside)
        kernel.take([kernel.dumpability(0)])
        kernel.mount("proc", "/proc", "proc", _QUIET | kernel.MS_NOEXEC, "subset=pid")
        with contextlib.suppress(OSError):  # this user has as many as are allowed
            self._watch = FolderWatch()
            self._room_watch = FolderWatch()
        self._options = f"size={limits['disk']},nr_inodes={_MOST_FILES},mode=0700"
        kernel.take(self._room_limits(limits))
        kernel.take([self._room_filter.apply])

    def furnish(self) -> None:
        if not self._is_as_new():
            self._furnish_anew()
        kernel.take(self._restart_ids)

    def _is_as_new(self) -> bool:
        """Tell whether nothing was done to folders but to lay one program's only file: remove it.

        New mounts, and rules for them, would cost a tenth of a small run.
        """
        if not self._is_furnished or self._room_watch is None or self._room_watch.has_seen():
            return False
        self._remove_main()
        self._room_watch.has_seen()
        return True

    def _furnish_anew(self) -> None:
        for folder in self.folders:
            if self._is_furnished:
                kernel.umount(folder)
            flags = _QUIET if folder == _SCRATCH else _QUIET | kernel.MS_NOEXEC
            kernel.mount("tmpfs", folder, "tmpfs", flags, self._options)
        self._is_furnished = True
        self._show_again()
        if self._landlock:
            self._permit(readable=["/"])
        self._room_watch = _watching(self._room_watch, self.folders)

    def finish(self) -> None:
        while have_children():  # of the first process: all that are in the room
            _signal_others()
            time.sleep(_SOON)

    def first_steps(self) -> list[Step]:
        at_home = kernel.call("chdir", self.folder.encode())
        return [kernel.dropping_capabilities(), at_home, self._filter.apply]

    def _show_again(self) -> None:
        """Show what the empty folders cover: an interpreter or libraries that lie below them.

        Their outermost folders are shown as they are in the root, with all that is mounted below:
        so all of it stays read-only, which is locked.
        """
        for path, descriptor in self._covered_at.items():
            source = f"/proc/self/fd/{descriptor}"
            if os.path.isdir(source):
                os.mkdir(path)
            else:
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o400))
            kernel.mount(source, path, None, kernel.MS_BIND | kernel.MS_REC)
        self._link_again()

    def _link_again(self) -> None:
        for link, target in self._covered_links.items():
            os.symlink(target, link)

    def clear(self) -> None:
        super().clear()
        self._link_again()

    def _limit_of_tasks(self, processes: int, servers: int) -> Step:
        return limit(resource.RLIMIT_NPROC, processes + servers + _FIRST)

    def lay_for_one_run(self, files: Mapping[str, bytes]) -> None:
        if self._room_watch is None or len(files) > 1:
            self.lay(files)
            return
        descriptor = self._open_main()
        os.write(descriptor, files[MAIN])
        os.close(descriptor)
        self._room_watch.has_seen()  # ``furnish`` undoes that

    def watch(self, files: Iterable[str]) -> None:
        inner = {f"{self.folder}/{folder}" for name in files for folder in _folders_of(name)}
        self._watch = _watching(self._watch, [*self.folders, *inner])

    def is_changed(self) -> bool:
        return self._watch is None or self._watch.has_seen()

    def end_others(self) -> None:
        while _signal_others():
            time.sleep(_SOON)  # who is hit may still be in the middle of a call

    def files_size(self, first: int, pids: list[int]) -> int:
        for pid in pids:
            try:
                return sum(_used(f"/proc/{pid}/root{folder}") for folder in self.folders)
            except OSError:
                continue
        return 0


def _covered_by(folders: Iterable[str], plan: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Return the outermost paths in some folders that lead to what is shown, and the links."""
    links = plan["links"]
    outermost = {
        "/".join([folder, path.removeprefix(f"{folder}/").split("/")[0]])
        for folder in folders
        for path in (*plan["readable"], *links)
        if path.startswith(f"{folder}/")
    }
    return sorted(outermost - links.keys()), {
        path: links[path] for path in outermost & links.keys()
    }


def _watching(watch: FolderWatch | None, folders: Iterable[str]) -> FolderWatch | None:
    """Watch folders from now on; return None if that cannot be."""
    if watch is None:
        return None
    try:
        for folder in folders:
            watch.add(folder)
    except OSError:  # this user has as many as are allowed
        return None
    watch.has_seen()  # what we did
    return watch


def _folders_of(name: str) -> list[str]:
    """Return the folders that a file lies in, the outermost first."""
    return [name[:at] for at, letter in enumerate(name) if letter == "/"]


_kill_others = kernel.call("kill", -1, int(signal.SIGKILL))


def _signal_others() -> bool:
    """Kill all but the one who asks, in a namespace of processes; tell whether there were any."""
    return _kill_others() == 0


def have_children() -> bool:
    """Bury the children that are dead; tell whether there are others."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def send_signal(pid: int, number: int) -> None:
    """Send a signal to who may be gone."""
    try:
        os.kill(pid, number)
    except OSError:
        pass


def children() -> dict[int, list[int]]:
    """Return the children of all processes."""
    found: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue
            found.setdefault(parent, []).append(int(name))
    return found


def descendants(pid: int) -> list[int]:
    """Return all processes below one."""
    below, rest = [], [pid]
    family = children()
    while rest:
        next_ones = family.get(rest.pop(), [])
        below += next_ones
        rest += next_ones
    return below


def _used(folder: str) -> int:
    status = os.statvfs(folder)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def _sizes() -> tuple[int, int]:
    """Return how much this process has mapped, and how much of it is data, in bytes."""
    with open("/proc/self/statm", "rb") as file:
        fields = file.read().split()
    page = resource.getpagesize()
    return int(fields[0]) * page, int(fields[5]) * page


def _highest(kind: int) -> int:
    most = resource.getrlimit(kind)[1]
    return (1 << 63) - 1 if most == resource.RLIM_INFINITY else most


_HIGHEST = {
    getattr(resource, name): _highest(getattr(resource, name))
    for name in dir(resource)
    if name.startswith("RLIMIT_")
}


def limit(kind: int, soft: int, hard: int | None = None) -> Step:
    """Return what sets a limit, to the nearest that may be set; ``hard`` is ``soft`` if None."""
    highest = _HIGHEST[kind]
    limits = min(soft, highest), min(soft if hard is None else hard, highest)
    return partial(resource.setrlimit, kind, limits)


def _restart_ids() -> list[Step]:
    """Return what has process ids begin anew for the next program, if that can be had."""
    try:
        last = os.open(_LAST_PID, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return []
    return [kernel.call("pwrite", last, _INIT, len(_INIT), 0)]
