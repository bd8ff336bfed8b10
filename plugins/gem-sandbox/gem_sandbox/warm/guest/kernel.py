"""System calls that Python has no function for, made through ``ctypes``.

The interpreter's lock is held during each call, so a process made by ``clone`` starts with it held.
"""

import ctypes
import errno
import fcntl
import os
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

__all__ = [
    "CLONE_NEWIPC",
    "CLONE_NEWNET",
    "CLONE_NEWNS",
    "CLONE_NEWPID",
    "CLONE_NEWUSER",
    "CLONE_NEWUTS",
    "LANDLOCK_SIGNALS_ABI",
    "LANDLOCK_TRUNCATION_ABI",
    "MNT_DETACH",
    "MS_BIND",
    "MS_NODEV",
    "MS_NOEXEC",
    "MS_NOSUID",
    "MS_PRIVATE",
    "MS_RDONLY",
    "MS_REC",
    "MS_RELATIME",
    "MS_REMOUNT",
    "MS_STRICTATIME",
    "CallFilter",
    "FolderWatch",
    "Step",
    "call",
    "clone",
    "close_from",
    "closing_from",
    "die_with_parent",
    "drop_bounding_set",
    "dropping_capabilities",
    "dumpability",
    "fork",
    "keep_reading_rights",
    "landlock_abi",
    "landlock_restriction",
    "landlock_rules",
    "map_user",
    "merge_mappings",
    "mount",
    "no_new_privileges",
    "pivot_root",
    "remount",
    "set_subreaper",
    "take",
    "umount",
    "unshare",
]

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MS_RELATIME, MS_STRICTATIME = 1 << 21, 1 << 24
MNT_DETACH = 2
_KEPT_FLAGS = MS_NOSUID | MS_NODEV | MS_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME
LANDLOCK_TRUNCATION_ABI = 3
"""The first version of Landlock that restricts changes of the sizes of files."""
LANDLOCK_SIGNALS_ABI = 6
"""The first version of Landlock that restricts signals and abstract sockets."""

_SIGCHLD = 17
_NUMBERS = {
    "x86_64": {"clone": 56, "pivot_root": 155, "seccomp": 317},
    "aarch64": {"clone": 220, "pivot_root": 41, "seccomp": 277},
}
_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446
_CLOSE_RANGE = 436
_NO_DESCRIPTOR = (1 << 31) - 1
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_KEEPCAPS, _PR_CAPBSET_DROP = 1, 4, 8, 24
_PR_SET_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 36, 38, 47
_CAP_DAC_READ_SEARCH = 2
_OUT_OF_THE_WAY = 128
_LANDLOCK_VERSION = 1
_RULE_PATH_BENEATH = 1
_SECCOMP_FILTER = 1
_READ_WRITE, _READ_EXECUTE = 3, 5
_EVENTS = 1 << 12
"""The size in bytes of the buffer for events."""
_ANYTHING = 0x1 | 0x2 | 0x4 | 0x20 | 0xFC0
"""Read, changed, attributes changed, opened, moved, created, removed.

To be read or changed, a file must be opened, except that its times can be set by its name.
"""
_CAPABILITY_VERSION = 0x20080522
_OWN_CAPABILITIES = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
_NO_CAPABILITIES = bytes(24)
# The number of access rights to files since a version of Landlock; and the rights to ports.
_FILE_RIGHTS = ((1, 13), (2, 14), (3, 15), (5, 16))
_PORTS, _PORTS_ABI = 0b11, 4
_SCOPES = 0b11
_READ, _ON_FILES = 0b1101, 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15

_c = ctypes.PyDLL(None, use_errno=True)
_c.syscall.restype = ctypes.c_long
_numbers = _NUMBERS.get(os.uname().machine, {})

_plain = ctypes.PyDLL(None)  # keeps no error numbers
_OFTEN = (
    *("capset", "mount", "umount2", "inotify_add_watch"),
    *(
        "chdir",
        "dup2",
        "fchmod",
        "fcntl",
        "futimens",
        "kill",
        "open",
        "prctl",
        "pwrite",
        "read",
        "recvmsg",
        "setsid",
    ),
    *("syscall", "unlink", "wait4", "write"),
)
for _name in _OFTEN:  # looked up now: a lookup in each fork would touch every library
    getattr(_c, _name), getattr(_plain, _name)

Step = Callable[[], object]
"""A prepared action; it returns -1 if it fails."""


