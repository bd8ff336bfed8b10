"""An isolation scope: an init process, and below it one program after another.

The init process is process 1 of its namespace. It runs no code of programs, so for them signals,
exit statuses and orphans behave as everywhere else. When a program has ended, the init process
kills and removes everything that is left, and forks the process of the next program, which isolates
itself in advance and waits for its program.

All are forks of the zygote, which never sees a program; a program's process receives its program
directly from the supervisor. So a program can find in its memory only what is its own.
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

from gem_sandbox.guest import cells
from gem_sandbox.warm.guest import kernel, program
from gem_sandbox.warm.guest.exit_status import ExitReport
from gem_sandbox.warm.guest.fd_passing import receive, send, use
from gem_sandbox.warm.guest.fork_server import ForkServer
from gem_sandbox.warm.guest.isolation import Isolation
from gem_sandbox.warm.guest.kernel import Step
from gem_sandbox.warm.guest.messages import (
    END,
    RUN,
    SESSION,
    TESTS,
    Request,
    pack_request,
    unpack_request,
)

__all__ = ["renumber", "run_init", "warm_up"]

set_signal = _signal.signal
"""``signal.signal`` without its conversion to enumerations, which is slow."""

_LINK = 3
_PIECES, _ANSWERS = 3, 4
_OUT_OF_THE_WAY = 64
_WARM_UPS = 20
_WARM_UP_SOURCE = b"""\
a, b = map(int, input().split())
print(a + b, sum(range(10)))
"""
_WARM_UP_INPUT = b"1 2\n"


def run_init(isolation: Isolation, limits: dict[str, int], link: int) -> NoReturn:
    """Be the init process of an isolation scope.

    It does little: each page that it writes to is copied after each fork.

    Args:
        isolation: The isolation of its programs.
        limits: The limits that all its programs have.
        link: The descriptor of a socket to the supervisor.
    """
    kernel.die_with_parent()
    kernel.take([kernel.dumpability(0)])
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGINT):
        set_signal(number, _signal.SIG_DFL)
    renumber([0, 1, 2, link])
    isolation.begin(limits)
    report = ExitReport(END, _LINK)
    fork, renewals = program.way_to_fork()
    interruptible: Step = partial(set_signal, signal.SIGINT, signal.default_int_handler)
    first_steps = [*renewals, kernel.call("setsid"), interruptible, *isolation.first_steps()]
    with socket.socket(fileno=_LINK) as supervisor:
        fork_server = ForkServer(supervisor)
        gc.freeze()
        while True:
            isolation.set_up_mounts()
            pid = fork()
            if pid == 0:
                _run_program(first_steps, isolation, supervisor, fork_server)
            if pid < 0:
                raise OSError("cannot fork")
            while report.wait() != pid:
                pass  # an orphan
            isolation.finish()
            kernel.take([report.send])


def warm_up(isolation: Isolation) -> None:
    """Warm up: do in the zygote, without effect, what the process of a program does.

    The interpreter specialises code that runs often, and caches lookups. That takes time and
    writes to memory, which each program's process would otherwise do again.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    request = pack_request(Request(0, 0, 0, _WARM_UP_SOURCE, supply_names=True)._asdict())
    argv, stdin, some = sys.argv[:], os.dup(0), os.memfd_create("input")
    os.write(some, _WARM_UP_INPUT)
    os.dup2(some, 0)
    for _ in range(_WARM_UPS):
        sys.stdin.seek(0)
        program.fresh_main()
        isolation.warm_up()
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


def renumber(descriptors: Sequence[int]) -> None:
    """Renumber descriptors to 0, 1, 2 and so on, and close all others."""
    copies = [fcntl.fcntl(each, fcntl.F_DUPFD, _OUT_OF_THE_WAY) for each in descriptors]
    for number, descriptor in enumerate(copies):
        os.dup2(descriptor, number)
    kernel.close_from(len(copies))


def _run_program(
    first_steps: Sequence[Step],
    isolation: Isolation,
    link: socket.socket,
    fork_server: ForkServer,
) -> NoReturn:
    """Wait for a program, and become it."""
    try:
        kernel.take(first_steps)
        kind, request, passed = _receive_request(link)
        script = _script(isolation.folder, request)
        if kind == TESTS:
            fork_server.serve(isolation, request, script, passed[1:])
        if kind == RUN:
            isolation.write_files_once(script.files)
        kernel.take(isolation.steps(request))
        use(passed)
        if kind == SESSION:
            cells.serve(_PIECES, _ANSWERS)
            program.leave(0)
        script.prepare()
        gc.freeze()  # the collection at the end skips these objects
        program.leave(script.run())
    except BaseException:  # noqa: BLE001 - an error of ours, for debugging
        traceback.print_exc()
    os._exit(1)


def _receive_request(link: socket.socket) -> tuple[bytes, Request, list[int]]:
    """Wait for a request and its descriptors; exit when the supervisor is gone."""
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
