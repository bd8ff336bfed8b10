"""Runs a program that verifies a task, and notes when it first looks at the agent's work.

What fails before that is no fault of the agent. This file is started as a program, with the number
of a descriptor, to which a byte is written at the first look, the path of the program, and the
files and folders that are the agent's work. Only the standard library is imported, so that modules
beside the program come first.
"""

import functools
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

_FILES = ("open", "os.", "shutil.", "glob.", "pathlib.", "sqlite3.connect")
"""How events begin whose arguments have the paths of files."""
_LISTINGS = ("os.listdir", "os.scandir", "os.walk", "os.fwalk", "glob.")
_PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn")
"""Events after which another program may look."""
_NO_PATHS = {"os.putenv", "os.unsetenv"}


class Look:
    """Waits for the first look at the agent's work: at files of its folder, or its last message.

    Args:
        descriptor: Where to write a byte then.
        places: The agent's files and folders.
    """

    def __init__(self, descriptor: int, places: Sequence[str]) -> None:
        self._descriptor = descriptor
        self._files = {place for place in places if not Path(place).is_dir()}
        self._folders = {place for place in places if place not in self._files}
        self._has_looked = False

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take an event of the interpreter, as ``sys.addaudithook`` sends it."""
        if self._has_looked:
            return
        if event.startswith(_PROGRAMS):
            self._note()
        elif event.startswith(_FILES) and event not in _NO_PATHS:
            is_listing = event.startswith(_LISTINGS)
            for path in arguments[: 1 if event == "open" else 2]:
                self.see(path, of_folder=is_listing)

    def see(self, path: object, *, of_folder: bool = False) -> None:
        """Take the path of a file that the program asks for."""
        if path is None and of_folder:
            path = "."
        if self._has_looked or not isinstance(path, str | bytes | os.PathLike):
            return
        place = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - resolve() would look
        if (
            place in self._files
            or (of_folder and place in self._folders)
            or any(place.startswith(f"{folder}/") for folder in self._folders)
        ):
            self._note()

    def end(self) -> None:
        """Note nothing any more: the program has ended."""
        self._has_looked = True

    def _note(self) -> None:
        self._has_looked = True
        os.write(self._descriptor, b"!")


def _watch(look: Look) -> None:
    """Hear of all files that are asked for; there are no events for their status."""
    for name in ("stat", "lstat", "access", "readlink"):
        setattr(os, name, _seen(look, getattr(os, name)))
    sys.addaudithook(look.hear)


def _seen(look: Look, call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def seen(path: Any, *rest: Any, **options: Any) -> Any:
        look.see(path)
        return call(path, *rest, **options)

    return seen


def _show(
    look: Look, kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Show an exception without the calls of this file."""
    look.end()  # sources of the calls are looked for in the current folder too
    own = {__file__, runpy.__file__, runpy.run_path.__code__.co_filename}
    while trace is not None and trace.tb_frame.f_code.co_filename in own:
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


def main() -> None:
    """Run the program."""
    descriptor, program, places = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    os.set_inheritable(descriptor, False)
    sys.argv = [program]
    sys.path.insert(0, str(Path(program).parent))
    look = Look(descriptor, [os.path.realpath(place) for place in places])
    sys.excepthook = functools.partial(_show, look)
    _watch(look)
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
