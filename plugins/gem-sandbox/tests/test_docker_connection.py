"""Connections to containers, with docker-py and an engine that answers in one piece."""

import socket
import struct
import threading

import pytest

from gem_core.errors import MachineError
from gem_sandbox.docker_connection import close, frames, raw_socket, take_frames

docker = pytest.importorskip("docker", reason="pip install docker")


def frame(number: int, data: bytes) -> bytes:
    return struct.pack("!B3xI", number, len(data)) + data


@pytest.fixture
def engine(tmp_path):
    """Answer one request: with the headers come a frame and the half of another one."""
    path = str(tmp_path / "engine.sock")
    second = frame(2, b"oops\n")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                while not connection.recv(1 << 16).endswith(b"}"):
                    pass  # the headers, then the body
                headers = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
                connection.sendall(headers + frame(1, b"out\n") + second[:9])
                connection.recv(1 << 16)
                connection.sendall(second[9:])

        thread = threading.Thread(target=answer)
        thread.start()
        with docker.APIClient(f"unix://{path}", version="1.41") as client:
            yield client
        thread.join()


def test_frames_that_come_with_the_headers_are_read(engine):
    stream = engine.exec_start("name", socket=True)
    found = frames(stream)
    assert next(found) == (1, b"out\n")
    connection = raw_socket(stream)
    connection.sendall(b"go on")
    assert list(found) == [(2, b"oops\n")]
    for _ in range(2):
        close(stream)
    assert connection.fileno() == -1


def test_other_versions_of_the_libraries_are_refused_with_what_to_install():
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(MachineError, match=r"pip install 'gem-sandbox\[docker\]'"):
        frames(ours)


def test_an_incomplete_frame_is_left():
    received = bytearray(frame(1, b"ab") + frame(2, b"cd")[:-1])
    assert list(take_frames(received)) == [(1, b"ab")]
    assert received == frame(2, b"cd")[:-1]
