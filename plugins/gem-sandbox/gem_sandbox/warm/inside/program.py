"""The program's own process: become an interpreter that runs one script, and end like one."""

import atexit
import builtins
import gc
import os
import sys
import types
from collections.abc import Sequence
from typing import Any, NoReturn

from gem_sandbox.warm.inside.names import supply

__all__ = ["FILE", "compile_script", "fresh_main", "leave", "reseed", "run_script"]

FILE = "main.py"
_INTERRUPTED = 130
_FLUSH_FAILED = 120


def compile_script(source: bytes, path: str) -> types.CodeType:
    """Compile a script as the interpreter does."""
    return compile(source, path, "exec", dont_inherit=True)


def fresh_main(path: str | None) -> dict[str, Any]:
    """Make a new ``__main__`` and return its namespace."""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    namespace = main.__dict__
    namespace["__builtins__"] = builtins
    if path is not None:
        namespace["__file__"] = path
        namespace["__cached__"] = None
    return namespace


def reseed() -> None:
    """Let go of what the zygote's children would otherwise share."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()


def run_script(
    source: bytes,
    path: str,
    *,
    arguments: Sequence[str],
    code: types.CodeType | None,
    supply_names: bool,
) -> int:
    """Run a script as ``__main__`` and return its exit status."""
    namespace = fresh_main(path)
    sys.argv[:] = [path, *arguments]
    sys.path.insert(0, os.path.dirname(path))
    try:
        compiled = code or compile_script(source, path)
        if supply_names:
            supply(compiled)
        exec(compiled, namespace)  # noqa: S102 - that is what we are for
    except BaseException as error:  # noqa: BLE001 - SystemExit too
        return show(error)
    return 0


def show(error: BaseException) -> int:
    """Report an uncaught error as the interpreter does; return the exit status."""
    trace = error.__traceback__ and error.__traceback__.tb_next  # without our own frame
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
    """End this process as the interpreter does, short of taking it apart."""
    try:
        threading = sys.modules.get("threading")
        if threading is not None:
            threading._shutdown()  # noqa: SLF001 - waits for threads, as the interpreter does
        atexit._run_exitfuncs()  # noqa: SLF001
        _drop_main()
        status = flush() or status
    except SystemExit as error:
        status = _exit_status(error.code)
        flush()
    except BaseException:  # noqa: BLE001
        flush()
    finally:
        os._exit(status)


def _drop_main() -> None:
    """Let the program's objects go: files that it left open are flushed by that."""
    sys.modules["__main__"].__dict__.clear()
    gc.collect()


def flush() -> int:
    """Flush the standard streams; return a status for who cannot."""
    status = 0
    for stream in (sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException:  # noqa: BLE001 - a stream may be the program's
            status = _FLUSH_FAILED
    return status
