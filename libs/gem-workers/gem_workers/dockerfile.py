"""The instructions of a Dockerfile, as far as they say where and as whom commands run."""

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gem_workers.untrusted_files import read_text

__all__ = [
    "Instruction",
    "assignments",
    "needs_engine",
    "read_dockerfile",
    "substitute",
    "user_of",
    "workdir_of",
]

_ESCAPE = re.compile(r"#\s*escape\s*=\s*(\S)\s*", re.IGNORECASE)
_HERE_DOCUMENT = re.compile(r"\d*<<-?(['\"]?)([A-Za-z_]\w*)\1")
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")


_IGNORED = frozenset({"CMD", "ENTRYPOINT", "EXPOSE", "LABEL", "MAINTAINER", "STOPSIGNAL", "VOLUME"})
"""Instructions that change none of an image's files."""
_KNOWN = frozenset({"ADD", "ARG", "COPY", "ENV", "FROM", "RUN", "USER", "WORKDIR"})
_REMOTE = ("http://", "https://", "ftp://", "git@")


@dataclass(frozen=True)
class Instruction:
    """An instruction of a Dockerfile.

    Args:
        name: The keyword in upper case, such as ``COPY``.
        arguments: What follows it, on one line; the content of here-documents is left out.
        line: The number of its first line, from 1.
        here_documents: Whether it has here-documents.
    """

    name: str
    arguments: str
    line: int
    here_documents: bool = False


def read_dockerfile(folder: Path, name: str = "Dockerfile") -> list[Instruction]:
    """Return the instructions of a Dockerfile.

    Raises:
        ConfigError: It cannot be read.
    """
    lines = read_text(folder, name).splitlines()
    escape = _escape(lines)
    found = []
    number = 0
    while number < len(lines):
        first = number + 1
        words, number = _logical_line(lines, number, escape)
        if words:
            keyword, arguments = words[0].upper(), words[1] if len(words) > 1 else ""
            marks = _here_documents(keyword, arguments)
            for mark in marks:
                number = _after(lines, number, mark)
            found.append(Instruction(keyword, arguments, first, bool(marks)))
    return found


def _logical_line(lines: Sequence[str], number: int, escape: str) -> tuple[list[str], int]:
    """Return the keyword and its arguments, and the number of the next line."""
    parts: list[str] = []
    while number < len(lines):
        line = lines[number].strip()
        number += 1
        if line and not line.startswith("#"):
            parts.append(line.removesuffix(escape).strip())
            if not line.endswith(escape):
                break
        elif not parts:
            break
    return " ".join(parts).split(None, 1), number


def _after(lines: Sequence[str], number: int, mark: str) -> int:
    """Return the number of the line after the end of a here-document."""
    while number < len(lines) and lines[number].strip("\t") != mark:
        number += 1
    return number + 1


def _escape(lines: Sequence[str]) -> str:
    for line in lines:
        if not line.startswith("#") or "=" not in line:
            break
        match = _ESCAPE.fullmatch(line)
        if match:
            return match[1]
    return "\\"


def _here_documents(keyword: str, arguments: str) -> list[str]:
    if keyword not in {"RUN", "COPY", "ADD"}:
        return []
    matches = map(_HERE_DOCUMENT.fullmatch, arguments.split())
    return [match[2] for match in matches if match]


def workdir_of(instructions: Sequence[Instruction]) -> str:
    """Return the directory in which commands start; ``/`` if the Dockerfile does not say."""
    folder, variables = "/", dict[str, str]()
    for each in instructions:
        if each.name == "FROM":
            folder = "/"
        elif each.name in {"ENV", "ARG"}:
            variables.update(assignments(each.arguments, variables))
        elif each.name == "WORKDIR":
            folder = posixpath.join(folder, substitute(each.arguments.strip("\"'"), variables))
    return "/" + posixpath.normpath(folder).lstrip("/")


def user_of(instructions: Sequence[Instruction]) -> str:
    """Return the user that runs commands; ``root`` if the Dockerfile does not say."""
    user, variables = "root", dict[str, str]()
    for each in instructions:
        if each.name == "FROM":
            user = "root"
        elif each.name in {"ENV", "ARG"}:
            variables.update(assignments(each.arguments, variables))
        elif each.name == "USER":
            user = substitute(each.arguments.strip("\"'"), variables).partition(":")[0]
    return user or "root"


def assignments(arguments: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that ``ENV`` or ``ARG`` sets; none if its quotes do not match."""
    try:
        words = shlex.split(arguments)
    except ValueError:
        return {}
    if words and "=" not in words[0]:
        return {words[0]: substitute(" ".join(words[1:]), variables)}
    pairs = (word.partition("=") for word in words)
    return {name: substitute(value, variables) for name, _, value in pairs}


def substitute(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with the values of ``$NAME``, ``${NAME}`` and ``${NAME:-default}``."""
    return _VARIABLE.sub(lambda match: variables.get(match[1] or match[3]) or match[2] or "", text)


def needs_engine(step: Instruction) -> str:
    """Return why only a container engine can carry out an instruction; empty if others can."""
    words = step.arguments.split()
    if step.name not in _KNOWN | _IGNORED:
        return f"{step.name[:40]} needs a container engine"
    if step.here_documents:
        return f"{step.name} with a here-document needs a container engine"
    if step.name == "RUN" and words and words[0].startswith("--"):
        return f"RUN {words[0][:40]} needs a container engine"
    if step.name in {"ADD", "COPY"}:
        options = [word for word in words if word.startswith("--")]
        other = [one for one in options if not one.startswith(("--chown=", "--chmod="))]
        if other:
            return f"{step.name} {other[0][:40]} needs a container engine"
        if any(word.startswith(_REMOTE) for word in words):
            return f"{step.name} of a remote file needs a container engine"
    return ""
