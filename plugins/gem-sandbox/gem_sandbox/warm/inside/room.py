"""A room, behind its walls: a first process that waits, and below it one program after the other.

The first process is the one with which the kernel ends all others of a process namespace. It runs
nothing of a program, so that signals, exit statuses and orphans are what they are elsewhere. When
a program has ended it kills and removes all that is left, and forks the process of the next one,
which puts up its walls and waits for its program: ahead, so that nobody waits for it.

All are forks of the zygote, which knows of no program; a program's process takes its program from
the supervisor by itself. So what a program can find in its memory is its own.
"""

import _signal  # type: ignore[import-not-found]
import fcntl
import gc
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from gem_sandbox.far import cells
from gem_sandbox.warm.inside import kernel, program
from gem_sandbox.warm.inside.messages import (
    END,
    OVER,
    RUN,
    SESSION,
    TEST,
    TESTS,
    Request,
    pack_end,
    pack_request,
    unpack_request,
)
from gem_sandbox.warm.inside.passing import receive, receive_one, send, use
from gem_sandbox.warm.inside.walls import Walls

__all__ = ["be_first", "place", "rehearse"]

set_signal = _signal.signal
"""``signal.signal`` without the enumerations, which take long."""

_LINK = 3
_PIECES, _ANSWERS = 3, 4
_OUT_OF_THE_WAY = 64
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_REHEARSALS = 20
_REHEARSED = b"""\
try:
    a, b = map(int, input().split())
except EOFError:
    print(sum(range(10)))
"""
_NO_TEST = 113 << 8
"""Wait status of who waited for a test when there was none; programs may end with it too."""


def be_first(walls: Walls, limits: dict[str, int], link: int) -> NoReturn:
    """Be the first process of a room.

    It does little: what it has touched is copied for it after each fork.

    Args:
        walls: What to put up.
        limits: What is the same for all programs of the room.
        link: Descriptor of a socket to the supervisor.
    """
    kernel.die_with_parent()
    kernel.set_dumpable(0)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGINT):
        set_signal(number, _signal.SIG_DFL)
    place([0, 1, 2, link])
    walls.begin(limits)
    with socket.socket(fileno=_LINK) as supervisor:
        while True:
            walls.furnish()
            pid = program.fork()
            if pid == 0:
                _be_next(walls, supervisor)
            status, usage = _see_end(pid)
            walls.finish()
            supervisor.send(pack_end(END, status, usage))


