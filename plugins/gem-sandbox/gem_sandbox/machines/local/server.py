"""The server of a host process: a process with one thread that forks machines.

It ends when the host process ends, however that happens, and all its machines end with it: the
kernel then drops their mounts, so nothing is left to clean up.
"""

import codecs
import contextlib
import gc
import marshal
import os
import select
import signal
import socket
import tarfile
from collections.abc import Callable
from typing import Any, NoReturn

from gem_sandbox.machines.local import jobs, root
from gem_sandbox.machines.local.calls import mount_with_ids
from gem_sandbox.machines.local.groups import Groups
from gem_sandbox.machines.local.messages import receive, send
from gem_sandbox.warm.guest import kernel

__all__ = ["main"]

_NOBODY = 65_534
_FIRST_USER, _USERS = 589_824, 65_536
"""The host's user and group ids that those of machines are mapped to, if root started the server:
ids that systemd leaves to containers."""
_NAMESPACES = (
    kernel.CLONE_NEWUSER
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNS
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
)


class MachineServer:
    """Forks machines.

    Args:
        channel: The socket to the host.
        skeleton: Folders, links and files of the default root file system.
        call_filter: The program that filters the system calls of machines.
    """

    def __init__(
        self, channel: socket.socket, skeleton: list[tuple[str, int, Any]], call_filter: bytes
    ) -> None:
        self._channel = channel
        self._lower: dict[str, str] = {}
        """Where the folders are that machines have below what they write."""
        self._users = -1
        """A descriptor of the user namespace by which files are seen; -1 if there is one user."""
        self._groups = Groups()
        self._running = set[int]()
        """The process ids of the machines' first processes."""
        self._outside = -1
        """A descriptor of the host's root, from which folders are seen that mounts of ours hide."""
        if os.geteuid() == 0:
            with contextlib.suppress(OSError):
                self._be_root()
        if self._users < 0:
            _be_one_user()
        self._mount_place()
        self._lower[""] = self._make_skeleton(skeleton)
        self._filter = kernel.CallFilter(call_filter)

    def _be_root(self) -> None:
        """Prepare to map users of machines to a range of the host's.

        Raises:
            OSError: The kernel or the file system cannot show files with other owners.
        """
        kernel.unshare(kernel.CLONE_NEWNS)
        users = _user_namespace()
        self._mount_place()
        os.mkdir(f"{root.AT}/try")
        source = os.open("usr", os.O_PATH, dir_fd=self._outside)
        try:
            mount_with_ids(source, f"{root.AT}/try", users)
        finally:
            os.close(source)
            os.close(self._outside)  # it is opened again where machines are made
            kernel.umount(root.AT)
        self._users = users

    def _mount_place(self) -> None:
        self._outside = os.open("/", os.O_PATH | os.O_CLOEXEC)  # in this namespace of mounts
        kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.mount("machines", root.AT, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=755")

    @property
    def _is_root(self) -> bool:
        return self._users >= 0

    def _make_skeleton(self, skeleton: list[tuple[str, int, Any]]) -> str:
        folder = f"{root.AT}/skeleton"
        os.mkdir(folder, 0o755)
        for path, mode, content in skeleton:
            place = folder + path
            if isinstance(content, str):
                os.symlink(content, place)
            elif content is None:
                os.makedirs(place, exist_ok=True)
                os.chmod(place, mode)
            else:
                with open(place, "wb") as file:
                    file.write(content)
                os.chmod(place, mode)
            if self._is_root:
                os.chown(place, _FIRST_USER, _FIRST_USER, follow_symlinks=False)
        if self._is_root:
            os.chown(folder, _FIRST_USER, _FIRST_USER)
        return folder

    def _shared(self, path: str) -> str:
        """Return where a folder of the host is, with its owners as machines see them."""
        if path not in self._lower:
            place = f"{root.AT}/lower{len(self._lower)}"
            os.mkdir(place)
            source = os.open(path.lstrip("/") or ".", os.O_PATH, dir_fd=self._outside)
            try:
                if self._is_root:
                    mount_with_ids(source, place, self._users)
                else:
                    kernel.mount(f"/proc/self/fd/{source}", place, None, kernel.MS_BIND)
            finally:
                os.close(source)
            self._lower[path] = place
        return self._lower[path]

    def serve(self, owner: int) -> NoReturn:
        """Start machines until the host process ends or hangs up."""
        ended, wakeup = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        poll = select.poll()
        for descriptor in (self._channel.fileno(), ended, os.pidfd_open(owner)):
            poll.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == ended:
                    os.read(ended, 512)
                    self._reap(os.WNOHANG)
                elif descriptor == self._channel.fileno():
                    plan, descriptors = receive(self._channel)
                    if plan is None:
                        self._end()
                    self._start(plan, descriptors)
                    for one in descriptors:
                        os.close(one)
                else:
                    self._end()

    def _reap(self, options: int) -> None:
        """Forget the machines that have ended."""
        with contextlib.suppress(ChildProcessError):
            while pid := os.waitpid(-1, options)[0]:
                self._running.discard(pid)
                self._groups.remove(pid)

    def _end(self) -> NoReturn:
        """End all machines, and this process."""
        try:
            for pid in self._running:
                os.kill(pid, signal.SIGKILL)
            self._reap(0)
        finally:
            os._exit(0)

    def _start(self, plan: dict[str, Any], descriptors: list[int]) -> None:
        source = descriptors[1] if plan["has_source"] else -1
        go_on, mapped = os.pipe()
        try:
            lower = [[self._shared(path)] for path in plan["mount_points"].values()]
            built = [f"{self._shared(place)}/{name}" for place, name in plan["built"]]
            for number, paths in enumerate(lower):
                found = [f"{one}/{number}" for one in reversed(built)]
                paths[:0] = [one for one in found if os.path.isdir(one)]
            network = kernel.CLONE_NEWNET if plan["network"] == "none" else 0
            pid = kernel.clone(_NAMESPACES | network)
            if pid == 0:
                os.close(mapped)
                control = socket.socket(fileno=descriptors[0])
                self._begin(control, plan, lower, source, built, go_on)
            self._running.add(pid)
            if self._is_root:
                _map_users(pid)
            self._groups.add(pid, cpus=plan["cpus"], memory=plan["memory"] + plan["disk"])
            os.write(mapped, b"!")
        except OSError as error:
            with (
                contextlib.suppress(OSError),
                socket.socket(fileno=os.dup(descriptors[0])) as control,
            ):
                send(control, {"error": str(error)})
        finally:
            os.close(go_on)
            os.close(mapped)

    def _begin(
        self,
        control: socket.socket,
        plan: dict[str, Any],
        lower: list[list[str]],
        source: int,
        built: list[str],
        go_on: int,
    ) -> NoReturn:
        """Become a machine's first process."""
        try:
            kernel.die_with_parent()
            if not os.read(go_on, 1):
                os._exit(1)
            signal.set_wakeup_fd(-1)
            if self._is_root:
                os.setgroups([])
                os.setresgid(0, 0, 0)
                os.setresuid(0, 0, 0)
            else:
                kernel.map_user(0, (0, 0))
            plan["one_user"] = not self._is_root
            # A mount belongs to its namespace, and the next one hides these folders.
            below = [[os.open(path, os.O_PATH) for path in paths] for paths in lower]
            folders = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in built]
            layers = root.mount_memory(plan["disk"])
            memory = os.memfd_create("before")
            _in_a_child(control, lambda: _enter(memory, plan, below, layers, source, folders))
            size = os.fstat(memory).st_size
            before = marshal.loads(os.pread(memory, size, 0)) if size else None  # noqa: S302 - ours
            root.isolate(self._filter)
            first, second = sorted((control.fileno(), layers))
            os.closerange(3, first)
            os.closerange(first + 1, second)
            kernel.close_from(second + 1)
            send(control, {"value": None})
            jobs.serve(control, plan, layers, before)
        except BaseException as error:  # noqa: BLE001 - the host hears of it; this process ends
            _refuse(control, error)
        finally:
            os._exit(1)


