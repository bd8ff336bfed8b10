"""One program that runs for one input after the other, each time in a fork of its own.

What a process touches is copied for it, page by page, and that is most of what a run for a small
input costs. So all that can be is done once, and before: the program is compiled, the calls that
put up the walls are made ready, and files are laid anew only if something happened to them.
"""

import fcntl
import gc
import os
import socket
from collections.abc import Sequence
from typing import NoReturn

from gem_sandbox.warm.inside import kernel, program
from gem_sandbox.warm.inside.ends import End
from gem_sandbox.warm.inside.messages import OVER, TEST, Request
from gem_sandbox.warm.inside.passing import Slot
from gem_sandbox.warm.inside.walls import Walls

__all__ = ["serve_inputs"]

_NO_INPUT = 113
"""Exit status of who waited for an input when there was none; programs may end with it too."""


def serve_inputs(
    walls: Walls,
    request: Request,
    script: program.Script,
    link: socket.socket,
    outputs: Sequence[int],
) -> NoReturn:
    """Run a program for each standard input that comes.

    Args:
        walls: What to put up round each run.
        request: What it may use, and how often it runs.
        script: The program.
        link: To the supervisor: inputs come from there, and the ends of runs are told.
        outputs: Descriptors of standard output and error.
    """
    script.prepare()
    walls.lay(script.files)
    walls.watch(script.files)
    fork, renewals = program.way_to_fork()
    end, slot = End(TEST, link.fileno()), Slot(link.fileno())
    put_up = [*renewals, kernel.call("setsid"), *walls.steps(request, servers=1), slot.receive]
    use_input = kernel.call("dup2", slot.descriptor, 0)
    to_outputs = (kernel.call("dup2", each, at) for at, each in enumerate(outputs, 1))
    use_outputs = [*to_outputs, kernel.closing_from(3)]
    # The program may have set flags on what the next one writes to.
    resets = [kernel.call("fcntl", each, fcntl.F_SETFL, 0) for each in outputs]
    # Found here, once, rather than by each process that looks them up.
    take, run, leave = kernel.take, script.run, program.leave
    wait, tell = end.wait, end.tell
    end_others, is_changed = walls.end_others, walls.is_changed
    gc.collect()
    gc.freeze()
    for number in range(request.tests):
        pid = fork()
        if pid == 0:
            take(put_up)
            if use_input() == -1:
                os._exit(_NO_INPUT)
            take(use_outputs)
            leave(run())
        if pid < 0:
            raise OSError("cannot fork")
        if number:
            tell()
        while wait() != pid:
            pass
        if end.status == _NO_INPUT << 8 and _is_over(link):
            os._exit(0)
        end_others()
        take(resets)
        if is_changed():
            walls.clear()
            walls.lay(script.files)
            is_changed()  # by us
    tell()
    os._exit(0)


def _is_over(link: socket.socket) -> bool:
    """Tell whether the supervisor wants no more runs."""
    try:
        if link.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != OVER:
            return False
        link.recv(1)
    except BlockingIOError:
        return False
    return True
