"""The root file system of a machine: mounts over what machines of a kind share."""

import contextlib
import fcntl
import os
import socket
import stat
import struct
from typing import Any

from gem_sandbox.machines.local.calls import keep_capabilities, set_host_name
from gem_sandbox.machines.local.copy_tree import copy_tree
from gem_sandbox.machines.local.plain_root import Listing, fill, mount_programs, mount_read_only
from gem_sandbox.machines.local.skeleton import HOSTS
from gem_sandbox.machines.trees import make_folders, remove
from gem_sandbox.machines.unpacking import unpack_layers
from gem_sandbox.warm.guest import kernel

__all__ = ["AT", "enter", "isolate", "mount_memory"]

AT = "/dev/shm"  # noqa: S108 - a mount point in a namespace of our own
"""Where the server and machines mount what they need; a folder that hosts have."""
_LAYERS = f"{AT}/layers"
_DEVICES = ("null", "zero", "full", "random", "urandom")
_QUIET = kernel.MS_NOSUID | kernel.MS_NODEV
_CAPABILITIES = sum(1 << number for number in (0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 29, 31))
"""Owners and modes of files, kill, other users, capabilities, ports below 1024, chroot, audit
messages and file capabilities: those of root in a container of Docker without raw sockets and
devices."""
_FEWEST_FILES, _BYTES_OF_A_FILE, _ROOM = 1 << 15, 1 << 12, 1 << 10
"""How many files there may be, at least and for the size of the disk, as names take memory too; and
how many more until the machine runs: a full one can be copied."""
_UP, _SET_FLAGS = 1, 0x8914


def mount_memory(disk: int) -> int:
    """Mount a file system in memory for what is written, with room for what this module makes.

    Args:
        disk: The bytes that may be written.

    Returns:
        A descriptor of the folder for it.
    """
    kernel.mount("machine", AT, "tmpfs", _QUIET, f"mode=755,{_size(disk, _ROOM)}")
    os.mkdir(_LAYERS, 0o700)
    return os.open(_LAYERS, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _size(disk: int, room: int = 0) -> str:
    files = max(_FEWEST_FILES, disk // _BYTES_OF_A_FILE) + room
    return f"size={disk + (1 << 20) + room * _BYTES_OF_A_FILE},nr_inodes={files}"


class OverlayError(OSError):
    """Overlayfs cannot be mounted."""


def enter(
    plan: dict[str, Any], below: list[list[int]], layers: int, source: int, built: list[int]
) -> Listing | None:
    """Make the root file system, and make it that of all processes of this mount namespace.

    Args:
        plan: The machine's ``mount_points``, ``hostname``, ``network``,
            ``folders``, and whether to use an ``overlay``.
        below: Descriptors of the folders below each mount point, upper ones first.
        layers: A descriptor of the folder for what is written.
        source: A descriptor of what was written before: an archive, or the folder of another
            machine's layers; -1 for none.
        built: Descriptors of what was built: a folder for each layer, the lowest first.

    Returns:
        What there was before the snapshot, where overlayfs cannot be mounted; None where it can.
    """
    devices = [os.open(f"/dev/{name}", os.O_PATH) for name in _DEVICES]
    root = f"{AT}/root"
    os.mkdir(root)
    before = None
    if not (plan["overlay"] and _has_overlays(root, plan, below, layers, source)):
        before = _mount_plain(root, plan, below, layers, built, source)
    with contextlib.suppress(OSError):
        kernel.mount(None, AT, None, kernel.MS_REMOUNT | _QUIET, _size(plan["disk"]))
    _enter(root, plan, devices, is_copy=source >= 0)
    return before


def _has_overlays(
    root: str, plan: dict[str, Any], below: list[list[int]], layers: int, source: int
) -> bool:
    """Mount overlayfs; return False, with nothing mounted or written, where that cannot be."""
    try:
        _mount_overlays(root, plan, below, layers, source)
    except OverlayError:
        with contextlib.suppress(OSError):
            kernel.umount(root)  # with what is mounted inside
        for number in range(len(plan["mount_points"])):
            remove(layers, str(number))
        return False
    return True


def _mount_overlays(
    root: str, plan: dict[str, Any], below: list[list[int]], layers: int, source: int
) -> None:
    """Mount what is written over the folders below."""
    if source >= 0 and stat.S_ISDIR(os.fstat(source).st_mode):
        copy_tree(source, layers)
    elif source >= 0:
        _restore(source)
    for number, target in enumerate(plan["mount_points"]):
        upper, work = f"{_LAYERS}/{number}", f"{AT}/work{number}"
        if source < 0:
            os.mkdir(upper, 0o755)
        os.mkdir(work)
        folders = ":".join(f"/proc/self/fd/{each}" for each in below[number])
        options = f"lowerdir={folders},upperdir={upper},workdir={work}"
        _mount_overlay(_place(root, target), options)


def _mount_plain(
    root: str,
    plan: dict[str, Any],
    below: list[list[int]],
    layers: int,
    built: list[int],
    source: int,
) -> Listing:
    """Copy what can be written, and mount the programs."""
    base = below[0][-1]
    before = fill(base, layers, built, source)
    for number in range(1, len(plan["mount_points"])):
        os.makedirs(f"{_LAYERS}/{number}", exist_ok=True)  # nothing is ever written there
    kernel.mount(f"{_LAYERS}/0", root, None, kernel.MS_BIND)
    mount_programs(base, root)
    for target, (*_, folder) in zip(plan["mount_points"], below, strict=True):
        if target:
            mount_read_only(f"/proc/self/fd/{folder}", _place(root, target))
    return before


def _place(root: str, path: str) -> str:
    """Make a folder in a root file system, whose links lead nowhere else; return where it is."""
    outside = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    os.chroot(root)
    try:
        make_folders(path or "/")
        folder = os.open(path or "/", os.O_PATH | os.O_DIRECTORY)
    finally:
        os.fchdir(outside)
        os.chroot(".")
        os.close(outside)
    place = os.readlink(f"/proc/self/fd/{folder}")  # without links
    os.close(folder)
    return place


def _enter(root: str, plan: dict[str, Any], devices: list[int], *, is_copy: bool) -> None:
    """Add devices and processes to a root file system, and change to it."""
    for name in ("dev", "proc"):
        os.makedirs(f"{root}/{name}", exist_ok=True)
    kernel.mount("proc", f"{root}/proc", "proc", _QUIET | kernel.MS_NOEXEC)
    _make_devices(f"{root}/dev", devices)
    os.chdir(root)
    kernel.pivot_root(".", ".")
    kernel.umount(".")
    os.chdir("/")
    if plan["programs"]:
        _add_programs(plan["programs"])
    _name_itself()
    for path, content in plan["names"].items():
        _cover(path, content)
    for folder in plan["folders"]:
        with contextlib.suppress(*([OSError] if is_copy else [])):  # it may be a file meanwhile
            make_folders(folder)
    set_host_name(plan["hostname"])
    if plan["network"] == "none":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            fcntl.ioctl(link, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))


def _add_programs(programs: dict[str, str]) -> None:
    """Add a folder of programs that nobody can change."""
    folder = os.path.dirname(next(iter(programs)))
    os.mkdir(folder)
    kernel.mount("programs", folder, "tmpfs", _QUIET, "mode=755,size=1m")
    for path, text in programs.items():
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o755), "w") as file:
            os.fchmod(file.fileno(), 0o755)
            file.write(text)
    kernel.remount(folder, kernel.MS_RDONLY | _QUIET)


def _name_itself() -> None:
    """Write the machine's own names where the image has none; a container engine does so too."""
    with contextlib.suppress(OSError):
        if not os.path.exists("/etc/hosts") or not os.path.getsize("/etc/hosts"):
            with open("/etc/hosts", "wb") as file:
                file.write(HOSTS)


def _cover(path: str, content: bytes) -> None:
    """Mount a file of the host's over the one at a path, which layers do not have then."""
    source = f"/dev/{os.path.basename(path)}"
    with open(source, "wb") as file:
        file.write(content)
    os.chmod(source, 0o644)
    if os.path.islink(path):
        os.unlink(path)
    if not os.path.lexists(path):
        make_folders(os.path.dirname(path))
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
    kernel.mount(source, path, None, kernel.MS_BIND)
    os.unlink(source)


def _mount_overlay(place: str, options: str) -> None:
    try:
        kernel.mount("overlay", place, "overlay", kernel.MS_NODEV, f"{options},userxattr")
    except OSError as error:  # it takes Linux 5.11, and folders that may be below it
        raise OverlayError(*error.args) from error


def _restore(snapshot: int) -> None:
    with os.fdopen(os.dup(snapshot), "rb") as file:
        file.seek(0)
        unpack_layers(file, _LAYERS)


def _make_devices(folder: str, devices: list[int]) -> None:
    kernel.mount("dev", folder, "tmpfs", kernel.MS_NOSUID | kernel.MS_NOEXEC, "mode=755,size=1m")
    for name, descriptor in zip(_DEVICES, devices, strict=True):
        os.close(os.open(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY))
        kernel.mount(f"/proc/self/fd/{descriptor}", f"{folder}/{name}", None, kernel.MS_BIND)
        kernel.remount(f"{folder}/{name}", kernel.MS_RDONLY)  # not the host's times; data passes
        os.close(descriptor)
    for name in ("shm", "pts"):
        os.mkdir(f"{folder}/{name}")
    kernel.mount("shm", f"{folder}/shm", "tmpfs", _QUIET, "mode=1777,size=64m")
    with contextlib.suppress(OSError):  # optional in the kernel
        kernel.mount("pts", f"{folder}/pts", "devpts", kernel.MS_NOSUID, "newinstance,ptmxmode=666")
        os.symlink("pts/ptmx", f"{folder}/ptmx")
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{target}", f"{folder}/{name}")


def isolate(call_filter: kernel.CallFilter) -> None:
    """Give up what the machine's processes must not have, in the machine's first process."""
    kernel.take([call_filter.apply])
    keep_capabilities(_CAPABILITIES)
    kernel.take([kernel.dumpability(0)])
    kernel.die_with_parent()
