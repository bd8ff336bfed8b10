"""Isolation by Landlock and the filter alone, without namespaces; see the threat model.

Runs can see the host's processes, network namespace and names of files; what they may open, signal
and call is restricted. If root started the zygote, each run has a user id of its own.
"""

import contextlib
import os
import resource
import signal
from collections.abc import Collection
from functools import partial
from typing import Any, NoReturn

from gem_sandbox.guest.process_tree import children, descendants
from gem_sandbox.warm.guest import folders, kernel
from gem_sandbox.warm.guest.isolation import Isolation, have_children, limit, send_signal
from gem_sandbox.warm.guest.kernel import Step
from gem_sandbox.warm.guest.messages import Request

__all__ = ["ConfinedIsolation"]

_FIRST_USER, _USERS, _APART = 59_000, 1_000, 618
_BASE = "/tmp/gem-sandbox-"  # noqa: S108 - by process id, and made with care
_MAX_ENTRIES = 1 << 14
_TOO_MUCH = 1 << 62


class ConfinedIsolation(Isolation):
    """Isolation by a folder, Landlock rules and, for root, a user per run."""

    end_signal = signal.SIGTERM

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__(plan)
        if not self._landlock:
            raise OSError("this kernel has no Landlock")
        self._as_root = plan["as_root"]
        self._for_root_only = plan["for_root_only"]
        self._devices = plan["devices"]
        self._base = _make_base()
        self._user = os.getuid()
        self._limits: dict[str, int] = {}
        kernel.set_subreaper()

    def prepare_scope(self, slot: int) -> None:
        if self._as_root:
            # Also the runs of two zygotes must differ: the kernel counts processes by user.
            self._user = _FIRST_USER + (_APART * os.getpid() + slot) % _USERS

    def sweep(self, known: Collection[int]) -> None:
        for pid in children(os.getpid()):
            if pid not in known:
                for lost in (*descendants(pid), pid):
                    send_signal(lost, signal.SIGKILL)

    def end(self) -> None:
        self.end_others()
        folders.remove(self._base)

    def begin(self, limits: dict[str, int]) -> None:
        kernel.set_subreaper()
        self._limits = limits
        self.folder = self._folder(os.getpid())
        self.folders = (self.folder,)
        signal.signal(signal.SIGTERM, self._stop)

    def set_up_mounts(self) -> None:
        os.mkdir(self.folder, 0o700)
        if self._as_root:
            os.chown(self.folder, self._user, self._user)
        self._permit(readable=[*self._readable, *self._devices])

    def _folder(self, init: int) -> str:
        return f"{self._base}/{init}"

    def _stop(self, *_: object) -> NoReturn:
        """End a run, at the supervisor's request, which may be repeated."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.finish()
        os._exit(0)

    def end_others(self) -> None:
        while have_children():
            below = descendants(os.getpid())
            for number in (signal.SIGSTOP, signal.SIGKILL):  # a stopped process does not fork
                for pid in below:
                    send_signal(pid, number)

    def finish(self) -> None:
        self.end_others()
        folders.remove(self.folder)

    def give_to_program(self, descriptor: int) -> None:
        if self._as_root:
            os.fchown(descriptor, self._user, self._user)

    def first_steps(self) -> list[Step]:
        return [self._enter]

    def _enter(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        kernel.set_subreaper()
        os.chdir(self.folder)
        for name in ("HOME", "TMPDIR"):
            os.environ[name] = self.folder

    def steps(self, request: Request, *, servers: int = 0) -> list[Step]:
        # Late: a fork server stays root, to kill what its forks leave; the forks change user.
        steps = [self._be_user, *self._scope_limits(self._limits), self._filter.apply]
        return [*steps, *super().steps(request, servers=servers)]

    def _be_user(self) -> None:
        if self._as_root:
            os.setgroups([])
            os.setresgid(self._user, self._user, self._user)
        if self._as_root and self._for_root_only:
            kernel.keep_reading_rights(self._change_user)
        else:
            if self._as_root:
                kernel.drop_bounding_set()
            self._change_user()
            kernel.take([kernel.dropping_capabilities()])
        kernel.die_with_parent()  # again: a change of user resets it

    def _change_user(self) -> None:
        os.setresuid(self._user, self._user, self._user)

    def _limit_of_tasks(self, processes: int, servers: int) -> Step:
        if self._as_root:
            return limit(resource.RLIMIT_NPROC, processes)
        return partial(_limit_new_tasks, processes)

    def files_size(self, init: int, pids: list[int]) -> int:
        """Return the bytes of all files; a huge number if there are too many files."""
        total = count = 0
        for at, _, names in os.walk(self._folder(init)):
            count += len(names) + 1
            if count > _MAX_ENTRIES:
                return _TOO_MUCH
            for name in names:
                with contextlib.suppress(OSError):
                    total += os.lstat(f"{at}/{name}").st_blocks << 9
        return total


def _limit_new_tasks(number: int) -> None:
    """Limit the tasks of the host's own user: the kernel counts the user's other tasks too."""
    with open("/proc/loadavg", encoding="ascii") as file:
        others = file.read().split()[3].split("/")[1]
    kernel.take([limit(resource.RLIMIT_NPROC, number + int(others))])


def _make_base() -> str:
    """Create the folder of this zygote's runs; remove the folders of zygotes that were killed."""
    parent, start = os.path.split(_BASE)
    for name in os.listdir(parent):
        pid = name.removeprefix(start)
        if pid.isdigit() and pid != name and not os.path.exists(f"/proc/{pid}"):
            old = f"{parent}/{name}"
            if os.lstat(old).st_uid == os.getuid():
                folders.remove(old)
    base = f"{_BASE}{os.getpid()}"
    os.mkdir(base, 0o711)
    return base
