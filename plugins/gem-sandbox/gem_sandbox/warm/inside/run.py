"""A run, behind its walls: a first process that waits, and the program's process below it.

The first process is the one with which the kernel ends all others of a process namespace. It runs
nothing of the program, so that signals, exit statuses and orphans are what they are elsewhere.
Both are forks of the zygote, which knows of no program: what a run can find in its memory is its
own. The program's process puts up the walls, takes what it needs from its supervisor through a
socket, closes that, and becomes the program.
"""

import _signal  # type: ignore[import-not-found]
import fcntl
import gc
import marshal
import os
import signal
import socket
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from gem_core.workers.frames import CHUNK, FrameReader
from gem_sandbox.far import cells
from gem_sandbox.warm.inside import kernel, program
from gem_sandbox.warm.inside.messages import SESSION, TESTS, pack_end
from gem_sandbox.warm.inside.passing import receive_one
from gem_sandbox.warm.inside.walls import Walls

__all__ = ["be_first"]

set_signal = _signal.signal
"""``signal.signal`` without the enumerations, which take long."""

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
    pid = program.fork()
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
        set_signal(signal.SIGCHLD, _signal.SIG_DFL)
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
            _become(walls, request, partial(_run_script, walls, request))
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
    set_signal(signal.SIGINT, signal.default_int_handler)
    program.reseed()
    walls.restrict(request)
    program.leave(main())


def _serve_pieces() -> int:
    cells.serve(_CHANNEL, _CHANNEL + 1)
    return 0


def _run_script(walls: Walls, request: dict[str, Any]) -> int:
    script = _script(walls, request)
    script.prepare()
    return script.run()


def _script(walls: Walls, request: dict[str, Any]) -> program.Script:
    return program.Script(
        request["source"],
        f"{walls.folder}/{program.FILE}",
        arguments=request["arguments"],
        supply_names=request["supply_names"],
    )


def _run_tests(walls: Walls, request: dict[str, Any]) -> None:
    """Run one program for each set of standard streams that comes, compiled once.

    What a test touches is copied for it, page by page, and that is most of what it costs: so all
    is done here, once, that need not be done by each.
    """
    os.close(_CHANNEL)
    with socket.socket(fileno=_CHANNEL + 1) as channel:
        outputs = _CHANNEL + 2, _CHANNEL + 3
        walls.enter(request)
        script = _script(walls, request)
        set_signal(signal.SIGINT, signal.default_int_handler)
        walls.restrict_forks(request)
        script.prepare()
        gc.freeze()
        for _ in range(request["tests"]):
            walls.clear()
            _lay_files(walls, request)
            pid = program.fork()
            if pid == 0:
                _be_test(walls, request, script, channel, outputs)
            _, status, usage = os.wait4(pid, 0)
            walls.end_others()
            for descriptor in outputs:  # not to be what the program may have set
                fcntl.fcntl(descriptor, fcntl.F_SETFL, 0)
            channel.sendall(pack_end(status, usage))


def _be_test(
    walls: Walls,
    request: dict[str, Any],
    script: program.Script,
    channel: socket.socket,
    outputs: Sequence[int],
) -> NoReturn:
    """Wait for a standard input, behind all walls; be the program."""
    os.setsid()
    program.reseed()
    walls.restrict(request)
    stdin = receive_one(channel)
    if stdin is None:
        os._exit(0)
    streams = stdin, *outputs
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    kernel.close_from(len(streams))
    program.leave(script.run())


def _lay_files(walls: Walls, request: dict[str, Any]) -> None:
    for name, content in {**request["files"], program.FILE: request["source"]}.items():
        path = f"{walls.folder}/{name}"
        if "/" in name:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(descriptor, content)
        walls.give(descriptor)
        os.close(descriptor)
