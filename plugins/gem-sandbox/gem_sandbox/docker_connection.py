"""The connection that docker-py opens to a process of a container.

The engine sends standard output and standard error in frames: a header of 8 bytes with the number
of the stream and the length, then the data.
"""

import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

from gem_core.errors import MachineError

__all__ = ["close", "frames", "raw_socket", "take_frames"]

_HEADER = struct.Struct("!B3xI")
_CHUNK = 1 << 16


def raw_socket(stream: Any) -> socket.socket:
    """Return the socket of a connection that docker-py has opened, without a time limit."""
    found: socket.socket = getattr(stream, "_sock", stream)
    found.settimeout(None)
    return found


def close(stream: Any) -> None:
    """Close a connection that docker-py has opened; may be called twice."""
    parts = getattr(stream, "_response", None), stream, getattr(stream, "_sock", None)
    for part in parts:  # the response first: freed later, it would flush a file that is closed
        if part is not None:
            part.close()


def take_frames(received: bytearray) -> Iterator[tuple[int, bytes]]:
    """Yield the number of a stream and its data for each complete frame, and remove the frame."""
    while len(received) >= _HEADER.size:
        number, length = _HEADER.unpack_from(received)
        end = _HEADER.size + length
        if len(received) < end:
            return
        body = bytes(received[_HEADER.size : end])
        del received[:end]
        yield number, body


def frames(stream: Any) -> Iterator[tuple[int, bytes]]:
    """Return an iterator over the frames until the end of the connection.

    Args:
        stream: The connection to the process, as ``exec_start(socket=True)`` returns it.

    Raises:
        MachineError: The connection cannot be read with these versions of the libraries.
        OSError: While iterating: the connection is lost, or its time limit is over.
    """
    return _frames(_reader(stream))


def _frames(read: Callable[[int], bytes]) -> Iterator[tuple[int, bytes]]:
    received = bytearray()
    while chunk := read(_CHUNK):
        received += chunk
        yield from take_frames(received)


def _reader(stream: Any) -> Callable[[int], bytes]:
    """Return the function that reads a connection from the end of the HTTP headers on.

    The file from which the headers were read may have read more, which the socket that docker-py
    documents does not yield again. The file has private names in docker-py, urllib3 and
    http.client; ``pyproject.toml`` bounds the versions of the first two.
    """
    try:
        file = stream._response.raw._fp.fp  # noqa: SLF001 - the only way to it
    except AttributeError as error:
        raise MachineError(
            f"The connection to a container cannot be read: {error}. Install the versions of "
            f"docker and urllib3 that gem-sandbox supports: pip install 'gem-sandbox[docker]'."
        ) from error
    read: Callable[[int], bytes] | None = getattr(file, "read1", None)  # ssh's files have none
    return read or raw_socket(stream).recv
