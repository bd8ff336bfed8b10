"""Make the filter of system calls: a BPF program for the kernel.

The filter is an allowlist: other calls fail, including those of future kernels. The host makes it,
so the guest needs no code for that. The numbers are sorted into ranges and found by binary search,
because the kernel runs the filter for every call, and for each number when it is installed.
"""

import platform
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from gem_sandbox.warm.syscalls import ALLOWED, INIT_ONLY, MACHINE_ONLY

__all__ = ["MACHINES", "call_filter", "machine_filter", "scope_filters"]

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The supported processors, with the numbers by which the kernel identifies them."""

_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS, _ENOTTY = 1, 38, 25
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16
_NEW_NAMESPACES = 0x7E020080
"""CLONE_NEW* of any kind."""
_SOCKET_KINDS = 0xF
_UNIX, _STREAM = 1, 1
_TERMINAL_AND_FILE = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""
_PROCESS_OPTIONS = (2, 3, 15, 16, 21, 38, 39, 0x53564D41)
"""PR_GET_PDEATHSIG, GET_DUMPABLE, SET_NAME, GET_NAME, GET_SECCOMP, *_NO_NEW_PRIVS, SET_VMA."""
_SET_DUMPABLE = 4
_THREAD, _EXIT_SIGNAL, _SIGCHLD = 0x00010000, 0xFF, 17
"""CLONE_THREAD, and the bits of ``clone`` that choose the signal at the end of a child."""
_DESCRIPTOR = (0, 1, 2, 3, 4, 9, 11, 1030, 1032)
"""F_DUPFD, GETFD, SETFD, GETFL, SETFL, GETOWN, GETSIG, DUPFD_CLOEXEC, GETPIPE_SZ.

Others make the kernel send signals, or leave something on a pipe or a file that others use: sizes
of pipes, leases, hints, notifications.
"""
_TYPING = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which type into a terminal."""
_OTHER_FAMILIES = (38, 40)
"""AF_ALG and AF_VSOCK, which reach the kernel's ciphers and the host of a virtual machine."""
_LOCKS = (5, 6, 7, 36, 37, 38)
"""F_GETLK, SETLK, SETLKW, and the same for open file descriptions."""

Instruction = tuple[int, int, int, int]
"""Code, jump if true, jump if false, operand."""


def call_filter(machine: str = "", *, without: Collection[str] = (), locks: bool = False) -> bytes:
    """Return the filter for a kind of processor.

    Args:
        machine: A key of ``MACHINES``; empty for the processor of this machine.
        without: Calls of ``ALLOWED`` to forbid.
        locks: Whether to allow locks on files. They reach everybody who has the same file, so this
            is for programs that share no file with others, not even one that they only read.
    """
    calls = {call: number for call, number in ALLOWED.items() if call not in without}
    return _allowing(calls, machine or platform.machine(), locks=locks)


def scope_filters(machine: str = "") -> tuple[bytes, bytes]:
    """Return the filter of an isolation scope, and the additional one of its programs.

    Installing a filter takes time in proportion to its length. So the long one is installed once,
    by the init process, and allows what that process needs; each program then installs a short one
    that forbids just those calls.
    """
    name = machine or platform.machine()
    numbers = [number[name == "aarch64"] for number in INIT_ONLY.values()]
    forbidden = [(_EQUAL, len(numbers) - at, 0, number) for at, number in enumerate(numbers)]
    steps = [(_LOAD, 0, 0, _NUMBER), *forbidden, (_RETURN, 0, 0, _ALLOW), _error(_EPERM)]
    return _allowing(ALLOWED | INIT_ONLY, name), _packed(steps)


def machine_filter(machine: str = "") -> bytes:
    """Return the filter of all processes of a machine, which are root in namespaces of their own.

    Args:
        machine: A key of ``MACHINES``; empty for the processor of this machine.
    """
    name = machine or platform.machine()
    calls = ALLOWED | MACHINE_ONLY
    numbers = {call: number[name == "aarch64"] for call, number in calls.items()}
    known = {call: number for call, number in numbers.items() if number is not None}
    special = {
        known["clone3"]: [_error(_ENOSYS)],
        known["clone"]: [
            _argument(0),
            (_AND, 0, 0, _NEW_NAMESPACES),
            (_EQUAL, 1, 0, 0),
            _error(_EPERM),
            (_RETURN, 0, 0, _ALLOW),
        ],
        known["ioctl"]: _none_of(1, _TYPING),
        known["socket"]: _none_of(0, _OTHER_FAMILIES),
    }
    return _program(set(known.values()), special, name)


