"""Judges: they decide whether statements about a dialogue are true."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gem_core.agent import Agent, Reply
from gem_core.api import make_agent
from gem_core.calls.written import json_at
from gem_core.errors import ConfigError, GemError
from gem_core.faults import boundary
from gem_core.maybe_async import then

__all__ = ["AgentJudge", "Judge", "JudgeError", "make_judge"]

Judge = Callable[[Sequence[tuple[str, str]], Sequence[str]], Any]
"""Gets a dialogue, as pairs of speaker and text, and statements; returns a list with a truth value
for each, or an awaitable of it."""

_PROMPT = """Below is a conversation between an assistant and a user, and a list of statements
about it. Decide for each statement whether the conversation makes it true. Judge only by what was
said.

Conversation:
{dialogue}

Statements:
{statements}

Answer with a JSON list that has one object for each statement, in the same order, such as
[{{"statement": 1, "reason": "...", "true": false}}]"""


class JudgeError(GemError, RuntimeError):
    """The answer of a judge cannot be used; it is a fault, never a reward."""


class AgentJudge:
    """A judge that asks an agent, such as a model.

    Args:
        agent: The agent; it is asked once for each episode.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def __call__(self, dialogue: Sequence[tuple[str, str]], statements: Sequence[str]) -> Any:
        """Return a verdict on each statement, or an awaitable of them.

        Raises:
            JudgeError: The answer has no list of verdicts, or another number of them.
        """
        prompt = _PROMPT.format(
            dialogue="\n".join(f"{speaker}: {text}" for speaker, text in dialogue),
            statements="\n".join(f"{i}. {text}" for i, text in enumerate(statements, start=1)),
        )
        with boundary("grader"):
            answer: Any = self._agent.act(prompt, {})
        return then(answer, lambda said: _verdicts(said, len(statements)))


def _verdicts(answer: Any, count: int) -> list[bool]:
    text = str(answer.action if isinstance(answer, Reply) else answer)
    start = text.find("[")
    try:
        rows = json_at(text, start)[0] if start >= 0 else None
    except ValueError:
        rows = None
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and isinstance(row.get("true"), bool) for row in rows
    ):
        raise JudgeError(f"The judge's answer has no list of verdicts: {json.dumps(text[:200])}")
    if len(rows) != count:
        raise JudgeError(f"The judge gave {len(rows)} verdicts on {count} statements.")
    return [row["true"] for row in rows]


def make_judge(judge: str | Mapping[str, Any] | Judge | None) -> Judge | None:
    """Return a judge from the id of an agent, a mapping with an ``id`` and parameters, or itself.

    Raises:
        ConfigError: It is none of these.
    """
    if judge is None:
        return None
    if isinstance(judge, str | Mapping):
        return AgentJudge(make_agent(judge))
    if not callable(judge):
        raise ConfigError(f"judge= takes the id of an agent or a function; got {judge!r}.")
    return judge
