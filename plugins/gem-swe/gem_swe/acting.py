"""What an agent does to files: it views them and edits them."""

import posixpath
import re
import shlex
from typing import Any

from gem_core.errors import MachineError
from gem_terminal.acting import write_file
from gem_workers.machine import Machine

__all__ = ["edit", "view"]

_LIMIT = 1 << 20
_SHOWN = 2
_LONGEST_PATH = 4096
_LINES = re.compile(r"\s*([0-9]{1,9})\s*(?:[-:,]\s*([0-9]{1,9})\s*)?")


def view(
    machine: Machine, path: str, lines: str, *, output_limit: int
) -> tuple[str, dict[str, Any]]:
    """Return a file with the numbers of its lines, or the names in a folder.

    Args:
        machine: The machine.
        path: The path, from the working directory or absolute.
        lines: The first and the last line, such as ``10-40``; empty for all.
        output_limit: The number of characters to show.

    Returns:
        What the agent reads, and the record for ``info["tool_calls"]``.

    Raises:
        MachineError: The path cannot be read, or the lines are malformed.
    """
    place = _place(machine, path)
    listed = machine.run(
        f"[ -d {shlex.quote(place)} ] && ls -A -p -- {shlex.quote(place)}", cwd="/"
    )
    if listed.ok:
        text = listed.stdout or "[an empty folder]\n"
    else:
        content = _text(machine, place)
        first, last = _range(lines)
        numbered = list(enumerate(content.splitlines(), 1))[first - 1 : last]
        text = "".join(f"{number:6}\t{line}\n" for number, line in numbered)
        if not numbered:
            text = f"[{path} has {len(content.splitlines())} lines]\n"
    if len(text) > output_limit:
        text = f"{text[:output_limit]}\n[cut off; ask for fewer lines]\n"
    return text, {"output": text, "ok": True}


def edit(machine: Machine, path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    """Replace a text that occurs once in a file; an empty one creates the file.

    Args:
        machine: The machine.
        path: The path, from the working directory or absolute.
        old: The text.
        new: What takes its place.

    Returns:
        What the agent reads, and the record for ``info["tool_calls"]``.

    Raises:
        MachineError: The file cannot be read or written, or the text does not occur once.
    """
    place = _place(machine, path)
    if not old:
        if machine.run(f"[ -e {shlex.quote(place)} ]", cwd="/").ok:
            raise MachineError(f"{path} exists already; give the text to replace.")
        return write_file(machine, place, new)
    content = _text(machine, place)
    count = content.count(old)
    if count != 1:
        what = "does not occur" if not count else f"occurs {count} times"
        hint = "Copy it with its indentation." if not count else "Give more of the lines around it."
        raise MachineError(f"The old text {what} in {path}. {hint}")
    output, record = write_file(machine, place, content.replace(old, new))
    if not record["ok"]:
        return output, record
    start = content.count("\n", 0, content.index(old)) + 1
    end = start + new.count("\n")
    shown, _ = view(machine, path, f"{max(1, start - _SHOWN)}-{end + _SHOWN}", output_limit=4000)
    return f"Edited {path}:\n{shown}", {"output": shown, "ok": True}


def _place(machine: Machine, path: str) -> str:
    is_text = "\0" not in path and not re.search("[\ud800-\udfff]", path)
    if not path or not is_text or len(path) > _LONGEST_PATH:
        raise MachineError(f"This is not a valid path: {path[:100]!r}.")
    return posixpath.normpath(posixpath.join(machine.spec.workdir, path))


def _text(machine: Machine, place: str) -> str:
    content = machine.read(place, limit=_LIMIT)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise MachineError(f"{place} is not text in UTF-8.") from error


def _range(lines: str) -> tuple[int, int | None]:
    if not lines.strip():
        return 1, None
    match = _LINES.fullmatch(lines)
    if match is None or int(match[1]) < 1:
        raise MachineError(
            f"lines are a number, or a first and a last one as in 10-40; got {lines[:100]!r}."
        )
    first = int(match[1])
    return first, int(match[2] or first)
