"""The program's own process: behave like an interpreter that runs one script, and end like one."""

import _random
import atexit
import builtins
import gc
import os
import random
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

from gem_sandbox.warm.guest import kernel
from gem_sandbox.warm.guest.kernel import Step
from gem_workers.common_names import supply

__all__ = [
    "MAIN",
    "Script",
    "compile_script",
    "drop_main",
    "flush",
    "fresh_main",
    "leave",
    "way_to_fork",
]

MAIN = "main.py"
"""The name of a script's file."""
_INTERRUPTED = 130
_numbers: random.Random = random._inst  # noqa: SLF001
_seed = _random.Random.seed
"""The inner part of ``random.seed``, without its checks of the argument."""
_FLUSH_FAILED = 120


def compile_script(source: bytes, path: str) -> types.CodeType:
    """Compile a script like the interpreter does."""
    return compile(source, path, "exec", dont_inherit=True)


def fresh_main() -> None:
    """Create a new module ``__main__``."""
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins


def way_to_fork() -> tuple[Callable[[], int], list[Step]]:
    """Return the cheapest call that forks (-1 if it fails), and the first steps of the new process.

    The interpreter's handlers after a fork are for threads and random numbers, and write to, so
    copy, many pages: without threads they are left out.
    """
    numpy = sys.modules.get("numpy.random")
    renewals: list[Step] = [numpy.seed] if numpy else []
    if "threading" in sys.modules:
        return os.fork, renewals
    return kernel.fork, [partial(_seed, _numbers), *renewals]


class Script:
    """A program that is run as ``__main__``, by this process or by forks of it.

    Args:
        source: The source.
        folder: The working directory.
        files: The other files in it, by name.
        arguments: The command-line arguments.
        supply_names: Whether to supply common names that the program does not import.
    """

    def __init__(
        self,
        source: bytes,
        folder: str,
        *,
        files: Mapping[str, bytes],
        arguments: Sequence[str],
        supply_names: bool,
    ) -> None:
        self.files = {**files, MAIN: source}
        """The files of the working directory, by name."""
        self._source = source
        self._folder = folder
        self._path = f"{folder}/{MAIN}"
        self._arguments = arguments
        self._supply_names = supply_names
        self._code: types.CodeType | None = None
        self._namespace: dict[str, Any] = {}

    def prepare(self) -> None:
        """Do what all runs have in common, such as compiling; each run reports errors of that."""
        self._namespace = sys.modules["__main__"].__dict__  # new, so far unused
        self._namespace["__file__"] = self._path
        self._namespace["__cached__"] = None
        sys.argv[:] = [self._path, *self._arguments]
        try:
            self._code = self._ready()
        except Exception:  # noqa: BLE001, S110 - reported by each run
            pass
        sys.path.insert(0, self._folder)

    def _ready(self) -> types.CodeType:
        code = compile_script(self._source, self._path)
        if self._supply_names:
            supply(code)
        return code

    def run(self) -> int:
        """Run the prepared script, and return its exit status."""
        try:
            exec(self._code or self._ready(), self._namespace)  # noqa: S102 - the purpose
        except BaseException as error:  # noqa: BLE001 - also SystemExit
            return show(error)
        return 0


def show(error: BaseException) -> int:
    """Print an uncaught exception like the interpreter does; return the exit status."""
    trace = error.__traceback__ and error.__traceback__.tb_next  # without our frame
    if isinstance(error, SystemExit):
        return _exit_status(error.code)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    try:
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    except BaseException as failure:  # noqa: BLE001 - the hook may be the program's
        sys.__excepthook__(type(failure), failure, failure.__traceback__)
    return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1


def _exit_status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    try:
        sys.stderr.write(f"{code}\n")
    except BaseException:  # noqa: BLE001, S110 - as the interpreter
        pass
    return 1


def leave(status: int) -> NoReturn:
    """End this process like the interpreter does, but without finalizing it."""
    try:
        threading = sys.modules.get("threading")
        if threading is not None:
            threading._shutdown()  # noqa: SLF001 - waits for threads
        atexit._run_exitfuncs()  # noqa: SLF001
        drop_main()
        status = flush() or status
    except SystemExit as error:
        status = _exit_status(error.code)
        flush()
    except BaseException:  # noqa: BLE001
        flush()
    finally:
        os._exit(status)


def drop_main() -> None:
    """Release the program's objects, which flushes files that it left open."""
    sys.modules["__main__"].__dict__.clear()
    # Old objects are frozen or in use: a full collection would only empty caches.
    gc.collect(2 if gc.get_objects(2) else 1)


def flush() -> int:
    """Flush the standard streams; return an exit status, not 0 if that fails."""
    status = 0
    for current, first in ((sys.stdout, sys.__stdout__), (sys.stderr, sys.__stderr__)):
        for stream in (current,) if current is first else (current, first):
            try:
                if stream is not None and not stream.closed:
                    stream.flush()
            except BaseException:  # noqa: BLE001 - a stream may be the program's
                status = _FLUSH_FAILED
    return status
