"""What a terminal would show of an output: without escapes, and lines as they ended."""

import re

__all__ = ["plain_text"]

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, movements of the cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS and others
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def plain_text(output: str) -> str:
    """Return an output without escapes and control characters.

    A carriage return within a line begins the line anew, as progress bars do.

    Args:
        output: The output.
    """
    text = _ESCAPES.sub("", output).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(_last_of(line) for line in text.split("\n"))
    return _CONTROLS.sub("", text)


def _last_of(line: str) -> str:
    parts = line.split("\r")
    return next((part for part in reversed(parts) if part), "")
