"""Makes a PostgreSQL cluster in a folder, runs it, and deletes the folder when its owner is gone.

This file runs as a program of its own, ``python -I -S run_cluster.py FOLDER BINARIES USER``, with
the cluster's password on the first line of its standard input. It ends the cluster when it reads
another line, when the standard input is closed, or when the process that started it ends, however
that is. PostgreSQL does not run as root, so ``USER`` owns the cluster then; otherwise it is empty.
"""

import contextlib
import ctypes
import os
import pwd
import resource
import select
import shutil
import signal
import subprocess
import sys
from typing import Any

_POLL_SECONDS = 0.2
_PR_SET_PDEATHSIG = 1
_MEMORY = 2 << 30
"""Maximum memory of one session in bytes."""
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "300",
    "shared_buffers": "64MB",
    # Nothing outlives the process, so nothing need reach the disk.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "256MB",
    "autovacuum": "off",
    "jit": "off",
    # What agents could use against others.
    "max_prepared_transactions": "0",
    "max_worker_processes": "0",
    "temp_file_limit": "1GB",
    "log_min_messages": "fatal",
    "log_min_error_statement": "panic",
}
_MADE = "-N", "--no-instructions", "-EUTF8", "--locale=C.UTF-8", "--auth=scram-sha-256"
_ACCESS = """\
local all gem scram-sha-256
local all postgres scram-sha-256
local all dumper scram-sha-256
local sameuser all scram-sha-256
"""
"""All but the cluster's own roles reach only the database that has their name."""


def main(folder: str, binaries: str, user: str) -> int:
    """Run the cluster; return 0, or 1 if it did not start or ended by itself."""
    owner = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner handles Ctrl-C
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    as_user: dict[str, Any] = {}
    if user:
        as_user = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
    server = None
    try:
        with open(0, "rb", buffering=0, closefd=False) as given_by_owner:
            password = given_by_owner.readline().strip()
        with open(f"{folder}/log", "wb") as log:  # noqa: PTH123 - pathlib is slow to import
            given: dict[str, Any] = {"cwd": folder, "stdout": log, "stderr": log, **as_user}
            _initialize(folder, binaries, password, given)
            command = [f"{binaries}/postgres", "-D", f"{folder}/data", "-k", folder]
            for name, value in _SETTINGS.items():
                command += ["-c", f"{name}={value}"]
            server = subprocess.Popen(  # noqa: S603 - PostgreSQL's
                command,
                stdin=subprocess.DEVNULL,
                preexec_fn=_limit,  # noqa: PLW1509 - one thread
                **given,
            )
        _wait(server, owner)
        if server.poll() is None:
            return 0
        return _explain(folder)
    except subprocess.CalledProcessError:
        return _explain(folder)
    finally:
        if server is not None and server.poll() is None:
            server.send_signal(signal.SIGQUIT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(10)
            server.kill()
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _initialize(folder: str, binaries: str, password: bytes, given: dict[str, Any]) -> None:
    word = f"{folder}/password"
    with open(word, "wb") as file:  # noqa: PTH123
        file.write(password)
    subprocess.run(  # noqa: S603
        [f"{binaries}/initdb", "-D", f"{folder}/data", "-U", "gem", f"--pwfile={word}", *_MADE],
        stdin=subprocess.DEVNULL,
        check=True,
        **given,
    )
    os.unlink(word)  # noqa: PTH108
    with open(f"{folder}/data/pg_hba.conf", "w") as file:  # noqa: PTH123
        file.write(_ACCESS)


def _wait(server: "subprocess.Popen[bytes]", owner: int) -> None:
    """Wait until the server ends, or is to end."""
    while server.poll() is None and os.getppid() == owner:
        if select.select([0], [], [], _POLL_SECONDS)[0]:
            return


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT, 0, 0, 0)


def _explain(folder: str) -> int:
    with contextlib.suppress(OSError), open(f"{folder}/log") as log:  # noqa: PTH123
        print(log.read()[-2000:].strip(), file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