def rehearse(walls: Walls) -> None:
    """Do in vain, in the zygote, what the process of a program does.

    The interpreter adapts code that runs often and keeps what it has looked up: that takes time
    and touches memory, which each program's process would otherwise do anew.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    request = pack_request(Request(0, 0, 0, _REHEARSED, supply_names=True)._asdict())
    argv = sys.argv[:]
    for _ in range(_REHEARSALS):
        walls.rehearse()
        send(ours, TEST, [0])
        stdin = receive_one(theirs)
        if stdin is not None:
            os.close(stdin)
        send(ours, RUN + request, [0, 1, 2])
        _, received, passed = _receive_request(theirs)
        _run_script("", received)
        program.drop_main()
        program.flush()
        del sys.path[0]
        for descriptor in passed:
            os.close(descriptor)
    sys.argv[:] = argv
    ours.close()
    theirs.close()


def _see_end(pid: int) -> tuple[int, resource.struct_rusage]:
    """Wait for the end of a child; bury the orphans that come here too."""
    ended, status, usage = os.wait4(-1, 0)
    while ended != pid:
        ended, status, usage = os.wait4(-1, 0)
    return status, usage


def place(descriptors: Sequence[int]) -> None:
    """Have these descriptors as 0, 1, 2 and so on, and no others."""
    copies = [fcntl.fcntl(each, fcntl.F_DUPFD, _OUT_OF_THE_WAY) for each in descriptors]
    for number, descriptor in enumerate(copies):
        os.dup2(descriptor, number)
    kernel.close_from(len(copies))


def _be_next(walls: Walls, link: socket.socket) -> NoReturn:
    """Wait for a program, and be it."""
    try:
        os.setsid()
        set_signal(signal.SIGINT, signal.default_int_handler)
        walls.enter()
        kind, request, passed = _receive_request(link)
        if kind == TESTS:
            _run_tests(walls, request, link, passed[1:])
        if kind == RUN:
            _lay_files(walls, request)
        walls.restrict(request)
        use(passed)
        program.leave(_serve_pieces() if kind == SESSION else _run_script(walls.folder, request))
    except BaseException:  # noqa: BLE001 - of ours: to who looks into a sandbox that fails
        traceback.print_exc()
    os._exit(1)


def _receive_request(link: socket.socket) -> tuple[bytes, Request, list[int]]:
    """Wait for what to run, and for descriptors; end when none can come any more."""
    message, passed = receive(link)
    if not message:
        os._exit(0)
    kind, content = message[:1], message[1:]
    if not content:
        file = passed.pop(0)
        content = os.pread(file, os.fstat(file).st_size, 0)
    return kind, unpack_request(content), passed


def _serve_pieces() -> int:
    cells.serve(_PIECES, _ANSWERS)
    return 0


def _run_script(folder: str, request: Request) -> int:
    script = _script(folder, request)
    script.prepare()
    return script.run()


def _script(folder: str, request: Request) -> program.Script:
    return program.Script(
        request.source,
        f"{folder}/{program.FILE}",
        arguments=request.arguments,
        supply_names=request.supply_names,
    )


def _run_tests(
    walls: Walls, request: Request, link: socket.socket, outputs: Sequence[int]
) -> NoReturn:
    """Run one program for each standard input that comes, compiled once.

    What a test touches is copied for it, page by page, and that is most of what it costs: so all
    is done here, once, that need not be done by each.
    """
    script = _script(walls.folder, request)
    script.prepare()
    gc.collect()
    gc.freeze()
    _lay_files(walls, request)
    end = b""
    for _ in range(request.tests):
        pid = program.fork()
        if pid == 0:
            _be_test(walls, request, script, link, outputs)
        if end:  # tidy up while the next one puts up its walls, and waits
            walls.clear()
            _lay_files(walls, request)
            link.send(end)
        _, status, usage = os.wait4(pid, 0)
        if status == _NO_TEST and _is_over(link):
            os._exit(0)
        walls.end_others()
        for descriptor in outputs:  # not to be what the program may have set
            fcntl.fcntl(descriptor, fcntl.F_SETFL, 0)
        end = pack_end(TEST, status, usage)
    link.send(end)
    os._exit(0)


def _is_over(link: socket.socket) -> bool:
    """Tell whether the supervisor wants no more tests."""
    try:
        if link.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != OVER:
            return False
        link.recv(1)
    except BlockingIOError:
        return False
    return True


def _be_test(
    walls: Walls,
    request: Request,
    script: program.Script,
    link: socket.socket,
    outputs: Sequence[int],
) -> NoReturn:
    """Wait for a standard input, behind all walls; be the program."""
    os.setsid()
    walls.restrict(request, servers=1)
    stdin = receive_one(link)
    if stdin is None:
        os._exit(_NO_TEST >> 8)
    use((stdin, *outputs))
    program.leave(script.run())


def _lay_files(walls: Walls, request: Request) -> None:
    for name, content in request.files.items():
        path = f"{walls.folder}/{name}"
        if "/" in name:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        _write(walls, path, content)
    _write(walls, f"{walls.folder}/{program.FILE}", request.source)


def _write(walls: Walls, path: str, content: bytes) -> None:
    descriptor = os.open(path, _NEW, 0o644)
    os.write(descriptor, content)
    walls.give(descriptor)
    os.close(descriptor)