def _allowing(
    calls: Mapping[str, tuple[int, int | None]], machine: str, *, locks: bool = False
) -> bytes:
    numbers = {call: number[machine == "aarch64"] for call, number in calls.items()}
    if not locks:
        del numbers["flock"]
    special = _special(
        {call: number for call, number in numbers.items() if number is not None},
        commands=_DESCRIPTOR + _LOCKS if locks else _DESCRIPTOR,
    )
    return _program({number for number in numbers.values() if number is not None}, special, machine)


def _program(
    allowed: Collection[int], special: Mapping[int, Sequence[Instruction]], machine: str
) -> bytes:
    program = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, MACHINES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        *(step for number, steps in special.items() for step in _guard(number, steps)),
        *_search(_ranges(set(allowed) - special.keys())),
    ]
    return _packed(program)


def _packed(program: Iterable[Instruction]) -> bytes:
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _special(numbers: dict[str, int], *, commands: tuple[int, ...]) -> dict[int, list[Instruction]]:
    """Return the instructions for calls whose arguments matter, by number.

    Args:
        numbers: The numbers of the allowed calls.
        commands: The allowed commands of ``fcntl``.
    """
    return {
        numbers["clone3"]: [_error(_ENOSYS)],  # its flags are not visible; clone is used then
        numbers["clone"]: [
            _argument(0),
            (_AND, 0, 0, _NEW_NAMESPACES),
            (_EQUAL, 1, 0, 0),
            _error(_EPERM),
            _argument(0),
            (_AND, 0, 0, _THREAD | _EXIT_SIGNAL),
            (_EQUAL, 2, 0, _SIGCHLD),
            (_EQUAL, 1, 0, _THREAD),
            _error(_EPERM),  # another signal than SIGCHLD could continue a stopped process
            (_RETURN, 0, 0, _ALLOW),
        ],
        numbers["fcntl"]: _one_of(1, commands, _EPERM),
        numbers["ioctl"]: _one_of(1, _TERMINAL_AND_FILE, _ENOTTY),
        numbers["prctl"]: [
            _argument(0),
            (_EQUAL, 0, 3, _SET_DUMPABLE),
            _argument(1),
            (_EQUAL, 0, 1, 1),  # not 0: its memory could not be counted
            (_RETURN, 0, 0, _ALLOW),
            *_one_of(0, _PROCESS_OPTIONS, _EPERM),
        ],
        numbers["prlimit64"]: _one_of(0, (0,), _EPERM),
        numbers["socketpair"]: [
            _argument(0),
            (_EQUAL, 0, 3, _UNIX),
            _argument(1),
            (_AND, 0, 0, _SOCKET_KINDS),
            (_EQUAL, 1, 0, _STREAM),  # a datagram socket could write to any other socket
            _error(_EPERM),
            (_RETURN, 0, 0, _ALLOW),
        ],
    }


def _argument(index: int) -> Instruction:
    return _LOAD, 0, 0, _ARGUMENTS + 8 * index


def _error(number: int) -> Instruction:
    return _RETURN, 0, 0, _ERROR | number


def _one_of(index: int, values: tuple[int, ...], otherwise: int) -> list[Instruction]:
    tests = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [_argument(index), *tests, _error(otherwise), (_RETURN, 0, 0, _ALLOW)]


def _none_of(index: int, values: tuple[int, ...]) -> list[Instruction]:
    tests = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [_argument(index), *tests, (_RETURN, 0, 0, _ALLOW), _error(_EPERM)]


def _guard(number: int, steps: Sequence[Instruction]) -> Iterator[Instruction]:
    yield _EQUAL, 0, len(steps), number
    yield from steps


def _ranges(numbers: set[int]) -> list[tuple[int, bool]]:
    """Return the starts of ranges of allowed and of forbidden numbers, the first at 0."""
    starts: list[tuple[int, bool]] = []
    for number in range(max(numbers) + 2):
        allowed = number in numbers
        if not starts or starts[-1][1] != allowed:
            starts.append((number, allowed))
    return starts


def _search(starts: list[tuple[int, bool]]) -> list[Instruction]:
    """Return a binary search for the range of the loaded number."""
    if len(starts) == 1:
        return [(_RETURN, 0, 0, _ALLOW) if starts[0][1] else _error(_EPERM)]
    middle = len(starts) // 2
    low, high = _search(starts[:middle]), _search(starts[middle:])
    return [(_AT_LEAST, len(low), 0, starts[middle][0]), *low, *high]
