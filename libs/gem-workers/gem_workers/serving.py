"""The worker's side of a pool: it calls functions, one after the other."""

import contextlib
import os
import pickle
import resource
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any

from gem_core.specs import load_entry_point
from gem_workers.frames import (
    CHUNK,
    DIED,
    OUT_OF_MEMORY,
    RAISED,
    READY,
    RESULT,
    Frame,
    FrameReader,
    pack,
)
from gem_workers.pools import Last

__all__ = ["dump_error", "serve"]

_MESSAGE_LENGTH = 2000
_USUAL_MEMORY_MIB = 2048
_GROWTH = 8
"""A worker is replaced once it has grown by this fraction of its memory limit, so that calls do not
pay for what earlier ones cached or leaked."""
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


def serve(connection: socket.socket, memory_mib: int | None) -> None:
    """Answer calls until the host closes the connection or the process has grown too much.

    The process ends with the answer to the call in which its peak memory grew by more than an
    eighth of ``memory_mib``.

    Args:
        connection: The socket to the host.
        memory_mib: See ``Launcher``; None counts as 2048.
    """
    growth = ((memory_mib or _USUAL_MEMORY_MIB) << 20) // _GROWTH
    _CallServer(connection, growth).run()


class _CallServer:
    def __init__(self, connection: socket.socket, growth: int) -> None:
        self._connection = connection
        self._pid = os.getpid()
        self._functions: dict[str, Callable[..., Any]] = {}
        self._peak_limit = _peak_memory() + growth
        self._is_last = False

    def run(self) -> None:
        with contextlib.suppress(OSError):  # the host is gone
            try:
                self._answer_calls()
            except MemoryError:
                self._send(OUT_OF_MEMORY, last=True)

    def _answer_calls(self) -> None:
        self._send(READY)
        last = False
        while not last and (frame := self._receive()).kind != DIED:
            kind, body = self._answer(frame)
            last = self._is_last or _peak_memory() > self._peak_limit
            self._send(kind, body, last=last)

    def _receive(self) -> Frame:
        reader = FrameReader()
        while (frame := reader.feed(self._connection.recv(CHUNK))) is None:
            pass
        return frame

    def _send(self, kind: bytes, body: bytes = b"", *, last: bool = False) -> None:
        if os.getpid() != self._pid:
            os._exit(0)  # a fork that a called function made, not the worker
        self._connection.sendall(pack(kind, body, last=last))

    def _answer(self, frame: Frame) -> tuple[bytes, bytes]:
        try:
            target, args = pickle.loads(frame.body)  # noqa: S301 - from the host
            result = self._function(target)(*args)
            if isinstance(result, Last):
                self._is_last, result = True, result.value
        except MemoryError:
            raise
        except BaseException as error:  # noqa: BLE001 - not even SystemExit may end the worker
            return RAISED, dump_error("raised", error)
        try:
            return RESULT, pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
        except MemoryError:
            raise
        except BaseException as error:  # noqa: BLE001 - pickling runs code of the object's class
            what = f"returned {type(result).__name__}, which cannot be pickled:"
            return RAISED, dump_error(what, error)

    def _function(self, target: str) -> Callable[..., Any]:
        if target not in self._functions:
            self._functions[target] = load_entry_point(target)
        return self._functions[target]


def dump_error(what: str, error: BaseException) -> bytes:
    """Return the pickle of a summary that begins with ``what``, and the end of the traceback."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - code of the error's class
        message = "(an error without a readable message)"
    if len(message) > _MESSAGE_LENGTH:
        message = message[:_MESSAGE_LENGTH] + "..."
    summary = f"{what} {type(error).__name__}: {message}"
    lines = traceback.format_tb(error.__traceback__, limit=-8)
    return pickle.dumps((summary, "In the worker:\n" + "".join(lines)))


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT
