"""What a family draws: a task before it becomes a ``TerminalTask``, and the checks of it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from gem_terminal.task import Check

__all__ = ["Draft", "Family", "digest", "in_words", "python"]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A task as a family draws it.

    Args:
        instruction: What the agent is told.
        files: Files to create: absolute path to content.
        checks: What must hold in the end. Nothing done must fail one of them at least.
        solution: A bash script that solves the task.
        other_user: Whether a check runs programs of the agent as another user.
    """

    instruction: str
    files: Mapping[str, bytes]
    checks: Sequence[Check]
    solution: str
    other_user: bool = False


class Family(Protocol):
    """Draws tasks of one kind."""

    def __call__(self, random: Random, *, hard: bool) -> Draft:
        """Return a task; everything in it comes from the generator."""


def digest(path: str, content: bytes) -> Check:
    """Return the check that a file has a content."""
    return {"kind": "digest", "path": path, "sha256": hashlib.sha256(content).hexdigest()}


def python(code: str) -> str:
    """Return a script that runs a Python program."""
    return f"set -e\npython3 - <<'END'\n{code.strip()}\nEND\n"


def in_words(items: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last
