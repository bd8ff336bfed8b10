"""The folders that programs write to: created before a run, emptied after it."""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
import tempfile
from collections.abc import Callable
from typing import IO, Any

__all__ = ["empty", "lay_out", "reset_times", "scratch_file", "with_user"]


def with_user(user: int | None, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with the rights of the programs' user; return its result."""
    if user is not None:
        os.setegid(user)
        os.seteuid(user)
    try:
        return function(*arguments)
    finally:
        if user is not None:
            os.seteuid(0)
            os.setegid(0)


def lay_out(folder: str, files: dict[str, Any]) -> None:
    """Create the working directory with its files."""
    os.mkdir(folder, 0o711)  # the monitor, another user, must be able to enter it
    for name, content in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(content))


def scratch_file(folder: str) -> IO[bytes]:
    """Return a temporary file without a name."""
    return tempfile.TemporaryFile(dir=os.path.dirname(folder))


def empty(folder: str) -> None:
    """Empty a folder of any depth: inner folders are moved up before they are removed."""
    while True:
        with os.scandir(folder) as listing:
            entries = list(listing)
        if not entries:
            return
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                flatten(entry.path, folder)
            else:
                os.unlink(entry.path)


def reset_times(folders: list[str]) -> None:
    """Set the times of devices and folders: whoever may write to them may set their times."""
    with os.scandir("/dev") as listing:
        devices = [entry.path for entry in listing]
    for path in {"/dev", *folders, *devices}:
        with contextlib.suppress(OSError):
            os.utime(path, (0, 0))


def flatten(inner: str, folder: str) -> None:
    """Remove a folder and its files; move the folders in it up."""
    os.chmod(inner, 0o700)
    with os.scandir(inner) as listing:
        entries = list(listing)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            os.chmod(entry.path, 0o700)
            os.rename(entry.path, os.path.join(folder, "." + secrets.token_hex(16)))
        else:
            os.unlink(entry.path)
    os.rmdir(inner)
