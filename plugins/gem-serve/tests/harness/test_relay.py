import contextlib
import socket
import threading

import pytest

from gem_serve.harness.relay import Relay


@pytest.fixture
def echo():
    """Return the address of a server that sends back what it gets."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=answer, args=(connection,), daemon=True).start()

        def answer(connection):
            with connection, contextlib.suppress(OSError):
                while data := connection.recv(1 << 16):
                    connection.sendall(data)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def listener():
    return socket.create_server(("127.0.0.1", 0))


def test_bytes_pass_in_both_directions_until_each_side_ends(echo):
    data = bytes(range(256)) * 4096
    with (
        Relay(listener(), echo) as relay,
        socket.create_connection(("127.0.0.1", relay.port)) as client,
    ):
        sender = threading.Thread(target=lambda: (client.sendall(data), client.shutdown(1)))
        sender.start()
        found = b"".join(iter(lambda: client.recv(1 << 16), b""))
        sender.join()
    assert found == data


def test_connections_to_a_target_that_is_gone_are_counted():
    with listener() as gone:
        target = gone.getsockname()
    with (
        Relay(listener(), target) as relay,
        socket.create_connection(("127.0.0.1", relay.port)) as client,
        contextlib.suppress(ConnectionResetError),
    ):
        assert client.recv(1) == b""
    assert relay.refused == 1


def test_closing_ends_open_connections_and_accepts_no_others(echo):
    relay = Relay(listener(), echo)
    with relay, socket.create_connection(("127.0.0.1", relay.port)) as client:
        client.sendall(b"a")
        assert client.recv(1) == b"a"
        relay.close()
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", relay.port))
