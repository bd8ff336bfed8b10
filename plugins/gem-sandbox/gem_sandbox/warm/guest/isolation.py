"""The isolation of a run from everything else: one class for each way that kernels offer.

The same object serves in the zygote, in supervisors and in runs, because all are forks of one
process. Its methods are grouped by the process that calls them.
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

from gem_sandbox.guest.process_tree import descendants
from gem_sandbox.warm.guest import folders, kernel
from gem_sandbox.warm.guest.kernel import FolderWatch, Step
from gem_sandbox.warm.guest.messages import Request
from gem_sandbox.warm.guest.program import MAIN

__all__ = [
    "OPEN_FILES",
    "Isolation",
    "NamespaceIsolation",
    "have_children",
    "limit",
    "send_signal",
]

_USER = 1000
_INIT_PROCESS = 1
"""The init process, which the kernel counts with the program's."""
_MOST_FILES = 1 << 14
OPEN_FILES = 256
"""The number of files that each process of a program may open."""
_SOON = 0.0002
_SHIELD = (resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE)
_SLACK = 1 << 30
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_MODE = 0o644
_UNREACHABLE = Request(file_size=1 << 62, cpu_time=1 << 32, processes=1 << 30)
"""Limits that nothing reaches; not higher, as the kernel counts CPU time in nanoseconds."""
_SCRATCH = "/tmp"  # noqa: S108 - private to the run
_QUIET = kernel.MS_NOSUID | kernel.MS_NODEV
_LAST_PID = "/proc/sys/kernel/ns_last_pid"
_INIT_PID = b"1"
"""The last process id, so the next process is 2."""


class Isolation(ABC):
    """The base class of all kinds of isolation.

    Args:
        plan: The host's configuration: ``filter`` (the BPF program for a program's process) and
            ``readable`` (paths).
    """

    clone_flags = 0
    end_signal = signal.SIGKILL
    """The signal to an init process that ends its isolation scope."""
    folder = _SCRATCH
    folders: tuple[str, ...] = (_SCRATCH, "/dev/shm")  # noqa: S108
    kept: Mapping[str, Collection[str]] = {}
    """Names in each folder that do not belong to the program."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._filter = kernel.CallFilter(plan["filter"])
        self._readable = plan["readable"]
        self._landlock = kernel.landlock_abi()
        self._rules = -1
        self._last_steps = [kernel.dumpability(1)]
        self._mapped = self._data = 0

    # In the zygote.

    def measure(self) -> None:
        """Measure the memory of the zygote, which is not charged to programs."""
        self._mapped, self._data = _sizes()

    def warm_up(self) -> None:
        """Warm up ``steps``: set limits that limit nothing."""
        kernel.take(self._limits_of(_UNREACHABLE, servers=0))

    def prepare_scope(self, slot: int) -> None:  # noqa: B027 - optional
        """Prepare for the next isolation scope, which a supervisor of this number asked for."""

    def sweep(self, known: Collection[int]) -> None:  # noqa: B027 - optional
        """Kill the orphans that have become children of the zygote; ``known`` are its own."""

    def end(self) -> None:  # noqa: B027 - optional
        """Remove everything that is left when the zygote ends."""

    # In the init process of an isolation scope.

    @abstractmethod
    def begin(self, limits: dict[str, int]) -> None:
        """Isolate this process and its descendants from everything else."""

    @abstractmethod
    def set_up_mounts(self) -> None:
        """Set up the next program's empty folders, and the rules that let it write there."""

    @abstractmethod
    def finish(self) -> None:
        """Kill and remove everything that a program has left."""

    @abstractmethod
    def first_steps(self) -> list[Step]:
        """Return the first steps of a program's process, before it receives the program."""

    # In the program's process, and in the fork server of a program with several inputs.

    @abstractmethod
    def end_others(self) -> None:
        """Kill all processes that a run has left."""

    def clear(self) -> None:
        """Remove the files of an earlier run of the same program."""
        for folder in self.folders:
            folders.empty(folder, self.kept.get(folder, ()))

    def write_files(self, files: Mapping[str, bytes]) -> None:
        """Write files, by name, into the program's folder."""
        for name, content in files.items():
            for folder in _folders_of(name):
                self._make_folder(f"{self.folder}/{folder}")
            descriptor = os.open(f"{self.folder}/{name}", _NEW, _MODE)
            os.write(descriptor, content)
            self.give_to_program(descriptor)
            os.close(descriptor)

    def write_files_once(self, files: Mapping[str, bytes]) -> None:
        """Write the files of a program that runs once."""
        self.write_files(files)

    def _make_folder(self, folder: str) -> None:
        """Create a folder that belongs to the program."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder)
            descriptor = os.open(folder, os.O_RDONLY)
            self.give_to_program(descriptor)
            os.close(descriptor)

    def watch(self, files: Iterable[str]) -> None:  # noqa: B027 - optional
        """Watch these files, by name, from now on."""

    def is_changed(self) -> bool:
        """Return whether files may have changed since the last call."""
        return True

    def give_to_program(self, descriptor: int) -> None:  # noqa: B027 - optional
        """Make a file or folder belong to the program."""

    def steps(self, request: Request, *, servers: int = 0) -> list[Step]:
        """Return the last steps of a process before the program: they take its rights away.

        Args:
            request: The program's limits.
            servers: The number of processes, besides the init process, that are counted with the
                program's and are not its own.
        """
        return [*self._limits_of(request, servers), *self._last_steps]

    def _permit(self, *, readable: Sequence[str]) -> None:
        """Let the following programs read only these paths, and write only to their folders."""
        if self._rules >= 0:
            os.close(self._rules)
        writable = [*self.folders, "/dev/null"]
        self._rules = kernel.landlock_rules(self._landlock, readable=readable, writable=writable)
        restriction = kernel.landlock_restriction(self._rules)
        self._last_steps = [kernel.dumpability(1), restriction]

    def _limits_of(self, request: Request, servers: int) -> list[Step]:
        """Return the steps that set the limits of one program."""
        return [
            limit(resource.RLIMIT_FSIZE, request.file_size),
            limit(resource.RLIMIT_CPU, request.cpu_time, request.cpu_time + 1),
            self._limit_of_tasks(request.processes, servers),
        ]

    @abstractmethod
    def _limit_of_tasks(self, processes: int, servers: int) -> Step:
        """Return a step that limits the program's user to ``processes`` tasks of the program."""

    def _scope_limits(self, limits: dict[str, int]) -> list[Step]:
        """Return the steps that limit a process and each of its descendants."""
        return [
            limit(resource.RLIMIT_DATA, self._data + limits["memory"]),
            limit(resource.RLIMIT_AS, self._mapped + limits["memory"] + _SLACK),
            limit(resource.RLIMIT_NOFILE, OPEN_FILES),
            *(limit(kind, 0) for kind in _SHIELD),
        ]

    # In a supervisor.

    def processes(self, init: int) -> list[int]:
        """Return the processes below an init process."""
        return descendants(init)

    @abstractmethod
    def files_size(self, init: int, pids: list[int]) -> int:
        """Return the bytes of a program's files."""