def call(name: str, *arguments: Any) -> Callable[..., int]:
    """Return a prepared call of a function of the C library; it returns -1 if it fails.

    A forked process copies each page of memory that it writes to, which takes 2 to 3 µs. So the
    function is looked up and its arguments are built before the fork, and ``errno`` is not saved.
    """
    return partial(getattr(_plain, name), *arguments)


fork = call("_Fork" if hasattr(_plain, "_Fork") else "fork")
"""Fork without the handlers that the interpreter runs after a fork; return -1 on failure."""


def take(steps: Iterable[Step]) -> None:
    """Take steps, one after another.

    Raises:
        OSError: A step failed.
    """
    for step in steps:
        if step() == -1:
            what = getattr(getattr(step, "func", step), "__name__", step)
            raise OSError(f"failed: {what}")


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def clone(flags: int) -> int:
    """Fork into new namespaces; for a process with one thread.

    The interpreter does not run its handlers after this fork: they are for threads and random
    numbers, and take as long as the fork itself. It does when the new process calls ``os.fork``.
    """
    return int(_check(_c.syscall(_numbers["clone"], flags | _SIGCHLD, 0, 0, 0, 0), "clone"))


def merge_mappings() -> None:
    """Map each library in two pieces instead of five, because a fork takes time for each piece.

    Read-only pieces become executable like the code beside them, and pieces that are written only
    while a library is linked stay writable, like the data after them.
    """
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        pieces = [line.split(maxsplit=5) for line in file]
    for (addresses, rights, _, _, inode, *path), (_, following, *_, after) in pairwise(pieces):
        if rights == "r--p" and inode != "0" and ".so" in path[0]:
            is_data = "w" in following and after == path[0]
            start, end = (int(address, 16) for address in addresses.split("-"))
            right = _READ_WRITE if is_data else _READ_EXECUTE
            call("mprotect", ctypes.c_void_p(start), ctypes.c_size_t(end - start), right)()


def unshare(flags: int) -> None:
    """Move this process into new namespaces; its children into a new namespace of process ids."""
    _check(_c.unshare(flags), "unshare")


def map_user(inside: int, outside: tuple[int, int]) -> None:
    """Map a user and group of this process's new user namespace to the outer ones."""
    user, group = outside
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{inside} {user} 1"),
        ("gid_map", f"{inside} {group} 1"),
    ):
        descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(descriptor, text.encode())
        os.close(descriptor)


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """Mount a file system."""
    result = _c.mount(
        source.encode() if source else None,
        target.encode(),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        data.encode() if data else None,
    )
    _check(result, f"mount {target}")


def remount(target: str, flags: int) -> None:
    """Add flags to a mount."""
    now = os.statvfs(target).f_flag
    kept = now & _KEPT_FLAGS  # a user namespace may not clear these
    if not now & os.ST_NOATIME:
        kept |= MS_RELATIME if now & os.ST_RELATIME else MS_STRICTATIME
    mount(None, target, None, MS_REMOUNT | MS_BIND | flags | kept)


def umount(target: str) -> None:
    """Detach a mount."""
    _check(_c.umount2(target.encode(), MNT_DETACH), f"umount {target}")


def pivot_root(root: str, old: str) -> None:
    """Make a mount the root file system; the old root is at ``old``, below it."""
    _check(_c.syscall(_numbers["pivot_root"], root.encode(), old.encode()), "pivot_root")
    os.chdir("/")


def die_with_parent(signal_number: int = 9) -> None:
    """Make the kernel kill this process when the thread that started it ends."""
    _c.prctl(_PR_SET_PDEATHSIG, signal_number)


def dumpability(flag: int) -> Step:
    """Return a step that lets other processes of this user inspect this one (1), or not (0)."""
    return call("prctl", _PR_SET_DUMPABLE, flag)


def set_subreaper() -> None:
    """Become the parent of all orphaned descendants."""
    _check(_c.prctl(_PR_SET_SUBREAPER, 1), "subreaper")


