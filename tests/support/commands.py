"""Processes that tests start: none outlives its test, and Ctrl-C ends each of them.

A shell starts what it runs in the background, as scripts and ``nohup`` do, with SIGINT ignored, and
that is passed on from process to process: a program that is started so is deaf to Ctrl-C.
"""

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

__all__ = ["Command", "end_commands", "hear_ctrl_c"]

_started: list["Command"] = []


class Command(subprocess.Popen):
    """A process that ends with its test, whether that passes or fails.

    A fixture of a wider scope uses ``subprocess.Popen``, and ends the process itself.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _started.append(self)

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:  # or it would be waited for
            self.end()
        super().__exit__(kind, *error)

    def end(self) -> None:
        """Kill the process and all that it has started, if it still runs."""
        if self.poll() is None:
            for pid in [*_descendants(self.pid), self.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.wait()


def end_commands() -> None:
    """End the processes of the test that is over."""
    while _started:
        command = _started.pop()
        command.end()
        for pipe in (command.stdin, command.stdout, command.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def hear_ctrl_c() -> None:
    """Have this process, and those that it starts, hear SIGINT, if it was started without."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [*_descendants(int(child)), int(child)]
    return found