class NamespaceIsolation(Isolation):
    """Isolation by namespaces of users, processes, mounts and System V objects."""

    clone_flags = (
        kernel.CLONE_NEWUSER | kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC
    )

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__(plan)
        self._scope_filter = kernel.CallFilter(plan["scope_filter"])
        self._devices = plan["devices"]
        self._outside = os.getuid(), os.getgid()
        self.folder = plan["folder"]
        others = (each for each in Isolation.folders if each != self.folder)
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
        self._is_mounted = False
        self._watch: FolderWatch | None = None
        """Watches files between the runs of a program with several inputs."""
        self._scope_watch: FolderWatch | None = None
        """Watches files between programs."""

    def begin(self, limits: dict[str, int]) -> None:
        self._covered_at = {path: os.open(path, os.O_PATH) for path in self._covered}
        self._restart_ids = _restart_ids()
        kernel.take([kernel.dumpability(1)])  # or the files in /proc could not be written
        kernel.map_user(_USER, self._outside)
        kernel.take([kernel.dumpability(0)])
        kernel.mount("proc", "/proc", "proc", _QUIET | kernel.MS_NOEXEC, "subset=pid")
        for (
            device
        ) in self._devices:  # data can still be written, but not the host's modes and times
            kernel.remount(device, kernel.MS_RDONLY)
        with contextlib.suppress(OSError):  # this user has as many as are allowed
            self._watch = FolderWatch()
            self._scope_watch = FolderWatch()
        self._options = f"size={limits['disk']},nr_inodes={_MOST_FILES},mode=0700"
        kernel.take(self._scope_limits(limits))
        kernel.take([self._scope_filter.apply])

    def set_up_mounts(self) -> None:
        if not self._is_as_new():
            self._mount_anew()
        kernel.take(self._restart_ids)

    def _is_as_new(self) -> bool:
        """Return whether folders are as new after removing the last program's only file.

        New mounts, and rules for them, would take a tenth of the time of a small run.
        """
        if not self._is_mounted or self._scope_watch is None or self._scope_watch.has_seen():
            return False
        self._remove_main()
        self._scope_watch.has_seen()
        return True

    def _mount_anew(self) -> None:
        for folder in self.folders:
            if self._is_mounted:
                kernel.umount(folder)
            flags = _QUIET if folder == _SCRATCH else _QUIET | kernel.MS_NOEXEC
            kernel.mount("tmpfs", folder, "tmpfs", flags, self._options)
        self._is_mounted = True
        self._show_again()
        if self._landlock:
            self._permit(readable=["/"])
        self._scope_watch = _watching(self._scope_watch, self.folders)
        self._watch = _watching(self._watch, self.folders)

    def finish(self) -> None:
        while have_children():  # all processes of the scope are children of the init process
            _signal_others()
            time.sleep(_SOON)

    def first_steps(self) -> list[Step]:
        change_folder = kernel.call("chdir", self.folder.encode())
        return [kernel.dropping_capabilities(), change_folder, self._filter.apply]

    def _show_again(self) -> None:
        """Mount again what the empty folders cover: an interpreter or libraries below them.

        Their outermost folders are mounted as they are in the root, with all mounts below them, so
        that everything stays read-only, which is locked.
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
        return limit(resource.RLIMIT_NPROC, processes + servers + _INIT_PROCESS)

    def write_files_once(self, files: Mapping[str, bytes]) -> None:
        if self._scope_watch is None or len(files) > 1:
            self.write_files(files)
            return
        descriptor = self._open_main()
        os.write(descriptor, files[MAIN])
        os.close(descriptor)
        self._scope_watch.has_seen()  # ``set_up_mounts`` removes that file

    def watch(self, files: Iterable[str]) -> None:
        if any("/" in name for name in files):
            self._watch = None  # only the init process may watch, and it has no inner folders
        if self._watch is not None:
            self._watch.has_seen()  # discard what happened so far

    def is_changed(self) -> bool:
        return self._watch is None or self._watch.has_seen()

    def end_others(self) -> None:
        while _signal_others():
            time.sleep(_SOON)  # a killed process may still be finishing a system call

    def files_size(self, init: int, pids: list[int]) -> int:
        for pid in pids:
            try:
                return sum(_used(f"/proc/{pid}/root{folder}") for folder in self.folders)
            except OSError:
                continue
        return 0


def _covered_by(folders: Iterable[str], plan: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Return the outermost paths in the folders that lead to visible paths, and the links."""
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
    """Watch folders from now on; return None if that is not possible."""
    if watch is None:
        return None
    try:
        for folder in folders:
            watch.add(folder)
    except OSError:  # this user has as many as are allowed
        return None
    watch.has_seen()  # discard our own changes
    return watch


