"""What a scripted engine says to programs, for tests: it calls their shells."""

import json

from gem_serve.gateway.testing.engine import Script

__all__ = ["shelling"]

_SHELLS = {"exec_command": "cmd", "Bash": "command", "bash": "command", "shell": "command"}
"""The names of shells, and of the argument that is the command."""
_SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The command by which mini-swe-agent ends."""


def shelling(*commands: str) -> Script:
    """Return a script of a model that runs commands, one in each reply, and then says that it did.

    Args:
        commands: The commands.
    """

    def say(prompt: str) -> str:
        known = (name for name in _SHELLS if f'"name": "{name}"' in prompt)
        name = next(known, None)
        if name is None:  # a title, or a summary
            return "A task in a shell"
        done = prompt.count("<|im_start|>tool")
        if done < len(commands):
            return _call(name, commands[done])
        return _call(name, _SUBMIT) if _SUBMIT in prompt else "The task is done."

    return say


def _call(name: str, command: str) -> str:
    arguments = {_SHELLS[name]: command}
    if name in {"Bash", "bash"}:
        arguments["description"] = "Do a part of the task"
    call = json.dumps({"name": name, "arguments": arguments})
    return f"I run a command.\n<tool_call>\n{call}\n</tool_call>"
