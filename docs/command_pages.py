"""Writes the help of commands as Markdown: a table for each section, what they share only once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from gem_core.plugins import default_registry
from gem_core.specs import COMMANDS, load_entry_point

__all__ = ["all_commands", "commands_page", "keys_of"]

HEAD = """\
# Commands

`gem-core COMMAND --help` shows the same. Keys are written as `key=value`; each is listed with its
default, and `...` marks one that must be given. [Composition](../composition.md) explains how keys
choose environments, tools, wrappers and agents.
"""
Section = tuple[str, list[tuple[str, str]]]


class SectionFormatter(click.HelpFormatter):
    """Collects the sections of a help text instead of laying them out."""

    def __init__(self) -> None:
        super().__init__(width=10_000)
        self.sections: list[Section] = []

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        self.sections.append((name, []))
        yield

    def write_dl(self, rows: Any, col_max: int = 30, col_spacing: int = 2) -> None:
        self.sections[-1][1].extend(rows)


def all_commands() -> Iterator[tuple[str, click.Command]]:
    """Yield the commands and subcommands of everything that is installed, by what is typed."""
    for spec in default_registry().list(COMMANDS):
        command: Any = spec.load()
        yield from _below(spec.id, command)


def _below(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        for word, inner in sorted(command.commands.items()):
            yield from _below(f"{name} {word}", inner)
    for word, entry_point in getattr(command, "subcommands", {}).items():
        yield from _below(f"{name} {word}", load_entry_point(entry_point))


def commands_page() -> Iterator[str]:
    """Yield the page of the command line."""
    yield HEAD
    written: dict[tuple[Any, ...], str] = {}
    for name, command in all_commands():
        yield f"## {name}\n"
        yield from _command(name, command, written)


def _command(name: str, command: Any, written: dict[tuple[Any, ...], str]) -> Iterator[str]:
    """Yield the help of a command; a section that an earlier one has is a link to that one."""
    context = click.Context(command, info_name=f"gem-core {name}")
    yield f"```text\n{' '.join(command.get_usage(context).split())}\n```\n"
    yield f"{_prose(command.help)}\n"
    for title, rows in _sections(command, context):
        first = written.setdefault((title, *rows), name)
        if first != name:
            yield f"*{title}*: as for [`{first}`](#{first.replace(' ', '-')}).\n"
        else:
            yield f"**{title}**\n"
            yield from _table(rows)
    yield from _examples(command.epilog)


def keys_of(command: click.Command) -> list[tuple[str, str]]:
    """Return the keys of a command that Hydra configures, with their meanings."""
    sections = dict(_sections(command, click.Context(command)))
    return sections.get("Keys", [])


def _sections(command: click.Command, context: click.Context) -> list[Section]:
    """Return the sections of a help text, without the option that prints it."""
    formatter = SectionFormatter()
    command.format_options(context, formatter)
    kept = [
        (title, [row for row in rows if "--help" not in row[0]])
        for title, rows in formatter.sections
    ]
    return [(title, rows) for title, rows in kept if rows]


def _table(rows: list[tuple[str, str]]) -> Iterator[str]:
    yield "| key | meaning |\n|---|---|"
    for key, meaning in rows:
        cell = " ".join(meaning.split()).replace("|", "\\|")
        yield f"| `{key.replace('|', chr(92) + '|')}` | {_escaped(cell)} |"
    yield ""


def _prose(text: str | None) -> str:
    paragraphs = (text or "").replace("\b\n", "").split("\n\n")
    return "\n\n".join(_escaped(" ".join(one.split())) for one in paragraphs)


def _escaped(text: str) -> str:
    """Keep signs of HTML and Markdown from being read as such."""
    for sign in "<*_":
        text = text.replace(sign, f"\\{sign}")
    return text


def _examples(epilog: str | None) -> Iterator[str]:
    lines = (epilog or "").replace("\b\n", "").strip().splitlines()
    if lines:
        title, *examples = lines
        shown = "\n".join(line.removeprefix("  ") for line in examples)
        yield f"{title}\n\n```text\n{shown}\n```\n"
