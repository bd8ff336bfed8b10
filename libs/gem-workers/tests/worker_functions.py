"""Functions that the tests of worker processes have called there."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

_kept: list[bytes] = []


class Unreadable:
    """Can be pickled, but not read again."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("not a number",)


class SilentError(Exception):
    """Cannot even be printed."""

    def __str__(self) -> str:
        raise ValueError


def same(value: Any) -> Any:
    return value


def length(value: bytes) -> int:
    return len(value)


def sleep_and_tell_pid(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def meet(folder: str, number: int) -> int:
    """Return the process id once as many workers have been here."""
    Path(folder, str(os.getpid())).touch()
    while len(os.listdir(folder)) < number:  # noqa: PTH208
        time.sleep(0.005)
    return os.getpid()


def write_pid_and_sleep(path: str) -> None:
    _write(path, os.getpid())
    time.sleep(300)


def write_pid_and_ignore_signals(path: str) -> None:
    for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    write_pid_and_sleep(path)


def write_pid_and_stop(path: str) -> None:
    _write(path, os.getpid())
    os.kill(os.getpid(), signal.SIGSTOP)


def write_pid_and_compute(path: str) -> int:
    _write(path, os.getpid())
    return 9**99999999


def write_pid_of_fork_and_sleep(path: str) -> None:
    if os.fork() == 0:
        write_pid_and_sleep(path)
    time.sleep(300)


def write_pid_of_program_and_sleep(path: str) -> None:
    _write(path, _start_program())
    time.sleep(300)


def write_pid_of_program_and_die(path: str) -> None:
    _write(path, _start_program())
    os._exit(7)


def _start_program() -> int:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"]).pid


def _write(path: str, pid: int) -> None:
    Path(path + ".part").write_text(str(pid))
    Path(path + ".part").rename(path)


def fork_and_return_twice() -> int:
    """Both processes go on, as if each were the worker."""
    pid = os.fork()
    return pid or -1


def send_to_itself(number: int) -> None:
    os.kill(os.getpid(), number)


def read_nowhere() -> None:
    ctypes.string_at(0)


def allocate(mib: int) -> int:
    return len(bytes(mib << 20))


def keep(mib: int) -> int:
    """Leak memory; return the process."""
    _kept.append(b"x" * (mib << 20))
    return os.getpid()


def recurse() -> None:
    recurse()


def raise_silent() -> None:
    raise SilentError


def raise_long() -> None:
    raise ValueError("x" * 1_000_000)


def talk() -> str:
    """Use every standard stream, as Python and as its children do."""
    print("said")
    print("complained", file=sys.stderr)
    os.system("echo said; echo complained >&2")  # noqa: S605
    return sys.stdin.read()


def make_lock() -> Any:
    return threading.Lock()


def make_unreadable() -> Unreadable:
    return Unreadable()


def sockets() -> int:
    """Number of sockets that the process holds."""
    entries = [entry for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    return sum(str(entry.readlink()).startswith("socket:") for entry in entries)


def limit_of_core_dumps() -> int:
    import resource

    return resource.getrlimit(resource.RLIMIT_CORE)[0]


def ignores_sigint() -> bool:
    return signal.getsignal(signal.SIGINT) == signal.SIG_IGN and os.getsid(0) == os.getpid()


def parent() -> int:
    return os.getppid()
