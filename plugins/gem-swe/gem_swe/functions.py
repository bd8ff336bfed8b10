"""The functions of an agent that mends a repository."""

from gem_core.tool import Function
from gem_terminal.functions import FUNCTIONS as _TERMINAL

__all__ = ["FUNCTIONS"]

_SHELL = _TERMINAL[0]
FUNCTIONS = (
    _SHELL,
    Function(
        "view",
        "Read a file with the numbers of its lines, or list a folder.",
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "From the repository, or absolute."},
                "lines": {
                    "type": "string",
                    "description": "The first and the last line, such as 10-40; all if left out.",
                },
            },
            "required": ["path"],
        },
    ),
    Function(
        "edit",
        "Replace a text in a file. It must occur there exactly once. An empty old text creates the "
        "file.",
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "From the repository, or absolute."},
                "old": {"type": "string", "description": "The text as it stands in the file."},
                "new": {"type": "string", "description": "The text that takes its place."},
            },
            "required": ["path", "old", "new"],
        },
    ),
    Function(
        "submit",
        "Say that the work is done. It is graded then, and the episode ends.",
        {"type": "object", "properties": {}},
    ),
)
"""What an agent can call, with a call format."""
