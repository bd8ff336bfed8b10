"""Checks of a machine from the host, which compares what it finds with what is expected.

What is expected never reaches the machine, so a program of the agent can neither read it nor write
the result. Files are read from outside; listings and queries come from programs of the untouched
image, before any program of the agent has run. A check is a table with a ``kind``: the functions in
``_KINDS``, whose arguments are its fields.
"""

import hashlib
import json
import shlex
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gem_core.errors import MachineError
from gem_terminal.task import Check
from gem_workers.machine import Machine

__all__ = ["OTHER_USER", "failed_checks"]

OTHER_USER = "65534"
"""The user that runs programs of the agent where they must not reach the verifier: ``nobody``."""
_LIMIT = 1 << 24
_LONGEST_OBJECT = 1 << 20
_TIMEOUT = 20.0
_START, _ANSWER = 5.0, 10.0
_NOT_FOUND = 127
_ASK = "import json, os, sys\ngiven = json.load(sys.stdin)\n{code}\nprint(json.dumps(found))"
_LSTAT = "found = [os.lstat(path).st_mode for path in given]"
_TARGETS = "found = [os.readlink(path) for path in given]"
_FILES = (
    "found = [os.path.relpath(os.path.join(parent, name), given)\n"
    "         for parent, _, names in os.walk(given) for name in names]"
)
_QUERY = (
    "import sqlite3\n"
    "database = sqlite3.connect('file:' + given[0] + '?mode=ro', uri=True)\n"
    "found = [[repr(one) if isinstance(one, bytes) else one for one in row]\n"
    "         for row in database.execute(given[1])]"
)
_FETCH = (
    "import urllib.request\nfound = urllib.request.urlopen(given, timeout=2).read(1 << 20).decode()"
)
_LINK, _FILE_TYPE = 0o120000, 0o170000


def failed_checks(machine: Machine, checks: Sequence[Check]) -> list[str]:
    """Return a line for each check that fails; of those that run programs, for the first only.

    Args:
        machine: A fresh machine with the agent's files, on which nothing has run.
        checks: The checks.

    Raises:
        MachineError: The machine has no ``python3``, or has ended.
    """
    failed: list[str] = []
    for check in sorted(checks, key=_runs_a_program):
        if _runs_a_program(check) and failed:
            break
        fields = dict(check)
        kind = fields.pop("kind")
        try:
            problem = "" if _KINDS[kind](machine, **fields) else "not as expected"
        except _NoPythonError as error:
            raise MachineError(str(error)) from error
        except Exception as error:  # noqa: BLE001 - what the agent has left is not what was asked for
            machine.processes()  # raises if the machine itself has ended
            problem = f"{type(error).__name__}: {error}"
        if problem:
            what = {key: check[key] for key in ("path", "ref", "command") if key in check}
            failed.append(f"failed: {kind} {what} {problem}"[:500])
    return failed


class _NoPythonError(Exception):
    """The machine has no python3."""


def _runs_a_program(check: Check) -> bool:
    return check["kind"] in {"output", "serves"}


def _give_to_other_user(machine: Machine) -> str:
    """Give the working directory to another user, and return that user.

    On some hosts machines have one user only; then this is the user that is returned.
    """
    place = shlex.quote(machine.spec.workdir)
    given = machine.run(f"chown -Rh {OTHER_USER}:{OTHER_USER} {place}", user="root", cwd="/")
    return OTHER_USER if given.ok else machine.spec.user


def _ask(machine: Machine, code: str, given: Any) -> Any:
    """Return the answer of a program, run by the Python of the image."""
    program = shlex.quote(_ASK.format(code=code))
    done = machine.run(
        f"exec python3 -I -S -c {program}",
        stdin=json.dumps(given),
        timeout=_TIMEOUT,
        user="root",
        cwd="/",
    )
    if done.exit_status == _NOT_FOUND:
        raise _NoPythonError("The machine has no python3, which the checks of this task need.")
    if not done.ok:
        raise ValueError(done.stderr.strip()[-300:] or f"exit status {done.exit_status}")
    return json.loads(done.stdout)


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


