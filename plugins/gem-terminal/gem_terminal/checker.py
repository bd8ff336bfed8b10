"""Grades a generated task: compares what is on the machine with what is expected.

It runs on the machine by itself, beside ``checks.json``, with the standard library alone. Each
check is a table with a ``kind``; the functions below are the kinds, their arguments the fields.
"""

import hashlib
import json
import os
import sqlite3
import stat
import subprocess
import sys
import time
import urllib.request
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["main"]

_LIMIT = 1 << 24
_REWARD = Path("/logs/verifier/reward.txt")


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError(f"{path} is not a regular file")
        return file.read(_LIMIT)


def _same(found: Any, expected: Any) -> bool:
    """Compare values of JSON; true is not 1, but 25.0 is 25."""
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and found.keys() == expected.keys()
            and all(_same(found[key], expected[key]) for key in expected)
        )
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(map(_same, found, expected))
        )
    if isinstance(expected, bool) or isinstance(found, bool):
        return found is expected
    return bool(found == expected)


def _text(path: str, text: str) -> bool:
    """Whether a file has a text; line ends at its end do not count."""
    return _read(path).decode().rstrip("\n") == text.rstrip("\n")


def _digest(path: str, sha256: str) -> bool:
    """Whether a file has the content with a digest."""
    return hashlib.sha256(_read(path)).hexdigest() == sha256


def _json(path: str, value: Any) -> bool:
    """Whether a file has a JSON value."""
    return _same(json.loads(_read(path)), value)


def _mode(path: str, mode: str) -> bool:
    """Whether a path, not a link, has the permissions, such as ``0750``."""
    found = os.lstat(path)
    return not stat.S_ISLNK(found.st_mode) and stat.S_IMODE(found.st_mode) == int(mode, 8)


def _link(path: str) -> bool:
    """Whether a path is a symbolic link with a relative target."""
    return not os.readlink(path).startswith("/")


def _names(path: str, names: list[str]) -> bool:
    """Whether these are all the files below a folder."""
    found = [
        os.path.relpath(os.path.join(parent, name), path)
        for parent, _, files in os.walk(path)
        for name in files
    ]
    return sorted(found) == sorted(names)


def _output(command: list[str], stdin: str, stdout: str, status: int = 0) -> bool:
    """Whether a command prints a text and ends with a status."""
    done = subprocess.run(
        command, input=stdin.encode(), stdout=subprocess.PIPE, check=False, timeout=20
    )
    return done.returncode == status and done.stdout.decode().rstrip("\n") == stdout.rstrip("\n")


def _rows(path: str, query: str, rows: list[list[Any]]) -> bool:
    """Whether a query on a SQLite database gives rows."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return _same([list(row) for row in database.execute(query)], rows)
    finally:
        database.close()


def _ref(repository: str, ref: str, commit: str) -> bool:
    """Whether a branch or tag names a commit; git is not run."""
    return _peel(repository, _target(repository, ref)) == commit


def _target(repository: str, ref: str) -> str:
    try:
        return _read(f"{repository}/.git/{ref}").decode().strip()
    except FileNotFoundError:
        lines = _read(f"{repository}/.git/packed-refs").decode().splitlines()
        found = [line.split()[0] for line in lines if line.endswith(f" {ref}")]
        return found[0]


def _peel(repository: str, name: str) -> str:
    """Return the commit of an annotated tag; any other name as it is."""
    try:
        data = zlib.decompress(_read(f"{repository}/.git/objects/{name[:2]}/{name[2:]}"))
    except FileNotFoundError:  # packed
        return name
    header, _, body = data.partition(b"\0")
    return body.split()[1].decode() if header.startswith(b"tag ") else name


def _serves(command: list[str], url: str, body: str) -> bool:
    """Whether a command ends soon and leaves a server that answers with a text."""
    before = _processes()
    subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
        timeout=5,
    )
    end = time.monotonic() + 10
    while time.monotonic() < end and _processes() - before:
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                return bool(answer.read(_LIMIT).decode().strip() == body.strip())
        except OSError:
            time.sleep(0.05)
    return False


def _processes() -> set[str]:
    return {name for name in os.listdir("/proc") if name.isdigit()}


_KINDS: dict[str, Callable[..., bool]] = {
    "digest": _digest,
    "json": _json,
    "link": _link,
    "mode": _mode,
    "names": _names,
    "output": _output,
    "ref": _ref,
    "rows": _rows,
    "serves": _serves,
    "text": _text,
}


def _passes(check: dict[str, Any]) -> bool:
    kind = check.pop("kind")
    try:
        return _KINDS[kind](**check)
    except Exception as error:  # whatever the agent has left is not what was asked for
        print(f"{kind} {check.get('path', '')}: {error!r}")
        return False


def main() -> None:
    """Run the checks, print those that fail, and write the reward: 1 if all pass, else 0."""
    expected = Path(sys.argv[0]).with_name("checks.json")
    checks = json.loads(expected.read_bytes())
    expected.unlink()  # programs of the agent, which run below, must not find the answers
    failed = [check for check in checks if not _passes(dict(check))]
    for check in failed:
        print("failed:", {key: check[key] for key in ("kind", "path", "ref") if key in check})
    _REWARD.parent.mkdir(parents=True, exist_ok=True)
    _REWARD.write_text(f"{int(not failed)}\n")


if __name__ == "__main__":
    main()
