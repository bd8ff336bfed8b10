"""The version of data, by which two runs can tell whether they had the same rows.

================  ===============================================================
rows              version
================  ===============================================================
a file            ``sha256:`` and the SHA-256 of its content
several files     ``sha256:`` and that of the lines ``HASH  NAME`` of all files
more than 1 GiB   ``N bytes``, as hashing would delay each process by seconds
a hub dataset     the commit that it was loaded from
rows in memory    none
================  ===============================================================
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["version_of_content", "version_of_files", "version_of_hub"]

_MOST = 2**30
"""Bytes that are hashed."""
_COMMIT = re.compile(r"(?:@|/)([0-9a-f]{40})(?:/|$)")
"""The commit in the name of a file on the hub or in its caches."""


def version_of_content(content: bytes) -> str:
    """Return the version of a file's content."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def version_of_files(sizes: Mapping[str, int]) -> str:
    """Return the version of files.

    Args:
        sizes: The size of each in bytes, by path.
    """
    if (size := sum(sizes.values())) > _MOST:
        return f"{size} bytes"
    hashes = {path: _sha256(path) for path in sorted(sizes)}
    if len(hashes) == 1:
        return f"sha256:{next(iter(hashes.values()))}"
    root = os.path.commonpath(hashes)
    lines = [f"{one}  {os.path.relpath(path, root)}\n" for path, one in hashes.items()]
    return version_of_content("".join(lines).encode())


def _sha256(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def version_of_hub(found: Any) -> str:
    """Return the commit of a dataset that was loaded from the hub, or from its cache.

    Args:
        found: The result of ``load_from_hub``.

    Returns:
        The commit in hexadecimal digits; empty if nothing tells it.
    """
    commits = (_COMMIT.search(name) for name in _names(found))
    return next((one[1] for one in commits if one), "")


def _names(found: Any) -> Iterator[str]:
    """Yield names of the files that a dataset was made from."""
    if isinstance(found, Mapping):
        for one in found.values():
            yield from _names(one)
    elif (files := getattr(found, "files", None)) is not None:
        yield from _names(files)
    elif (info := getattr(found, "info", None)) is not None:
        yield from info.download_checksums or ()
        yield from (file["filename"] for file in getattr(found, "cache_files", ()))
    else:
        yield from map(str, found)