def _enter(memory: int, *arguments: Any) -> None:
    """Make the root file system; write down what ``root.enter`` returns."""
    if (before := root.enter(*arguments)) is not None:
        with os.fdopen(memory, "wb") as file:
            marshal.dump(before, file)


def _in_a_child(control: socket.socket, act: Callable[[], None]) -> None:
    """Do something in a child, whose memory is free afterwards; end with it if it fails."""
    pid = kernel.fork()
    if pid == 0:
        try:
            act()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - the host hears of it
            _refuse(control, error)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if status:
        os._exit(1)


def _refuse(control: socket.socket, error: BaseException) -> None:
    """Tell the host why there is no machine."""
    with contextlib.suppress(OSError):
        is_archive = not isinstance(error, tarfile.TarError)
        send(control, {"error": str(error), "is_archive": is_archive})


def _map_users(pid: int) -> None:
    """Map the users of a process's new user namespace to ids of the host."""
    for name in ("uid_map", "gid_map"):
        descriptor = os.open(f"/proc/{pid}/{name}", os.O_WRONLY)
        os.write(descriptor, f"0 {_FIRST_USER} {_USERS}".encode())
        os.close(descriptor)


def _be_one_user() -> None:
    """Enter a user namespace in which this user, and not root of the host, is root."""
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):  # in a user namespace already, root is not the host's
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
            kernel.take([kernel.dumpability(1)])  # else the mapping of users could not be written
    user = os.geteuid(), os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS)
    kernel.map_user(0, user)


def _user_namespace() -> int:
    """Return a descriptor of a user namespace that maps the ids of machines."""
    ready, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            kernel.unshare(kernel.CLONE_NEWUSER)
            os.write(go, b"!")
            signal.pause()
        finally:
            os._exit(1)
    os.close(go)
    try:
        if not os.read(ready, 1):
            raise OSError("no user namespace can be made")
        _map_users(pid)
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(ready)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _rehearse() -> None:
    """Do once what the first process of each machine does.

    What Python makes at the first call of a function is then there before the fork, in memory that
    all machines share.
    """
    codecs.lookup("ascii")  # in a machine, it would be read from the machine's files
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine, theirs:
        send(mine, {"value": [None]}, [mine.fileno()])
        _, descriptors = receive(theirs)
    with contextlib.suppress(OSError), socket.socket(fileno=descriptors[0]):
        kernel.mount("none", "/nowhere", "none", 0, "")
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.poll(0)
    jobs.Jobs({}, -1).is_idle  # noqa: B018


def main(channel: int, owner: int) -> None:
    """Run a server.

    Args:
        channel: The descriptor of the socket to the host.
        owner: The host's process id.
    """
    link = socket.socket(fileno=channel)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    os.setsid()
    _, descriptors = receive(link)
    gc.disable()
    try:
        with os.fdopen(descriptors[0], "rb") as file:
            file.seek(0)
            skeleton, call_filter = marshal.load(file)  # noqa: S302 - the host's
        server = MachineServer(link, skeleton, call_filter)
    except OSError as error:
        send(link, {"error": str(error)})
        return
    send(link, {"value": None})
    del skeleton, call_filter
    _rehearse()
    gc.collect()
    gc.freeze()
    server.serve(owner)
