"""Writes git repositories file by file, so that a seed gives the same one everywhere."""

import hashlib
import struct
import zlib
from collections.abc import Mapping

__all__ = ["Repository"]

_PERSON = "Ada Dahl <ada@mail.example>"
_START = 1_700_000_000


class Repository:
    """A repository in the making; files are in its top folder only."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._seconds = _START

    def _add(self, kind: str, content: bytes) -> str:
        data = f"{kind} {len(content)}\0".encode() + content
        name = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        self._files[f".git/objects/{name[:2]}/{name[2:]}"] = zlib.compress(data)
        return name

    def commit(self, files: Mapping[str, str], message: str, parent: str = "") -> str:
        """Add a commit, an hour after the one before, and return its name."""
        self._seconds += 3600
        tree = b""
        for path, text in sorted(files.items()):
            tree += f"100644 {path}\0".encode() + bytes.fromhex(self._add("blob", text.encode()))
        lines = [f"tree {self._add('tree', tree)}"]
        if parent:
            lines.append(f"parent {parent}")
        lines += [f"{role} {_PERSON} {self._seconds} +0000" for role in ("author", "committer")]
        return self._add("commit", "\n".join([*lines, "", message, ""]).encode())

    def write(
        self, refs: Mapping[str, str], checked_out: Mapping[str, str], log: list[tuple[str, str]]
    ) -> dict[str, bytes]:
        """Return the files of the repository, with ``main`` checked out.

        Args:
            refs: Names such as ``refs/heads/main`` to commits.
            checked_out: The files of the commit that ``main`` names.
            log: What HEAD was moved to, oldest first, each with a reason; empty for no record.
        """
        files = dict(self._files)
        files[".git/HEAD"] = b"ref: refs/heads/main\n"
        files[".git/config"] = b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
        files[".git/index"] = self._index(checked_out)
        for ref, commit in refs.items():
            files[f".git/{ref}"] = f"{commit}\n".encode()
        if log:
            files[".git/logs/HEAD"] = _reflog(log)
        files.update({path: text.encode() for path, text in checked_out.items()})
        return files

    def _index(self, files: Mapping[str, str]) -> bytes:
        """Return the index: entries without times, which git looks up again."""
        data = b"DIRC" + struct.pack(">II", 2, len(files))
        for path, text in sorted(files.items()):
            content = text.encode()
            name = bytes.fromhex(self._add("blob", content))
            entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o100644, 0, 0, len(content))
            entry += name + struct.pack(">H", len(path)) + path.encode()
            data += entry + b"\0" * (8 - len(entry) % 8)
        return data + hashlib.sha1(data, usedforsecurity=False).digest()


def _reflog(log: list[tuple[str, str]]) -> bytes:
    lines, before = [], "0" * 40
    for number, (commit, reason) in enumerate(log):
        lines.append(f"{before} {commit} {_PERSON} {_START + 3600 * number} +0000\t{reason}\n")
        before = commit
    return "".join(lines).encode()
