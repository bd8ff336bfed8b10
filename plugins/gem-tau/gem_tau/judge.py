"""Judges: they decide whether statements about a dialogue are true."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any

from gem_core.agent import Agent
from gem_core.calls.written import json_at
from gem_core.errors import ConfigError
from gem_core.faults import boundary
from gem_core.maybe_async import drive
from gem_tasks.judge import Asker, JudgeError

__all__ = ["AgentJudge", "Judge", "JudgeError", "Verdicts", "make_judge"]

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


class Verdicts(list[bool]):
    """The truth value of each statement.

    Args:
        values: The truth values.
        spent: What the judge has used, as ``info["spent"]`` has it.
    """

    def __init__(self, values: Iterable[bool], spent: Mapping[str, float]) -> None:
        super().__init__(values)
        self.spent = dict(spent)


class AgentJudge:
    """A judge that asks an agent, such as a model; see ``gem_tasks.judge.Asker``.

    Args:
        agent: The agent, its id, or a mapping with an ``id`` and parameters; it is asked once for
            each episode, and again if it gives no verdict.
    """

    def __init__(self, agent: str | Mapping[str, Any] | Agent) -> None:
        self._asker = Asker(agent)

    def __call__(self, dialogue: Sequence[tuple[str, str]], statements: Sequence[str]) -> Any:
        """Return ``Verdicts`` on the statements, or an awaitable of them.

        Raises:
            JudgeError: No reply has a verdict on each statement.
        """
        prompt = _PROMPT.format(
            dialogue="\n".join(f"{speaker}: {text}" for speaker, text in dialogue),
            statements="\n".join(f"{i}. {text}" for i, text in enumerate(statements, start=1)),
        )
        return drive(self._judging(prompt, len(statements)))

    def _judging(self, prompt: str, count: int) -> Generator[Any, Any, Verdicts]:
        with boundary("grader"):
            found = yield from self._asker.asking(prompt, lambda text: _verdicts(text, count))
        return Verdicts(*found)


def _verdicts(text: str, count: int) -> list[bool]:
    start = text.find("[")
    try:
        rows = json_at(text, start)[0] if start >= 0 else None
    except ValueError:
        rows = None
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and isinstance(row.get("true"), bool) for row in rows
    ):
        raise ValueError(
            'answer with a JSON list of objects such as {"statement": 1, "true": false}.'
        )
    if len(rows) != count:
        raise ValueError(f"there are {len(rows)} verdicts on {count} statements.")
    return [row["true"] for row in rows]


def make_judge(judge: str | Mapping[str, Any] | Judge | None) -> Judge | None:
    """Return a judge from the id of an agent, a mapping with an ``id`` and parameters, or itself.

    Raises:
        ConfigError: It is none of these.
    """
    if judge is None:
        return None
    if isinstance(judge, str | Mapping):
        return AgentJudge(judge)
    if not callable(judge):
        raise ConfigError(f"judge= takes the id of an agent or a function; got {judge!r}.")
    return judge
