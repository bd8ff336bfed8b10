"""A git repository with one commit, made without git, so that it has no other object."""

import functools
import io
from collections.abc import Mapping
from pathlib import PurePosixPath

from dulwich.index import IndexEntry, write_index_dict
from dulwich.objects import Blob, Commit, ShaFile, Tree
from dulwich.pack import SHA1Writer

__all__ = ["one_commit"]

_CONFIG = b"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
"""
_AUTHOR = b"gem-swe <gem-swe@localhost>"
_TIME = 1_700_000_000
"""Seconds since 1970: the same for all, so that equal files give equal commits."""
_FILE, _FOLDER = 0o100644, 0o040000


def one_commit(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of ``.git`` for a work tree, by their paths in it.

    Args:
        files: The files of the work tree by path, each with the mode 644.
    """
    return dict(_one_commit(tuple(sorted(files.items()))))


@functools.lru_cache(maxsize=64)
def _one_commit(files: tuple[tuple[str, bytes], ...]) -> tuple[tuple[str, bytes], ...]:
    objects: list[ShaFile] = []
    trees: dict[PurePosixPath, Tree] = {PurePosixPath(): Tree()}
    index: dict[bytes, IndexEntry] = {}
    for name, content in files:
        blob = Blob.from_string(content)
        objects.append(blob)
        path = PurePosixPath(name)
        for folder in path.parents:
            trees.setdefault(folder, Tree())
        trees[path.parent].add(path.name.encode(), _FILE, blob.id)
        index[name.encode()] = IndexEntry(0, 0, 0, 0, _FILE, 0, 0, len(content), blob.id)
    for path in sorted(trees, key=lambda one: len(one.parts), reverse=True):
        if path.name:
            trees[path.parent].add(path.name.encode(), _FOLDER, trees[path].id)
        objects.append(trees[path])
    commit = Commit()
    commit.tree = trees[PurePosixPath()].id
    commit.author = commit.committer = _AUTHOR
    commit.author_time = commit.commit_time = _TIME
    commit.author_timezone = commit.commit_timezone = 0
    commit.message = b"The repository\n"
    objects.append(commit)
    written = io.BytesIO()
    signed = SHA1Writer(written)
    write_index_dict(signed, dict(sorted(index.items())))
    signed.write_sha()
    made = {
        ".git/HEAD": b"ref: refs/heads/main\n",
        ".git/config": _CONFIG,
        ".git/index": written.getvalue(),
        ".git/refs/heads/main": commit.id + b"\n",
    }
    for one in objects:
        name = one.id.decode()
        made[f".git/objects/{name[:2]}/{name[2:]}"] = one.as_legacy_object()
    return tuple(made.items())
