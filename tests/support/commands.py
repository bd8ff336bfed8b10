"""Processes that tests start: each ends with its test, and Ctrl-C ends each of them.

A shell starts background processes with SIGINT ignored, and so does ``nohup``. Child processes
inherit it, so that Ctrl-C would not end them.
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

    A fixture with a wider scope uses ``subprocess.Popen`` and ends the process itself.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _started.append(self)

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:  # otherwise Popen would wait for it
            self.end()
        super().__exit__(kind, *error)

    def end(self) -> None:
        """Kill the process and all its descendants, if it is still running."""
        if self.poll() is None:
            for pid in [*_descendants(self.pid), self.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.wait()


def end_commands() -> None:
    """End the processes of the test that has ended."""
    while _started:
        command = _started.pop()
        command.end()
        for pipe in (command.stdin, command.stdout, command.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def hear_ctrl_c() -> None:
    """Restore the default handling of SIGINT in this process, if it is ignored."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [*_descendants(int(child)), int(child)]
    return found
