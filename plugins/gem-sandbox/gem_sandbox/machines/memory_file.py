"""Files in memory, to pass large data to another process by a descriptor."""

import os

__all__ = ["memory_file"]


def memory_file(data: bytes) -> int:
    """Return the descriptor of a file in memory; its position is at the end of the data."""
    descriptor = os.memfd_create("machine")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    return descriptor
