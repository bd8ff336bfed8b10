"""System calls of machines that neither Python nor ``gem_sandbox.warm.guest.kernel`` has."""

import ctypes
import os
import struct

__all__ = ["keep_capabilities", "mount_with_ids", "set_host_name"]

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_CLONE_TREE, _CLOSE_ON_EXEC, _EMPTY_PATH = 1, 0o2000000, 0x1000
_MAP_IDS, _READ_ONLY, _FROM_DESCRIPTOR = 0x100000, 1, 4
_NO_FOLDER = -100
_DROP_FROM_BOUNDING_SET, _CAPABILITIES = 24, 64
_CAPABILITY_VERSION = 0x20080522

_libc = ctypes.PyDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_prctl, _capset = _libc.prctl, _libc.capset  # looked up before the fork of a machine


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def mount_with_ids(source: int, place: str, users: int) -> None:
    """Mount a folder, read-only, so that its owners are those of a user namespace.

    Args:
        source: A descriptor of the folder.
        place: Where to mount it.
        users: A descriptor of the user namespace.

    Raises:
        OSError: The kernel or the folder's file system cannot do this, or the user may not.
    """
    flags = _CLONE_TREE | _CLOSE_ON_EXEC | _EMPTY_PATH
    tree = _check(_libc.syscall(_OPEN_TREE, source, b"", flags), "open_tree")
    try:
        attributes = struct.pack("=4Q", _MAP_IDS | _READ_ONLY, 0, 0, users)
        parts = tree, b"", _EMPTY_PATH, attributes, len(attributes)
        _check(_libc.syscall(_MOUNT_SETATTR, *parts), "mount_setattr")
        to = _NO_FOLDER, place.encode(), _FROM_DESCRIPTOR
        _check(_libc.syscall(_MOVE_MOUNT, tree, b"", *to), "move_mount")
    finally:
        os.close(tree)


def keep_capabilities(kept: int) -> None:
    """Give up all capabilities but some, in this process and its descendants.

    Args:
        kept: A bit for each capability to keep.
    """
    for number in range(_CAPABILITIES):
        if not kept >> number & 1:
            _prctl(_DROP_FROM_BOUNDING_SET, number)
    low, high = kept & 0xFFFFFFFF, kept >> 32
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    sets = struct.pack("=6I", low, low, low, high, high, high)
    _check(_capset(header, sets), "capset")


def set_host_name(name: str) -> None:
    """Set the name of the host, in this process's namespace."""
    _check(_libc.sethostname(name.encode(), len(name.encode())), "sethostname")
