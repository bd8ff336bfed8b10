"""Walls of Landlock and the filter alone, where no namespaces can be had: see the threat model.

Runs share the host's processes, its network namespace and its files' names; what they may open,
signal and call is restricted. Started by root, each run is a user of its own.
"""

import contextlib
import os
import resource
import signal
from collections.abc import Collection
from functools import partial
from typing import Any, NoReturn

from gem_sandbox.warm.inside import folders, kernel
from gem_sandbox.warm.inside.kernel import Step
from gem_sandbox.warm.inside.messages import Request
from gem_sandbox.warm.inside.walls import (
    Walls,
    children,
    descendants,
    have_children,
    limit,
    send_signal,
)

__all__ = ["ConfinedWalls"]

_FIRST_USER, _USERS, _APART = 59_000, 1_000, 618
_BASE = "/tmp/gem-sandbox-"  # noqa: S108 - by process id, and made with care
_MOST_ENTRIES = 1 << 14
_TOO_MUCH = 1 << 62


class ConfinedWalls(Walls):
    """A folder, a user if possible, and rules."""

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

    def next_room(self, slot: int) -> None:
        if self._as_root:
            # The runs of two zygotes are to be different users: what a user has is counted.
            self._user = _FIRST_USER + (_APART * os.getpid() + slot) % _USERS

    def sweep(self, known: Collection[int]) -> None:
        for pid in children().get(os.getpid(), []):
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

    def furnish(self) -> None:
        os.mkdir(self.folder, 0o700)
        if self._as_root:
            os.chown(self.folder, self._user, self._user)
        self._permit(readable=[*self._readable, *self._devices])

    def _folder(self, first: int) -> str:
        return f"{self._base}/{first}"

    def _stop(self, *_: object) -> NoReturn:
        """End a run, when the supervisor asks for it."""
        self.finish()
        os._exit(0)

    def end_others(self) -> None:
        while have_children():
            below = descendants(os.getpid())
            for number in (signal.SIGSTOP, signal.SIGKILL):  # who stands still does not fork
                for pid in below:
                    send_signal(pid, number)

    def finish(self) -> None:
        self.end_others()
        folders.remove(self.folder)

    def give(self, descriptor: int) -> None:
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
        # Not ahead: who serves forks has them change user, and kills what that user leaves.
        steps = [self._be_user, *self._room_limits(self._limits), self._filter.apply]
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
        kernel.die_with_parent()  # a change of user would take that back

    def _change_user(self) -> None:
        os.setresuid(self._user, self._user, self._user)

    def _limit_of_tasks(self, processes: int, servers: int) -> Step:
        if self._as_root:
            return limit(resource.RLIMIT_NPROC, processes)
        return partial(_limit_new_tasks, processes)

    def files_size(self, first: int, pids: list[int]) -> int:
        """Return the bytes of all files; very many files count as too much."""
        total = count = 0
        for at, _, names in os.walk(self._folder(first)):
            count += len(names) + 1
            if count > _MOST_ENTRIES:
                return _TOO_MUCH
            for name in names:
                with contextlib.suppress(OSError):
                    total += os.lstat(f"{at}/{name}").st_blocks << 9
        return total


def _limit_new_tasks(number: int) -> None:
    """Limit the tasks of a user who is the host's own, and whose others count too."""
    with open("/proc/loadavg", encoding="ascii") as file:
        others = file.read().split()[3].split("/")[1]
    kernel.take([limit(resource.RLIMIT_NPROC, number + int(others))])


def _make_base() -> str:
    """Make the folder of this zygote's runs; remove those of zygotes that were killed."""
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
