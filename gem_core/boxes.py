r"""The content of a box: an answer, often with LaTeX around it that only formats it."""

import re

__all__ = ["unwrapped", "with_plain_box"]

_COMMAND = re.compile(
    r"\\(?:text\w*|math(?:rm|bf|it|tt|sf|normal)|operatorname|emph|mbox|boxed)\*?"
)
_BOX = "\\boxed{"
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_MATHS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"))
_STRUCTURE = re.compile(r"[,:;\"'\n]")
_STOPPED = re.compile(r"(?:[^\s.]+|[-+]?[\d,]*\.\d+|.*[}$])\.", re.DOTALL)
_LONGEST = 10_000
_MOST_LAYERS = 20


def unwrapped(content: str) -> str:
    r"""Return the content of a box without the LaTeX that only formats it.

    ``\text{2}`` and similar commands, ``{2}``, ``$2$``, ``\(2\)`` and the full stop of ``2.`` are
    2, also inside one another. Braces that hold a structure stay, such as ``{"a": 1}`` and
    ``{1, 2}``, and so do a full stop after several words or an abbreviation, and a content above
    10,000 characters.

    Example:
        >>> unwrapped(r"{\text{2}}.")
        '2'
    """
    found = content.strip()
    if len(found) > _LONGEST:
        return found
    for _ in range(_MOST_LAYERS):
        inner = _without_layer(found).strip()
        if not inner or inner == found:
            break
        found = inner
    return found


def with_plain_box(text: str) -> str:
    r"""Return a text with the content of its last ``\boxed{...}`` unwrapped."""
    start = text.rfind(_BOX)
    end = _group_end(text, start + len(_BOX) - 1) if start >= 0 else -1
    if end < 0:
        return text
    content = text[start + len(_BOX) : end - 1]
    return f"{text[:start]}{_BOX}{unwrapped(content)}}}{text[end:]}"


def _without_layer(text: str) -> str:
    for begin, end in _MATHS:
        inner = text[len(begin) : -len(end)]
        if text == f"{begin}{inner}{end}" and inner and "$" not in inner:
            return inner
    command = _COMMAND.match(text)
    start = len(text) - len(text[command.end() :].lstrip()) if command else 0
    if text.startswith("{", start) and _group_end(text, start) == len(text):
        inner = text[start + 1 : -1]
        return inner if command or not _STRUCTURE.search(inner) else text
    return text[:-1] if _STOPPED.fullmatch(text) else text


def _group_end(text: str, start: int) -> int:
    """Return the position after the brace that closes the one at ``start``; -1 without one."""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return brace.end()
    return -1
