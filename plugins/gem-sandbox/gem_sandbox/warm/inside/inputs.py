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

__all__ = ["Inputs"]

_NO_INPUT = 113
"""Exit status of who waited for an input when there was none; programs may end with it too."""


class Inputs:
    """Runs programs again and again; made by a room's first process, for its programs' to use.

    Args:
        link: To the supervisor: inputs come from there, and the ends of runs are told.
    """

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._end = End(TEST, link.fileno())
        self._slot = Slot(link.fileno())
        self._close_others = kernel.closing_from(3)

    def serve(
        self, walls: Walls, request: Request, script: program.Script, outputs: Sequence[int]
    ) -> NoReturn:
        """Run a program for each standard input that comes.

        Args:
            walls: What to put up round each run.
            request: What it may use, and how often it runs.
            script: The program.
            outputs: Descriptors of standard output and error.
        """
        script.prepare()
        walls.lay(script.files)
        walls.watch(script.files)
        fork, renewals = program.way_to_fork()
        put_up = [
            *renewals,
            kernel.call("setsid"),
            *walls.steps(request, servers=1),
            self._slot.receive,
        ]
        use_input = kernel.call("dup2", self._slot.descriptor, 0)
        to_outputs = (kernel.call("dup2", each, at) for at, each in enumerate(outputs, 1))
        use_outputs = [*to_outputs, self._close_others]
        # The program may have set flags on what the next one writes to.
        resets = [kernel.call("fcntl", each, fcntl.F_SETFL, 0) for each in outputs]
        # Found here, once, rather than by each process that looks them up.
        take, run, leave = kernel.take, script.run, program.leave
        wait, tell, end_others = self._end.wait, [self._end.tell], walls.end_others
        gc.freeze()  # for the collection at the end of each run to leave alone
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
                take(tell)
            while wait() != pid:
                pass
            if self._end.status == _NO_INPUT << 8 and self._is_over():
                os._exit(0)
            end_others()
            take(resets)
            if walls.is_changed():
                walls.clear()
                walls.lay(script.files)
                walls.watch(script.files)
        take(tell)
        os._exit(0)

    def _is_over(self) -> bool:
        """Tell whether the supervisor wants no more runs."""
        try:
            if self._link.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != OVER:
                return False
            self._link.recv(1)
        except BlockingIOError:
            return False
        return True
