"""Whether what a page installs is enough for what it shows, as our pyproject files say."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["lacking"]

ROOT = Path(__file__).parents[2]
_CODE = re.compile(r"^```.*?^```|^(?: {4}.*\n)+", re.MULTILINE | re.DOTALL)
_MADE = re.compile(r"\bmake(?:_vec)?\(\s*\"([\w-]+:[^\"]+)\"")
_PROJECTS = {
    project["name"]: project
    for file in (
        ROOT / "pyproject.toml",
        *ROOT.glob("libs/*/*.toml"),
        *ROOT.glob("plugins/*/*.toml"),
    )
    if (project := tomllib.loads(file.read_text(encoding="utf-8")).get("project"))
}
_KNOWN = json.loads((ROOT / "gem_core" / "known.json").read_text(encoding="utf-8"))


def lacking(page: Path) -> list[str]:
    """Return the commands and ids of a page's code that no distribution installed so far provides.

    Args:
        page: A page in Markdown. Code before its first ``pip install`` is not looked at.
    """
    installed: set[str] = set()
    found = []
    for block in _CODE.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            if names := re.match(r"\s*(?:\$ )?pip install (.*)", line):
                installed |= set(_closure(_wanted(shlex.split(names[1], comments=True))))
            elif installed:
                needs = dict(_needs(line))
                found += [what for what, homes in needs.items() if not homes & installed]
    return found


def _wanted(words: Iterable[str]) -> Iterator[str]:
    return (word for word in words if not word.startswith("-"))


def _closure(requirements: Iterable[str]) -> Iterator[str]:
    """Yield the distributions of ours that requirements bring."""
    for requirement in requirements:
        ((name, extras),) = re.findall(r"^([\w-]*)(?:\[([\w,]+)\])?", requirement)
        if project := _PROJECTS.get(name):
            yield name
            yield from _closure(project["dependencies"])
            for extra in extras.split(",") if extras else ():
                yield from _closure(project["optional-dependencies"][extra])


def _needs(line: str) -> Iterator[tuple[str, set[str]]]:
    """Yield what a line of code uses, and the distributions that have it."""
    command = re.match(r"\s*(?:\$ )?gem-core (\S+)(.*)", line)
    if command and (homes := _homes("command", command[1])):
        yield f"gem-core {command[1]}", homes
    for word in _MADE.findall(line) if command is None else command[2].split():
        plain = word.strip("'\"").removeprefix("env=").replace("/", ":", 1)
        agent = re.match(r"agent=\[?([\w,-]+)", plain)
        kind, names = ("agent", agent[1].split(",")) if agent else ("environment", [plain])
        for name in names:
            if homes := _homes(kind, name) | _homes(kind, name.partition(":")[0]):
                yield word, homes


def _homes(kind: str, name: str) -> set[str]:
    return {one for one, kinds in _KNOWN.items() if name in kinds.get(kind, ())}
