r"""Final answers in a model's text: in ``\boxed{...}``, between tags, or in a block of code.

Each function returns the last one, since models think aloud before they answer. Each takes time
linear in the length of the text, for any text.
"""

import re
import textwrap
from collections.abc import Iterator
from functools import lru_cache

__all__ = ["NO_BOX", "NO_TAG", "last_boxed", "last_code_block", "last_tagged", "unindented"]

NO_BOX = r"no \boxed{} in the reply"
NO_TAG = "no <answer> tag in the reply"
"""What is said of a reply in which no answer was found."""

_BOX = re.compile(r"\\boxed(?![a-zA-Z])|\\fbox(?![a-zA-Z])")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_UNBRACED = re.compile(r"[^\s$]*")
_OPENING = re.compile(
    r"(?P<fence>(?<!`)`{3,}+|^[ \t]*+~{3,}+)[ \t]*+(?P<language>[\w+#.-]*+)[^\n`]*+\n", re.MULTILINE
)
_PYTHON = re.compile(r"py(?:thon)?[\d.]*+", re.IGNORECASE)


def last_boxed(text: str) -> str | None:
    r"""Return the content of the last box, without surrounding space.

    A box is ``\boxed{...}`` up to its own closing brace, or ``\boxed 42`` up to the next space or
    dollar sign; ``\fbox`` counts where there is no ``\boxed``.

    Returns:
        The content, which may be empty; None if there is no box, or the last one is not closed.
    """
    start = _after_last_box(text)
    if start is None:
        return None
    start += len(text[start:]) - len(text[start:].lstrip())
    if not text.startswith("{", start):
        unbraced = _UNBRACED.match(text, start)
        content = unbraced[0].rstrip(".,;:") if unbraced else ""
        return content or None
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0 and brace[0] == "}":
            return text[start + 1 : brace.start()].strip()
    return None


def _after_last_box(text: str) -> int | None:
    found: dict[str, int] = {match[0]: match.end() for match in _BOX.finditer(text)}
    return found.get("\\boxed", found.get("\\fbox"))


def last_tagged(text: str, tag: str = "answer") -> str | None:
    """Return the content of the last ``<tag>...</tag>``, without surrounding space.

    Returns:
        The content, which may be empty; None if there is no such pair of tags.
    """
    end = text.rfind(f"</{tag}>")
    start = text.rfind(f"<{tag}>", 0, max(end, 0))
    return None if start < 0 else text[start + len(tag) + 2 : end].strip()


def last_code_block(text: str) -> str | None:
    """Return the code of the last block between fences; the last one of Python, if there is any.

    A fence has three backticks or more, or tildes at the beginning of a line. After the opening
    one, the rest of the line names the language and perhaps more (``python title="a.py"``). The
    closing one is as long or longer, and begins a line; only if none does, it may end one. A fence
    with a language begins another block. Indentation that all lines share is removed.

    Returns:
        The code, which may be empty, without surrounding space; None if no block is closed.
    """
    blocks = list(_blocks(text))
    python = [code for language, code in blocks if _PYTHON.fullmatch(language)]
    code = python[-1] if python else blocks[-1][1] if blocks else None
    return None if code is None else unindented(code.replace("\r\n", "\n"))


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the language and the code of each block that is closed."""
    opening = _OPENING.search(text)
    unclosed = {"`": len(text), "~": len(text)}
    while opening is not None:
        fence, begin = opening["fence"].strip(), opening.end()
        end = None
        if len(fence) < unclosed[fence[0]]:
            end = _closing(fence, "^[ \t]*+").search(text, begin)
            end = end or _closing(fence, "").search(text, begin)
        if end is None:  # nor is a longer one further on
            unclosed[fence[0]] = min(unclosed[fence[0]], len(fence))
            opening = _OPENING.search(text, begin)
        elif end["language"]:
            opening = _OPENING.search(text, end.start())
        else:
            yield opening["language"], text[begin : end.start()]
            opening = _OPENING.search(text, end.end())


@lru_cache(maxsize=64)
def _closing(fence: str, before: str) -> re.Pattern[str]:
    """Return the pattern of a fence that closes another one, or begins the next block."""
    mark, length = re.escape(fence[0]), len(fence)
    return re.compile(
        rf"{before}(?<!{mark}){mark}{{{length},}}+[ \t]*+(?P<language>[\w+#.-]*+)[^\n{mark}]*+$",
        re.MULTILINE,
    )


def unindented(code: str) -> str:
    """Return code without surrounding space, dedented if its first line is indented."""
    first = code.lstrip("\n")
    return textwrap.dedent(first).strip() if first[:1].isspace() else first.rstrip()