def _folders_of(name: str) -> list[str]:
    """Return the folders that contain a file, outermost first."""
    return [name[:at] for at, letter in enumerate(name) if letter == "/"]


_kill_others = kernel.call("kill", -1, int(signal.SIGKILL))


def _signal_others() -> bool:
    """Kill all other processes of the namespace but its init; return whether there were any."""
    return _kill_others() == 0


def have_children() -> bool:
    """Reap the children that are dead; return whether there are others."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def send_signal(pid: int, number: int) -> None:
    """Send a signal to a process, if it still exists."""
    try:
        os.kill(pid, number)
    except OSError:
        pass


def _used(folder: str) -> int:
    status = os.statvfs(folder)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def _sizes() -> tuple[int, int]:
    """Return the bytes that this process has mapped, and the bytes of data among them."""
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
    """Return a step that sets a limit, or the highest allowed; ``hard=None`` means ``soft``."""
    highest = _HIGHEST[kind]
    limits = min(soft, highest), min(soft if hard is None else hard, highest)
    return partial(resource.setrlimit, kind, limits)


def _restart_ids() -> list[Step]:
    """Return the steps that restart process ids for the next program, if that is possible."""
    try:
        last = os.open(_LAST_PID, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return []
    return [kernel.call("pwrite", last, _INIT_PID, len(_INIT_PID), 0)]
