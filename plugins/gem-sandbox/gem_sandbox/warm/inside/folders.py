"""Remove what a hostile program may have left: folders of any depth, under any names."""

import os
from collections.abc import Collection

__all__ = ["empty", "remove"]


def empty(folder: str, kept: Collection[str] = ()) -> None:
    """Remove all that is in a folder, but for the names that are to be kept.

    Folders are emptied into ``folder`` itself before they are removed, so that no depth, and no
    path too long to be named, keeps them.
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
    """Remove a folder with all that is in it, as far as that is allowed."""
    try:
        empty(folder)
        os.rmdir(folder)
    except OSError:
        pass
