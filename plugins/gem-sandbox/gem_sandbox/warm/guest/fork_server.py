"""A fork server: runs one program for one input after another, each time in a new fork.

A fork copies each page that it writes to, which is most of the cost of a small run. So everything
that can be is done once, before the forks: the program is compiled, the system calls that isolate
a run are prepared, and files are written again only if something happened to them.
"""

import fcntl
import gc
import os
import socket
from collections.abc import Sequence
from typing import NoReturn

from gem_sandbox.warm.guest import kernel, program
from gem_sandbox.warm.guest.exit_status import ExitReport
from gem_sandbox.warm.guest.fd_passing import DescriptorReceiver
from gem_sandbox.warm.guest.isolation import Isolation
from gem_sandbox.warm.guest.kernel import Step
from gem_sandbox.warm.guest.messages import NO_MORE_TESTS, TEST, Request

__all__ = ["ForkServer"]

_LIKE_NEW, _NO_TIMES = 0o600, bytes(32)
_NO_INPUT = 113
"""The exit status of a fork that got no input; programs may also end with it."""


class ForkServer:
    """Runs a program again and again; made by the init process, used by a program's process.

    Args:
        link: The socket to the supervisor, which sends inputs and receives reports.
    """

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._report = ExitReport(TEST, link.fileno())
        self._input = DescriptorReceiver(link.fileno())
        self._close_others = kernel.closing_from(3)

    def serve(
        self,
        isolation: Isolation,
        request: Request,
        script: program.Script,
        outputs: Sequence[int],
    ) -> NoReturn:
        """Run a program for each standard input that arrives.

        Args:
            isolation: The isolation of each run.
            request: The program's limits, and the number of its runs.
            script: The program.
            outputs: The descriptors of standard output and standard error.
        """
        script.prepare()
        isolation.write_files(script.files)
        isolation.watch(script.files)
        fork, renewals = program.way_to_fork()
        isolate = [
            *renewals,
            kernel.call("setsid"),
            *isolation.steps(request, servers=1),
            self._input.receive,
        ]
        use_input = kernel.call("dup2", self._input.descriptor, 0)
        to_outputs = (kernel.call("dup2", each, at) for at, each in enumerate(outputs, 1))
        use_outputs = [*to_outputs, self._close_others]
        # A run may have left marks on the pipes that the next one writes to.
        resets = [step for each in outputs for step in _resets(each)]
        # Looked up once here, rather than by each fork.
        take, run, leave = kernel.take, script.run, program.leave
        wait, report, end_others = self._report.wait, [self._report.send], isolation.end_others
        gc.freeze()  # the collection at the end of each run skips these objects
        for number in range(request.tests):
            pid = fork()
            if pid == 0:
                take(isolate)
                if use_input() == -1:
                    os._exit(_NO_INPUT)
                take(use_outputs)
                leave(run())
            if pid < 0:
                raise OSError("cannot fork")
            if number:
                take(report)
            while wait() != pid:
                pass
            if self._report.status == _NO_INPUT << 8 and self._is_over():
                os._exit(0)
            end_others()
            take(resets)
            if isolation.is_changed():
                isolation.clear()
                isolation.write_files(script.files)
                isolation.watch(script.files)
        take(report)
        os._exit(0)

    def _is_over(self) -> bool:
        """Return whether the supervisor wants no more runs."""
        try:
            if self._link.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != NO_MORE_TESTS:
                return False
            self._link.recv(1)
        except BlockingIOError:
            return False
        return True


def _resets(pipe: int) -> list[Step]:
    """Return steps that reset the flags, the mode and the times of a pipe."""
    return [
        kernel.call("fcntl", pipe, fcntl.F_SETFL, 0),
        kernel.call("fchmod", pipe, _LIKE_NEW),
        kernel.call("futimens", pipe, _NO_TIMES),
    ]
