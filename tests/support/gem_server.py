"""Runs ``gem-core`` in forks of itself: ``python gem_server.py ADDRESS``; see ``gem_command.py``.

A request comes over a socket with the three standard streams. Each is served by two forks: one runs
the command, and one waits for it and sends the exit status. If the client ends first, the command
is killed. The server ends when its standard input does.
"""

import contextlib
import gc
import io
import json
import os
import runpy
import select
import signal
import socket
import sys
from importlib import import_module
from typing import Any

from gem_client import STREAMS, of_interpreter, receive

IMPORTS = """
gem_core.cli gem_core.console gem_core.hydra_source gem_eval.compare_command gem_eval.evaluate
gem_rollout.run_command
numpy.random orjson
"""
Request = dict[str, Any]


def serve(listener: socket.socket) -> Request:
    """Fork for each request; return a request in the fork that is to run it."""
    while True:
        readable, _, _ = select.select([listener, 0], [], [])
        if 0 in readable:
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return attend(connection)
        connection.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass


def attend(connection: socket.socket) -> Request:
    """Read a request, return it in a fork, and send the fork's exit status."""
    connection.sendall(json.dumps(of_interpreter()).encode() + b"\n")
    _, streams, _, _ = socket.recv_fds(connection, 1, len(STREAMS))
    if not streams:
        os._exit(0)  # the client runs the command itself
    request = {**json.loads(receive(connection)), "streams": streams}
    child = os.fork()
    if child == 0:
        connection.close()
        return request
    for stream in streams:
        os.close(stream)
    ended = os.pidfd_open(child)
    if ended not in select.select([ended, connection], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def become(request: Request) -> None:
    """Take over the arguments, environment, working directory and streams of a request."""
    for stream, received in zip(STREAMS, request["streams"], strict=True):
        os.dup2(received, stream)
        os.close(received)
    for stream, name in zip(STREAMS, ("stdin", "stdout", "stderr"), strict=True):
        setattr(sys, name, reopened(stream, getattr(sys, name)))
        setattr(sys, f"__{name}__", getattr(sys, name))
    sys.path[: 1 + len(search_path())] = []
    sys.modules["numpy"].random.seed()  # otherwise each fork would draw the same numbers
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.argv[1:] = request["words"]
    sys.path[:0] = [request["folder"] or request["cwd"], *search_path()]


def search_path() -> list[str]:
    """Return the folders of ``PYTHONPATH``."""
    return list(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))


def reopened(stream: int, before: io.TextIOWrapper) -> io.TextIOWrapper:
    """Open a standard stream as before, on a file that may be of another kind."""
    size = -1 if isinstance(before.buffer, io.BufferedIOBase) else 0
    return io.TextIOWrapper(
        open(stream, before.buffer.mode, size, closefd=False),
        encoding=before.encoding,
        errors=before.errors,
        line_buffering=before.line_buffering,
        write_through=before.write_through,
    )


def main(address: str) -> None:
    """Serve until the end of the standard input."""
    for name in IMPORTS.split():
        with contextlib.suppress(ModuleNotFoundError):  # not every environment has everything
            import_module(name)
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        request = serve(listener)
    become(request)


if __name__ == "__main__":
    main(sys.argv[1])
    runpy.run_module("gem_core", run_name="__main__", alter_sys=True)
