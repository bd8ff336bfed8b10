"""What a Dockerfile needs that machines of ``local`` may not have, read from its text."""

import re
from collections.abc import Iterator, Sequence

from gem_sandbox.machines.local.bases import Base
from gem_workers.dockerfile import Instruction, needs_engine

__all__ = ["doubts", "why_engine"]

_INSTALLS = re.compile(
    r"\b(?:(?:apt(?:-get)?|apk|dnf|yum|microdnf|zypper)\s+(?:-\S+\s+)*(?:install|add|update)"
    r"|(?:pip3?|uv|npm|pnpm|yarn|gem|cargo|go|conda|mamba)\s+(?:-\S+\s+)*"
    r"(?:pip\s+)?(?:install|add|sync|ci|get|fetch|create|i)\b|install\.packages\()"
)
_FETCHES = re.compile(
    r"\b(?:curl|wget|git\s+(?:-\S+\s+)*(?:clone|fetch|pull))\b|\bmvn\b|\bgradle\b"
)
_SYSTEM = re.compile(r"\b(?:apt(?:-get)?|apk|dnf|yum|microdnf|zypper)\b")


def why_engine(steps: Sequence[Instruction]) -> str:
    """Return why only a container engine can carry out a Dockerfile; empty if others can."""
    for step in steps:
        if why := needs_engine(step):
            return f"Dockerfile line {step.line}: {why}"
    stages = sum(step.name == "FROM" for step in steps)
    return "" if stages == 1 else f"the Dockerfile has {stages} stages"


def doubts(steps: Sequence[Instruction], base: Base, *, has_network: bool) -> Iterator[str]:
    """Yield why a Dockerfile may fail, or make another image than it should.

    Args:
        steps: The instructions of the Dockerfile.
        base: What it starts from.
        has_network: Whether its commands have a network.
    """
    if base.description:
        yield f"the base is {base.description}"
    for step in steps:
        if step.name != "RUN":
            continue
        text = _text(step)
        installs, fetches = _INSTALLS.search(text), _FETCHES.search(text)
        found = installs or fetches
        if found and not has_network:
            yield f"RUN at line {step.line} needs a network ({found[0]}), and builds have none"
            return
        if not base.folder and _SYSTEM.search(text):
            yield f"RUN at line {step.line} installs packages, which this host's programs cannot"
            return


def _text(step: Instruction) -> str:
    return "\n".join([step.arguments, *(one.content for one in step.here_documents)])