def no_new_privileges() -> None:
    """Make ``exec`` grant no privileges, in this process and its descendants."""
    _check(_c.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def drop_bounding_set() -> None:
    """Make ``exec`` grant no capabilities, in this process and its descendants."""
    number = 0
    while _c.prctl(_PR_CAPBSET_DROP, number) == 0:
        number += 1


def dropping_capabilities() -> Step:
    """Return a step that gives up all capabilities."""
    return call("capset", _OWN_CAPABILITIES, _NO_CAPABILITIES)


def keep_reading_rights(change_user: Callable[[], None]) -> None:
    """Change from root to another user that may still read all files, also after ``exec``."""
    right = 1 << _CAP_DAC_READ_SEARCH
    have = ctypes.create_string_buffer(24)
    _check(_c.capget(_OWN_CAPABILITIES, have), "capget")
    effective, permitted, _, *high = struct.unpack("=6I", have.raw)
    inheriting = struct.pack("=6I", effective, permitted, right, *high)
    _check(_c.capset(_OWN_CAPABILITIES, inheriting), "capset")
    drop_bounding_set()
    _check(_c.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0), "keepcaps")
    change_user()
    _check(_c.capset(_OWN_CAPABILITIES, struct.pack("=3I12x", right, right, right)), "capset")
    _check(_c.prctl(_PR_CAP_AMBIENT, 2, _CAP_DAC_READ_SEARCH, 0, 0), "ambient capability")


_has_close_range = _plain.syscall(_CLOSE_RANGE, _NO_DESCRIPTOR, _NO_DESCRIPTOR, 0) == 0


def closing_from(first: int) -> Step:
    """Return a step that closes all descriptors from ``first`` on."""
    if _has_close_range:
        return call("syscall", _CLOSE_RANGE, first, 0xFFFFFFFF, 0)
    return partial(os.closerange, first, 1 << 12)


def close_from(first: int) -> None:
    """Close all descriptors from ``first`` on."""
    take([closing_from(first)])


def landlock_abi() -> int:
    """Return the version of Landlock of this kernel, 0 if it has none."""
    return max(0, int(_c.syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_VERSION)))


def landlock_rules(abi: int, *, readable: Sequence[str], writable: Sequence[str]) -> int:
    """Return the descriptor of rules: read and execute, write, no ports, no signals."""
    rights = (1 << max(count for version, count in _FILE_RIGHTS if version <= abi)) - 1
    ports = _PORTS if abi >= _PORTS_ABI else 0
    scopes = _SCOPES if abi >= LANDLOCK_SIGNALS_ABI else 0
    words = [rights] + ([ports] if ports else []) + ([scopes] if scopes else [])
    attributes = struct.pack(f"={len(words)}Q", *words)
    rules = _check(_c.syscall(_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0), "landlock")
    for paths, allowed in ((readable, _READ), (writable, rights & ~_DEVICES)):
        for path in paths:
            _add_rule(rules, path, allowed & rights)
    moved = fcntl.fcntl(rules, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY)
    os.close(rules)
    return moved


_DEVICES = 1 << 6 | 1 << 11 | 1 << 15  # making devices, and ioctl on them


def _add_rule(rules: int, path: str, allowed: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.EACCES, errno.ENOTDIR}:
            return  # the program cannot reach it either
        raise
    if not os.path.isdir(path):
        allowed &= _ON_FILES
    rule = struct.pack("=Qi", allowed, descriptor)
    result = _c.syscall(_LANDLOCK_ADD_RULE, rules, _RULE_PATH_BENEATH, rule, 0)
    os.close(descriptor)
    _check(result, f"landlock rule for {path}")


def landlock_restriction(rules: int) -> Step:
    """Return a step that restricts a process and its descendants to the rules."""
    return call("syscall", _LANDLOCK_RESTRICT_SELF, rules, 0)


class FolderWatch:
    """Sees whether files in some folders, but not below those, were opened or changed (inotify).

    Closing one that watches a folder takes the kernel 12 ms, so it is kept as long as possible.

    Raises:
        OSError: The user has as many as are allowed.
    """

    def __init__(self) -> None:
        flags = os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = _check(_c.inotify_init1(flags), "inotify")
        self._watch = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY)
        os.close(descriptor)
        buffer = ctypes.create_string_buffer(_EVENTS)
        self._read = call("read", self._watch, buffer, _EVENTS)

    def add(self, folder: str) -> None:
        """Watch a folder until it is removed."""
        _check(_c.inotify_add_watch(self._watch, folder.encode(), _ANYTHING), folder)

    def has_seen(self) -> bool:
        """Return whether anything happened since the last call."""
        happened = False
        while self._read() > 0:
            happened = True
        return happened


class CallFilter:
    """A filter of system calls.

    Args:
        program: A BPF program, 8 bytes for each instruction.
    """

    def __init__(self, program: bytes) -> None:
        self._program = ctypes.create_string_buffer(program, len(program))
        address = ctypes.addressof(self._program)
        header = struct.pack("=HxxxxxxQ", len(program) // 8, address)
        number = _numbers.get("seccomp", -1)
        self.apply = call("syscall", number, _SECCOMP_FILTER, 0, header)
        """A step that installs the filter, for this process and its descendants."""
