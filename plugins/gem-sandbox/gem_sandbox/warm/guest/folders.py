"""Remove files that a hostile program has left: folders of any depth, with any names."""

import os
from collections.abc import Collection

__all__ = ["empty", "remove"]


def empty(folder: str, kept: Collection[str] = ()) -> None:
    """Empty a folder, except for the names in ``kept``.

    The content of inner folders is moved to ``folder`` itself before they are removed, so folders
    of any depth, and paths too long for a system call, can be removed.
    """
    number = 0
    has_folders = True
    while has_folders:
        has_folders = False
        for name in os.listdir(folder):
            if name in kept:
                continue
            path = f"{folder}/{name}"
            try:
                os.unlink(path)
                continue
            except IsADirectoryError:
                has_folders = True
            os.chmod(path, 0o700)
            for inner in os.listdir(path):
                number += 1
                if _is_folder(f"{path}/{inner}"):
                    os.chmod(f"{path}/{inner}", 0o700)  # or it could not be moved
                os.rename(f"{path}/{inner}", f"{folder}/.{number}.gone")
            os.rmdir(path)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def remove(folder: str) -> None:
    """Remove a folder and its content, as far as permissions allow."""
    try:
        empty(folder)
        os.rmdir(folder)
    except OSError:
        pass
