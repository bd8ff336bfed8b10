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
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

from gem_sandbox.far import cells
from gem_sandbox.warm.inside import kernel, program
from gem_sandbox.warm.inside.ends import End
from gem_sandbox.warm.inside.inputs import Inputs
from gem_sandbox.warm.inside.kernel import Step
from gem_sandbox.warm.inside.messages import (
    END,
    RUN,
    SESSION,
    TESTS,
    Request,
    pack_request,
    unpack_request,
)
from gem_sandbox.warm.inside.passing import receive, send, use
from gem_sandbox.warm.inside.walls import Walls

__all__ = ["be_first", "place", "rehearse"]

set_signal = _signal.signal
"""``signal.signal`` without the enumerations, which take long."""

_LINK = 3
_PIECES, _ANSWERS = 3, 4
_OUT_OF_THE_WAY = 64
_REHEARSALS = 20
_REHEARSED = b"""\
a, b = map(int, input().split())
print(a + b, sum(range(10)))
"""
_REHEARSED_INPUT = b"1 2\n"


def be_first(walls: Walls, limits: dict[str, int], link: int) -> NoReturn:
    """Be the first process of a room.

    It does little: what it has touched is copied for it after each fork.

    Args:
        walls: What to put up.
        limits: What is the same for all programs of the room.
        link: Descriptor of a socket to the supervisor.
    """
    kernel.die_with_parent()
    kernel.take([kernel.dumpability(0)])
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGINT):
        set_signal(number, _signal.SIG_DFL)
    place([0, 1, 2, link])
    walls.begin(limits)
    end = End(END, _LINK)
    fork, renewals = program.way_to_fork()
    interruptible: Step = partial(set_signal, signal.SIGINT, signal.default_int_handler)
    first_steps = [*renewals, kernel.call("setsid"), interruptible, *walls.first_steps()]
    with socket.socket(fileno=_LINK) as supervisor:
        inputs = Inputs(supervisor)
        gc.freeze()
        while True:
            walls.furnish()
            pid = fork()
            if pid == 0:
                _be_next(first_steps, walls, supervisor, inputs)
            if pid < 0:
                raise OSError("cannot fork")
            while end.wait() != pid:
                pass  # an orphan that came here
            walls.finish()
            kernel.take([end.tell])


def rehearse(walls: Walls) -> None:
    """Do in vain, in the zygote, what the process of a program does.

    The interpreter adapts code that runs often and keeps what it has looked up: that takes time
    and touches memory, which each program's process would otherwise do anew.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    request = pack_request(Request(0, 0, 0, _REHEARSED, supply_names=True)._asdict())
    argv, stdin, some = sys.argv[:], os.dup(0), os.memfd_create("input")
    os.write(some, _REHEARSED_INPUT)
    os.dup2(some, 0)
    for _ in range(_REHEARSALS):
        sys.stdin.seek(0)
        program.fresh_main()
        walls.rehearse()
        send(ours, RUN + request, [0, 1, 2])
        _, received, passed = _receive_request(theirs)
        script = _script("", received)
        script.prepare()
        gc.freeze()
        script.run()
        program.drop_main()
        program.flush()
        del sys.path[0]
        for descriptor in passed:
            os.close(descriptor)
    gc.unfreeze()
    sys.argv[:] = argv
    sys.stdin.seek(0)
    os.dup2(stdin, 0)
    for descriptor in (stdin, some):
        os.close(descriptor)
    ours.close()
    theirs.close()


def place(descriptors: Sequence[int]) -> None:
    """Have these descriptors as 0, 1, 2 and so on, and no others."""
    copies = [fcntl.fcntl(each, fcntl.F_DUPFD, _OUT_OF_THE_WAY) for each in descriptors]
    for number, descriptor in enumerate(copies):
        os.dup2(descriptor, number)
    kernel.close_from(len(copies))


def _be_next(
    first_steps: Sequence[Step], walls: Walls, link: socket.socket, inputs: Inputs
) -> NoReturn:
    """Wait for a program, and be it."""
    try:
        kernel.take(first_steps)
        kind, request, passed = _receive_request(link)
        script = _script(walls.folder, request)
        if kind == TESTS:
            inputs.serve(walls, request, script, passed[1:])
        if kind == RUN:
            walls.lay_for_one_run(script.files)
        kernel.take(walls.steps(request))
        use(passed)
        if kind == SESSION:
            cells.serve(_PIECES, _ANSWERS)
            program.leave(0)
        script.prepare()
        gc.freeze()  # for the collection at the end to leave alone
        program.leave(script.run())
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


def _script(folder: str, request: Request) -> program.Script:
    return program.Script(
        request.source,
        folder,
        files=request.files,
        arguments=request.arguments,
        supply_names=request.supply_names,
    )