def _text(machine: Machine, path: str, text: str) -> bool:
    """Whether a file has a text; line ends at its end do not count."""
    return machine.read(path, limit=_LIMIT).decode().rstrip("\n") == text.rstrip("\n")


def _digest(machine: Machine, path: str, sha256: str) -> bool:
    """Whether a file has the content with a digest."""
    return hashlib.sha256(machine.read(path, limit=_LIMIT)).hexdigest() == sha256


def _json(machine: Machine, path: str, value: Any) -> bool:
    """Whether a file has a JSON value."""
    return _same(json.loads(machine.read(path, limit=1 << 20)), value)


def _modes(machine: Machine, modes: Mapping[str, str]) -> bool:
    """Whether paths, which are not links, have permissions such as ``0750``."""
    found = _ask(machine, _LSTAT, list(modes))
    return all(
        each & _FILE_TYPE != _LINK and each & 0o7777 == int(mode, 8)
        for each, mode in zip(found, modes.values(), strict=True)
    )


def _links(machine: Machine, paths: list[str]) -> bool:
    """Whether paths are symbolic links with relative targets."""
    return not any(target.startswith("/") for target in _ask(machine, _TARGETS, paths))


def _names(machine: Machine, path: str, names: list[str]) -> bool:
    """Whether these are all the files below a folder."""
    return sorted(_ask(machine, _FILES, path)) == sorted(names)


def _rows(machine: Machine, path: str, query: str, rows: list[list[Any]]) -> bool:
    """Whether a query on a SQLite database gives rows."""
    return _same(_ask(machine, _QUERY, [path, query]), rows)


def _ref(machine: Machine, repository: str, ref: str, commit: str) -> bool:
    """Whether a branch or tag names a commit; git is not run."""
    name = _target(machine, repository, ref)
    return name == commit or _peeled(machine, repository, name) == commit


def _target(machine: Machine, repository: str, ref: str) -> str:
    try:
        return machine.read(f"{repository}/.git/{ref}", limit=1 << 10).decode().strip()
    except MachineError:
        lines = machine.read(f"{repository}/.git/packed-refs", limit=_LIMIT).decode().splitlines()
        found = [line.split()[0] for line in lines if line.endswith(f" {ref}")]
        return found[0]


def _peeled(machine: Machine, repository: str, name: str) -> str:
    """Return the commit of an annotated tag; empty for any other object."""
    place = f"{repository}/.git/objects/{name[:2]}/{name[2:]}"
    content = machine.read(place, limit=_LONGEST_OBJECT)
    data = zlib.decompressobj().decompress(content, _LONGEST_OBJECT)
    header, _, body = data.partition(b"\0")
    return body.split()[1].decode() if header.startswith(b"tag ") else ""


def _output(machine: Machine, command: list[str], stdin: str, stdout: str, status: int = 0) -> bool:
    """Whether a command prints a text and ends with a status."""
    done = machine.run(shlex.join(command), stdin=stdin, timeout=_TIMEOUT)
    return done.exit_status == status and done.stdout.rstrip("\n") == stdout.rstrip("\n")


def _serves(machine: Machine, command: list[str], url: str, body: str) -> bool:
    """Whether a command ends soon and leaves a server that answers with a text.

    The command runs as another user: it must not change the program that asks the server.
    """
    before = len(machine.processes())
    user = _give_to_other_user(machine)
    if not machine.run(shlex.join(command), timeout=_START, user=user).ok:
        return False
    end = time.monotonic() + _ANSWER
    while time.monotonic() < end:
        try:
            answer = str(_ask(machine, _FETCH, url))
        except ValueError:
            time.sleep(0.05)
            continue
        return answer.strip() == body.strip() and len(machine.processes()) > before
    return False


_KINDS: dict[str, Callable[..., bool]] = {
    "digest": _digest,
    "json": _json,
    "links": _links,
    "modes": _modes,
    "names": _names,
    "output": _output,
    "ref": _ref,
    "rows": _rows,
    "serves": _serves,
    "text": _text,
}
