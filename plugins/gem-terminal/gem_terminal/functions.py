"""The functions of an agent at a terminal."""

from gem_core.tool import Function

__all__ = ["FUNCTIONS"]

FUNCTIONS = (
    Function(
        "shell",
        "Run a command in bash. The directory, variables and jobs stay from call to call. While a "
        "command is still running, the text goes to its standard input instead; C-c interrupts it.",
        {
            "type": "object",
            "properties": {
                "command": {
                    "type": "string",
                    "description": "The command; several lines are fine.",
                },
                "timeout": {"type": "number", "description": "Seconds to wait for it."},
            },
            "required": ["command"],
        },
    ),
    Function(
        "write_file",
        "Write a file, and create its folders.",
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The absolute path."},
                "content": {"type": "string"},
            },
            "required": ["path", "content"],
        },
    ),
    Function(
        "finish",
        "Say that the task is done. It is graded then, and the episode ends.",
        {"type": "object", "properties": {}},
    ),
)
"""What an agent can call, with a call format."""
