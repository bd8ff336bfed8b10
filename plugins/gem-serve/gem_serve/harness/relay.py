"""The only network of a program: a port of its machine that leads to the gateway, and nowhere else.

The machine has a loopback and no other network. A socket that listens there belongs to this
process, so nothing is installed in the machine, and the program cannot choose another destination.
"""

import contextlib
import socket
import threading
from typing import Self

from gem_core.lifetimes import Lifetime, Lock

__all__ = ["Relay"]

_CHUNK = 1 << 16
_CONNECT = 10.0
_CLOSE_SECONDS = 5.0


class Relay:
    """Passes connections on to an address; use it as a context manager.

    Args:
        listener: A listening socket; it is closed at the end.
        target: The host and port that connections lead to.
    """

    def __init__(self, listener: socket.socket, target: tuple[str, int]) -> None:
        self.port: int = listener.getsockname()[1]
        self._passing = _Passing(listener, target)
        self._lifetime = Lifetime(self, self._passing.close, what="relay")

    @property
    def refused(self) -> int:
        """Connections that the target did not accept."""
        return self._passing.refused

    def __enter__(self) -> Self:
        self._lifetime.check()
        self._passing.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections, and accept no others; may be called twice."""
        self._lifetime.end()


class _Passing:
    """The sockets of a relay, and the threads that copy between them."""

    def __init__(self, listener: socket.socket, target: tuple[str, int]) -> None:
        self.refused = 0
        self._listener = listener
        self._target = target
        self._open = set[socket.socket]()
        self._lock = Lock()
        self._is_closed = False
        self.thread = threading.Thread(target=self._accept, daemon=True)

    def close(self) -> None:
        """Close the sockets, and wait some seconds for the thread that accepts."""
        with self._lock:
            self._is_closed = True
            ours = [self._listener, *self._open]
            self._open.clear()
        for one in ours:
            _end(one)
        if self.thread.is_alive():
            self.thread.join(_CLOSE_SECONDS)

    def _accept(self) -> None:
        while True:
            try:
                theirs, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(theirs,), daemon=True).start()

    def _connect(self, theirs: socket.socket) -> None:
        try:
            ours = socket.create_connection(self._target, _CONNECT)
        except OSError:
            self.refused += 1
            theirs.close()
            return
        ours.settimeout(None)
        if not self._keep(theirs, ours):
            return
        back = threading.Thread(target=_copy, args=(ours, theirs), daemon=True)
        back.start()
        _copy(theirs, ours)
        back.join()
        with self._lock:
            self._open -= {theirs, ours}
        theirs.close()
        ours.close()

    def _keep(self, *pair: socket.socket) -> bool:
        """Note two sockets as open; close them if the relay was closed meanwhile."""
        with self._lock:
            if not self._is_closed:
                self._open.update(pair)
                return True
        for one in pair:
            _end(one)
        return False


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes until one side ends; the other side then sees the end too."""
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _end(one: socket.socket) -> None:
    """Close a socket that another thread may wait for."""
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
