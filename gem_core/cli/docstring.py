"""Docstrings for the terminal: paragraphs fill its width, and markup is shown as styles."""

import inspect
import re
from collections.abc import Iterator
from itertools import groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gem_core.options import visible

__all__ = ["rendered"]

_MARKUP = re.compile(
    r"(?::[\w:]+:)?(`{1,2})(?P<code>[^`]+)\1|"
    r"\*\*(?P<strong>\w[^*]*)\*\*|(?<![\w*])\*(?P<emphasis>\w[^*]*)\*(?![\w*])"
)
_STYLES = {"code": "cyan", "strong": "bold", "emphasis": "italic"}
_ENTRY = re.compile(r"(\*{0,2}[A-Za-z_][\w.]*(?: \([^)]*\))?):(?:\s+|$)")
"""The name of an argument or an error, in a section such as ``Args:``."""
_ITEM = re.compile(r"[-*] |\d+\. ")
_AS_WRITTEN = re.compile(r">>> |\.\.\. |```|\|")
"""The beginnings of lines that are not prose: examples of Python, fences of code, tables."""


def rendered(docstring: str) -> RenderableType:
    """Return a docstring in Google's style, with markup of Markdown or reStructuredText."""
    blocks = _blocks(visible(inspect.cleandoc(docstring)).splitlines())
    return Group(*(part for block in blocks for part in _parts(block)))


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Yield the lines between blank lines, and code after ``::`` with its blank lines."""
    code: list[str] = []
    for is_blank, group in groupby(lines, lambda line: not line.strip()):
        block = list(group)
        if code and (is_blank or block[0].startswith(" ")):
            code += block
            continue
        if code:
            yield code
            code = []
        if is_blank:
            yield [""]
        elif block[-1].endswith("::"):
            yield [*block[:-1], block[-1][:-1]]
            code = ["```"]
        else:
            yield block
    if code:
        yield code


def _parts(block: list[str]) -> Iterator[RenderableType]:
    """Yield the paragraphs, items and entries of a block, or all of it as it is written."""
    if _AS_WRITTEN.match(block[0].lstrip()):
        yield Text("\n".join(line for line in block if not line.lstrip().startswith("```")))
        return
    is_entry = False
    for is_entry, group in groupby(_joined(block), lambda part: bool(part[1])):
        if not is_entry:
            for indent, _, text in group:
                styled = _styled(text)
                yield Padding(styled, (0, 0, 0, indent), expand=False) if indent else styled
            continue
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column()
        for indent, name, text in group:
            table.add_row(Text(" " * indent + name, "bold"), _styled(text))
        yield table


def _joined(block: list[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the indentation, the name and the text of each entry; others have no name."""
    indent, name, text = 0, "", ""
    for line in block:
        plain = line.strip()
        at = len(line) - len(line.lstrip())
        entry = _ENTRY.match(plain) if at and (not text or at <= indent or not name) else None
        goes_on = bool(text) and (at > indent or not name) and not _ITEM.match(plain)
        if entry is None and goes_on and not (at > indent and text.endswith(":") and not name):
            text = f"{text} {plain}"
            continue
        if name or text:
            yield indent, name, text
        indent, name, text = at, "", plain
        if entry is not None:
            name, text = entry[1], plain[entry.end() :]
    yield indent, name, text


def _styled(text: str) -> Text:
    styled, end = Text(), 0
    for match in _MARKUP.finditer(text):
        kind = match.lastgroup or "code"
        styled.append(text[end : match.start()])
        styled.append(match[kind], _STYLES[kind])
        end = match.end()
    return styled.append(text[end:])
