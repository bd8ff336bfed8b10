"""An assistant that knows its task: it asks, proposes, waits for a yes, and makes the calls."""

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from gem_core import Action, Env, Info, Observation
from gem_core.agent import BaseAgent
from gem_tau.scenario import Goal
from gem_tau.task import Call, DialogueTask

__all__ = ["DialogueOracle", "written"]

_WHO = "Could you please tell me your name, your email address and your zip code?"
_CONFIRM = "Do you confirm this? (yes/no)"
_REPORT = "This has been done."
_REFUSAL = "I am sorry, I cannot do that: our policy does not allow it."
_ASK = "Please use these functions, in this order, and tell me what they show:\n{}"
_MORE = "Is there anything else I can help you with?"
_MOST_PROPOSALS = 3


class DialogueOracle(BaseAgent):
    """Plays the assistant with the reference calls of the task.

    For each goal of the user it makes the calls that read, proposes those that write, waits for the
    answer, makes them, and reports with the texts that it has to say. Calls that are the user's to
    make it asks for. Calls and texts without a goal belong to the first one.
    """

    def reset(self, env: Env) -> None:
        """Take the task of the episode."""
        view: Any = env.unwrapped
        self._plan = _plan(view.env.running_task)
        self._step = -1
        self._proposals = 0

    def act(self, observation: Observation, info: Info) -> Action:
        """Return the next call or message; propose again what was not answered with yes."""
        may_repeat = self._proposals and "yes" not in str(observation).lower()
        if not may_repeat or self._proposals >= _MOST_PROPOSALS:
            self._proposals = 0
            self._step = min(self._step + 1, len(self._plan) - 1)
        text = self._plan[self._step]
        self._proposals += text.endswith(_CONFIRM)
        return text


def _plan(task: DialogueTask) -> list[str]:
    """Return the actions that do a task; the last one may be repeated."""
    kind = task.domain.toolkit.kind_of
    plan = [_WHO]
    for number, goal in enumerate(task.scenario.goals or (Goal(""),)):
        calls = [call for call in task.actions if (call.goal or 0) == number]
        reads = [one for one in calls if one.side == "assistant" and kind(one.name) == "read"]
        others = [one for one in calls if one not in reads]
        writes = [one for one in others if one.side == "assistant"]
        plan += map(written, reads)
        plan += [_proposal(writes)] if writes else []
        plan += _made(others)
        plan.append(_report(task, number, goal, has_written=bool(writes)))
    return [*plan, _MORE]


def _made(calls: Sequence[Call]) -> Iterator[str]:
    """Yield the calls of the assistant, and requests for those of the user, in their order."""
    for side, group in itertools.groupby(calls, key=lambda one: one.side):
        if side == "assistant":
            yield from map(written, group)
        else:
            yield _ASK.format("\n".join(f"- {call}" for call in group))


def _proposal(calls: list[Call]) -> str:
    listed = "\n".join(f"- {call.name}: {json.dumps(dict(call.arguments))}" for call in calls)
    return f"This is what I am going to do:\n{listed}\n{_CONFIRM}"


def _report(task: DialogueTask, number: int, goal: Goal, *, has_written: bool) -> str:
    said = [mention.text for mention in task.communicate if (mention.goal or 0) == number]
    parts = [_REFUSAL] if goal.kind == "refusal" else []
    parts += [_REPORT] if has_written else []
    parts += [f"Here is what you asked for: {'; '.join(said)}."] if said else []
    return " ".join([*parts, _MORE])


def written(call: Call) -> str:
    """Return a call as the action of an assistant, which every call format of a dialogue reads."""
    return json.dumps({"name": call.name, "arguments": dict(call.arguments)})
