r"""Final answers in a model's text: in ``\boxed{...}``, between tags, or in a block of code.

Each function returns the last one, since models think aloud before they answer. Each takes time
linear in the length of the text, for any text.
"""

import re
import textwrap

__all__ = ["last_boxed", "last_code_block", "last_tagged", "unindented"]

_BOX = re.compile(r"\\boxed(?![a-zA-Z])|\\fbox(?![a-zA-Z])")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_UNBRACED = re.compile(r"[^\s$]*")
_FENCE = re.compile(r"```[ \t]*+[\w+#.-]*+[ \t]*+\r?\n")


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
    """Return the code of the last block between fences of three backticks.

    A block opens with a fence, an optional word for its language (``python``, ``c++``) and the end
    of the line, and closes with the next fence. Indentation that all lines share is removed.

    Returns:
        The code, which may be empty, without surrounding space; None if no block is closed.
    """
    code, fence = None, _FENCE.search(text)
    while fence is not None:
        end = text.find("```", fence.end())
        if end < 0:
            break
        code = text[fence.end() : end]
        fence = _FENCE.search(text, end + 3)
    return None if code is None else unindented(code.replace("\r\n", "\n"))


def unindented(code: str) -> str:
    """Return code without surrounding space, dedented if its first line is indented."""
    first = code.lstrip("\n")
    return textwrap.dedent(first).strip() if first[:1].isspace() else first.rstrip()
