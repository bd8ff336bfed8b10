"""The instructions of a Dockerfile, as far as they say where and as whom commands run."""

import posixpath
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gem_core.errors import ConfigError
from gem_workers.untrusted_files import read_text

__all__ = [
    "HereDocument",
    "Instruction",
    "assignments",
    "needs_engine",
    "read_dockerfile",
    "substitute",
    "user_of",
    "workdir_of",
]

_ESCAPE = re.compile(r"#\s*escape\s*=\s*(\S)\s*", re.IGNORECASE)
_HERE_DOCUMENT = re.compile(
    r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<!\S)\d*<<(?P<dash>-?)[ \t]*"""
    r"""(?P<quote>['"]?)(?P<name>[A-Za-z_][\w.-]*)(?P=quote)(?!\S)"""
)
"""Text in quotes, a character after a backslash, or where a here-document is asked for."""
_CACHE_MOUNT = re.compile(r"\s*--mount=type=cache\S*")
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")


_IGNORED = frozenset(
    {"CMD", "ENTRYPOINT", "EXPOSE", "HEALTHCHECK", "LABEL", "MAINTAINER", "STOPSIGNAL", "VOLUME"}
)
"""Instructions that change none of an image's files."""
_KNOWN = frozenset({"ADD", "ARG", "COPY", "ENV", "FROM", "RUN", "SHELL", "USER", "WORKDIR"})
_REMOTE = ("http://", "https://", "ftp://", "git@")


@dataclass(frozen=True)
class HereDocument:
    """A text in a Dockerfile, after the instruction that uses it.

    Args:
        mark: Where the instruction asks for it, such as ``<<-"EOF"``.
        name: The line that ends it.
        content: Its lines; after ``<<-``, without the tabs before them.
        expands: Whether variables in it stand for their values.
    """

    mark: str
    name: str
    content: str
    expands: bool


@dataclass(frozen=True)
class Instruction:
    """An instruction of a Dockerfile.

    Args:
        name: The keyword in upper case, such as ``COPY``.
        arguments: What follows it, on one line; the content of here-documents is left out.
        line: The number of its first line, from 1.
        here_documents: The here-documents that it uses, in order.
    """

    name: str
    arguments: str
    line: int
    here_documents: tuple[HereDocument, ...] = ()

    @property
    def command(self) -> str:
        """What ``RUN`` hands to a shell: its text with here-documents, or only their content."""
        text = _CACHE_MOUNT.sub("", self.arguments).strip() if self.name == "RUN" else ""
        documents = self.here_documents
        if len(documents) == 1 and text == documents[0].mark:
            return documents[0].content
        return "\n".join([text, *(f"{one.content}{one.name}" for one in documents)])


def read_dockerfile(folder: Path, name: str = "Dockerfile") -> list[Instruction]:
    """Return the instructions of a Dockerfile.

    Raises:
        ConfigError: It cannot be read, or an instruction lacks its arguments or the end of a quote;
            the message has the line.
    """
    lines = read_text(folder, name).replace("\r\n", "\n").split("\n")
    escape = _escape(lines)
    found = []
    number = 0
    while number < len(lines):
        first = number + 1
        words, number = _logical_line(lines, number, escape)
        if words:
            keyword, arguments = words[0].upper(), words[1] if len(words) > 1 else ""
            documents = []
            for match in _here_documents(keyword, arguments):
                try:
                    document, number = _here_document(lines, number, match)
                except ConfigError as error:
                    raise ConfigError(f"{folder / name}, line {first}: {error}.") from None
                documents.append(document)
            step = Instruction(keyword, arguments, first, tuple(documents))
            if problem := _problem(step):
                raise ConfigError(f"{folder / name}, line {first}: {problem}.")
            found.append(step)
    return found


def _problem(step: Instruction) -> str:
    """Return the reason why an instruction is malformed; empty if it is well-formed."""
    words = step.arguments.split()
    if step.name in _KNOWN and not words:
        return f"{step.name} needs an argument"
    if step.name in {"ADD", "COPY"} and not (step.here_documents or "[" in step.arguments):
        if not _has_whole_quotes(step.arguments):
            return f"the quotes of {step.name} do not match"
        if sum(not word.startswith("--") for word in words) < 2:
            return f"{step.name} needs a source and a destination"
    if step.name == "ENV" and "=" in words[0] and not _has_whole_quotes(step.arguments):
        return "the quotes of ENV do not match"
    return ""


def _has_whole_quotes(text: str) -> bool:
    try:
        shlex.split(text)
    except ValueError:
        return False
    return True


def _logical_line(lines: Sequence[str], number: int, escape: str) -> tuple[list[str], int]:
    """Return the keyword and its arguments, and the number of the next line."""
    parts: list[str] = []
    while number < len(lines):
        line = lines[number]
        number += 1
        if line.strip() and not line.lstrip().startswith("#"):
            text = line.rstrip()
            goes_on = len(text) - len(text.rstrip(escape)) == 1
            parts.append(text.removesuffix(escape) if goes_on else text)
            if not goes_on:
                break
        elif not parts:
            break
    return "".join(parts).rstrip().split(None, 1), number


def _here_document(
    lines: Sequence[str], number: int, match: re.Match[str]
) -> tuple[HereDocument, int]:
    """Return a here-document that begins in a line, and the number of the line after it."""
    tabs, name = "\t" if match["dash"] else "", match["name"]
    texts = [line.lstrip("\t") if tabs else line for line in lines[number:]]
    if name not in texts:
        raise ConfigError(f"the here-document {name!r} has no end")
    content = texts[: texts.index(name)]
    document = HereDocument(
        match[0], name, "".join(f"{one}\n" for one in content), not match["quote"]
    )
    return document, number + len(content) + 1


def _escape(lines: Sequence[str]) -> str:
    for line in lines:
        if not line.startswith("#") or "=" not in line:
            break
        match = _ESCAPE.fullmatch(line)
        if match:
            return match[1]
    return "\\"


def _here_documents(keyword: str, arguments: str) -> list[re.Match[str]]:
    if keyword not in {"RUN", "COPY", "ADD"}:
        return []
    return [match for match in _HERE_DOCUMENT.finditer(arguments) if match["name"]]


def workdir_of(steps: Sequence[Instruction], *, base: str = "") -> str:
    """Return the directory in which commands of an image start.

    Args:
        steps: The instructions.
        base: The directory of the images that ``FROM`` names; empty if it is not known.

    Returns:
        The absolute path; empty if it is the base image's, or below it.
    """

    def change(folder: str, text: str) -> str:
        joined = posixpath.join(folder, text) if text else folder
        return "/" + posixpath.normpath(joined).lstrip("/") if joined.startswith("/") else ""

    return _at_the_end(steps, "WORKDIR", base, change)


def user_of(steps: Sequence[Instruction], *, base: str = "") -> str:
    """Return the user that runs commands of an image, without its group.

    Args:
        steps: The instructions.
        base: The user of the images that ``FROM`` names; empty if it is not known.

    Returns:
        The name or number; empty if it is the base image's.
    """

    def change(user: str, text: str) -> str:
        return text.partition(":")[0] or user

    return _at_the_end(steps, "USER", base, change)


def _at_the_end(
    steps: Sequence[Instruction], name: str, base: str, change: Callable[[str, str], str]
) -> str:
    """Return a setting of the last stage; a stage begins with that of the one it is made from."""
    value, stage = base, ""
    stages, variables = dict[str, str](), dict[str, str]()
    for each in steps:
        text = substitute(each.arguments, variables).strip().strip("\"'")
        if each.name == "FROM":
            image, *rest = [word for word in text.split() if not word.startswith("--")] or [""]
            value, stage = stages.get(image.lower(), base), rest[-1].lower() if rest else ""
        elif each.name in {"ENV", "ARG"}:
            variables.update(assignments(each.arguments, variables))
        elif each.name == name:
            value = change(value, text)
        if stage:
            stages[stage] = value
    return value


def assignments(arguments: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that ``ENV`` or ``ARG`` sets."""
    try:
        words = shlex.split(arguments)
    except ValueError:  # a quote in the older form, such as ``ENV TEXT it's here``
        words = arguments.split()
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
    if step.name == "RUN" and step.command.startswith("--"):
        return f"RUN {step.command.split()[0][:40]} needs a container engine"
    if step.name in {"ADD", "COPY"}:
        options = [word for word in words if word.startswith("--")]
        other = [one for one in options if not one.startswith(("--chown=", "--chmod="))]
        if other:
            return f"{step.name} {other[0][:40]} needs a container engine"
        if any(word.startswith(_REMOTE) for word in words):
            return f"{step.name} of a remote file needs a container engine"
    return ""
