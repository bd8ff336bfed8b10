"""A run, behind its walls: a first process that waits, and the program's process below it.

The first process is the one with which the kernel ends all others of a process namespace. It runs
nothing of the program, so that signals, exit statuses and orphans are what they are elsewhere.
Both are forks of the zygote, which knows of no program: what a run can find in its memory is its
own. The program's process puts up the walls, takes what it needs from its supervisor through a
socket, closes that, and becomes the program.
"""

import fcntl
import marshal
import os
import signal
import socket
import traceback
import types
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from gem_core.workers.frames import CHUNK, FrameReader
from gem_sandbox.far import cells
from gem_sandbox.warm.inside import kernel, program
from gem_sandbox.warm.inside.messages import SESSION, TESTS, pack_end
from gem_sandbox.warm.inside.passing import receive
from gem_sandbox.warm.inside.walls import Walls

__all__ = ["be_first"]

_CHANNEL = 3
_OUT_OF_THE_WAY = 64


def be_first(walls: Walls, descriptors: Sequence[int]) -> NoReturn:
    """Be the first process of a run.

    It does as little as it can: all that it touches is copied for it, and for the second one.

    Args:
        walls: What to put up.
        descriptors: Standard input, output and error, a channel to the supervisor, and more.
    """
    kernel.be_first_of_run()
    walls.begin()
    pid = os.fork()
    if pid == 0:
        _be_second(walls, descriptors)
    ended, status, usage = os.wait4(-1, 0)
    while ended != pid:  # orphans come here too
        ended, status, usage = os.wait4(-1, 0)
    walls.finish()
    try:
        os.write(descriptors[_CHANNEL], pack_end(status, usage))
    finally:
        os._exit(0)  # nobody listens any more where programs are run several times


def place(descriptors: Sequence[int]) -> None:
    """Have these descriptors as 0, 1, 2 and so on, and no others."""
    copies = [fcntl.fcntl(each, fcntl.F_DUPFD, _OUT_OF_THE_WAY) for each in descriptors]
    for number, descriptor in enumerate(copies):
        os.dup2(descriptor, number)
    kernel.close_from(len(copies))


def _be_second(walls: Walls, descriptors: Sequence[int]) -> NoReturn:
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        place(descriptors)
        kind, request = _take_request()
        if kind == TESTS:
            _run_tests(walls, request)
        elif kind == SESSION:
            place([0, 1, 2, *range(_CHANNEL + 1, len(descriptors))])
            walls.enter(request)
            _become(walls, request, _serve_pieces)
        else:
            os.close(_CHANNEL)
            walls.enter(request)
            _lay_files(walls, request)
            _become(walls, request, lambda: _run_script(walls, request, None))
    except BaseException:  # noqa: BLE001 - of ours: to who looks into a sandbox that fails
        traceback.print_exc()
    os._exit(1)


def _take_request() -> tuple[bytes, dict[str, Any]]:
    reader, frame = FrameReader(), None
    while frame is None:
        frame = reader.feed(os.read(_CHANNEL, CHUNK))
    return frame.kind, marshal.loads(frame.body)  # noqa: S302 - from our supervisor


def _become(walls: Walls, request: dict[str, Any], main: Callable[[], int]) -> NoReturn:
    """Give up all that a program must not have; be the program."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    program.reseed()
    walls.restrict(request)
    program.leave(main())


def _serve_pieces() -> int:
    cells.serve(_CHANNEL, _CHANNEL + 1)
    return 0


def _run_script(walls: Walls, request: dict[str, Any], code: types.CodeType | None) -> int:
    return program.run_script(
        request["source"],
        f"{walls.folder}/{program.FILE}",
        arguments=request["arguments"],
        code=code,
        supply_names=request["supply_names"],
    )


def _run_tests(walls: Walls, request: dict[str, Any]) -> None:
    """Run one program for each set of standard streams that comes, compiled once."""
    os.close(_CHANNEL)
    with socket.socket(fileno=_CHANNEL + 1) as channel:
        walls.enter(request)
        code = _compiled(walls, request)
        while True:
            message, streams = receive(channel)
            if not message:
                return
            walls.clear()
            _lay_files(walls, request)
            pid = os.fork()
            if pid == 0:
                _become(walls, request, partial(_run_test, walls, request, code, streams))
            for descriptor in streams:
                os.close(descriptor)
            _, status, usage = os.wait4(pid, 0)
            walls.end_others()
            channel.sendall(pack_end(status, usage))


def _run_test(
    walls: Walls, request: dict[str, Any], code: types.CodeType | None, streams: Sequence[int]
) -> int:
    place(streams)
    return _run_script(walls, request, code)


def _compiled(walls: Walls, request: dict[str, Any]) -> types.CodeType | None:
    try:
        path = f"{walls.folder}/{program.FILE}"
        return program.compile_script(request["source"], path)
    except Exception:  # noqa: BLE001 - each run of it will say so
        return None


def _lay_files(walls: Walls, request: dict[str, Any]) -> None:
    for name, content in {**request["files"], program.FILE: request["source"]}.items():
        path = f"{walls.folder}/{name}"
        if "/" in name:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(descriptor, content)
        walls.give(descriptor)
        os.close(descriptor)
