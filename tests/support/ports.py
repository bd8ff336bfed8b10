"""Ports for servers that cannot choose one themselves."""

import contextlib
import random
import socket

__all__ = ["free_port"]


def free_port() -> int:
    """Return a port that is free, and that the kernel gives to no program that asks for any port.

    Raises:
        OSError: Each of a hundred ports is taken.
    """
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("Each of a hundred ports is taken.")
