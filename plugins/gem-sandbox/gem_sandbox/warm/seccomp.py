"""Which system calls a program may make, as a BPF program for the kernel.

An allowlist: what is not named fails, whatever future kernels add. Made by the host, so that the
sandbox needs no code for it. The numbers are sorted into ranges and searched by halves, as the
kernel runs this at every call and, for each number, when it is installed.
"""

import platform
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping

from gem_sandbox.warm.syscalls import ALLOWED, ROOM_ONLY

__all__ = ["MACHINES", "call_filter", "room_filters"]

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The processors that there is a list for, by what the kernel calls them."""

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
"""Reading what a process was told, naming it and its memory; NO_NEW_PRIVS, DUMPABLE."""
_SET_DUMPABLE = 4
_FILE_SIGNALS = (8, 10, 15)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX: they have the kernel send signals."""

Instruction = tuple[int, int, int, int]
"""Code, jump if true, jump if false, operand."""


def call_filter(machine: str = "", *, without: Collection[str] = ()) -> bytes:
    """Return the filter for a kind of processor, this one's by default.

    Args:
        machine: The processor, as the kernel calls it.
        without: Calls to forbid though they are on the list.
    """
    calls = {call: number for call, number in ALLOWED.items() if call not in without}
    return _allowing(calls, machine or platform.machine())


def room_filters(machine: str = "") -> tuple[bytes, bytes]:
    """Return the filter of a room, and the one that its programs put up besides.

    Most of the time that a filter takes to install goes with its length: so the long one is
    installed once, with what the room's first process needs, and a program forbids itself that.
    """
    name = machine or platform.machine()
    numbers = [number[name == "aarch64"] for number in ROOM_ONLY.values()]
    forbidden = [(_EQUAL, len(numbers) - at, 0, number) for at, number in enumerate(numbers)]
    steps = [(_LOAD, 0, 0, _NUMBER), *forbidden, (_RETURN, 0, 0, _ALLOW), _error(_EPERM)]
    return _allowing(ALLOWED | ROOM_ONLY, name), _packed(steps)


def _allowing(calls: Mapping[str, tuple[int, int | None]], machine: str) -> bytes:
    numbers = {call: number[machine == "aarch64"] for call, number in calls.items()}
    special = _special({call: number for call, number in numbers.items() if number is not None})
    plain = {n for c, n in numbers.items() if n is not None and n not in special}
    program = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, MACHINES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        *(step for number, steps in special.items() for step in _guard(number, steps)),
        *_search(_ranges(plain)),
    ]
    return _packed(program)


def _packed(program: Iterable[Instruction]) -> bytes:
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _special(numbers: dict[str, int]) -> dict[int, list[Instruction]]:
    """Return what decides about the calls whose arguments matter, by number."""
    return {
        numbers["clone3"]: [_error(_ENOSYS)],  # its flags cannot be seen: have clone used
        numbers["clone"]: _none_of(_argument(0), _NEW_NAMESPACES),
        numbers["fcntl"]: _not_one_of(1, _FILE_SIGNALS),
        numbers["ioctl"]: _one_of(1, _TERMINAL_AND_FILE, _ENOTTY),
        numbers["prctl"]: [
            _argument(0),
            (_EQUAL, 0, 3, _SET_DUMPABLE),
            _argument(1),
            (_EQUAL, 0, 1, 1),  # not 0: its memory would not be counted
            (_RETURN, 0, 0, _ALLOW),
            *_one_of(0, _PROCESS_OPTIONS, _EPERM),
        ],
        numbers["prlimit64"]: _one_of(0, (0,), _EPERM),
        numbers["socketpair"]: [
            _argument(0),
            (_EQUAL, 0, 3, _UNIX),
            _argument(1),
            (_AND, 0, 0, _SOCKET_KINDS),
            (_EQUAL, 1, 0, _STREAM),  # a datagram socket could write to any other one
            _error(_EPERM),
            (_RETURN, 0, 0, _ALLOW),
        ],
    }


def _argument(index: int) -> Instruction:
    return _LOAD, 0, 0, _ARGUMENTS + 8 * index


def _error(number: int) -> Instruction:
    return _RETURN, 0, 0, _ERROR | number


def _none_of(load: Instruction, bits: int) -> list[Instruction]:
    return [load, (_AND, 0, 0, bits), (_EQUAL, 0, 1, 0), (_RETURN, 0, 0, _ALLOW), _error(_EPERM)]


def _one_of(index: int, values: tuple[int, ...], otherwise: int) -> list[Instruction]:
    tests = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [_argument(index), *tests, _error(otherwise), (_RETURN, 0, 0, _ALLOW)]


def _not_one_of(index: int, values: tuple[int, ...]) -> list[Instruction]:
    tests = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [_argument(index), *tests, (_RETURN, 0, 0, _ALLOW), _error(_EPERM)]


def _guard(number: int, steps: list[Instruction]) -> Iterator[Instruction]:
    yield _EQUAL, 0, len(steps), number
    yield from steps


def _ranges(numbers: set[int]) -> list[tuple[int, bool]]:
    """Return where runs of allowed and of other numbers begin, the first at 0."""
    starts: list[tuple[int, bool]] = []
    for number in range(max(numbers) + 2):
        allowed = number in numbers
        if not starts or starts[-1][1] != allowed:
            starts.append((number, allowed))
    return starts


def _search(starts: list[tuple[int, bool]]) -> list[Instruction]:
    """Return a search by halves for the run that the loaded number is in."""
    if len(starts) == 1:
        return [(_RETURN, 0, 0, _ALLOW) if starts[0][1] else _error(_EPERM)]
    middle = len(starts) // 2
    low, high = _search(starts[:middle]), _search(starts[middle:])
    return [(_AT_LEAST, len(low), 0, starts[middle][0]), *low, *high]
