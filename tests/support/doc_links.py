"""Links of a page of the documentation: whether their files and headings exist."""

import functools
import re
from pathlib import Path

__all__ = ["broken_links"]

_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")
_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def broken_links(page: Path) -> list[str]:
    """Return the relative links of a page whose file or heading does not exist.

    Args:
        page: A page in Markdown. Headings are addressed as GitHub addresses them.
    """
    return [
        f"{file}#{heading}" if heading else file
        for file, heading in _LINK.findall(page.read_text(encoding="utf-8"))
        if not _is_there(page.parent / file if file else page, heading)
    ]


def _is_there(target: Path, heading: str) -> bool:
    if not target.exists():
        return False
    return not heading or target.suffix != ".md" or heading in _headings(target)


@functools.cache
def _headings(page: Path) -> set[str]:
    without_code = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", without_code, re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles]
    return {re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-") for title in plain}
