"""A user that is a program: it plays a scenario by rules, the same way each time.

The user states a goal, tells facts when asked, and agrees when asked to confirm. It goes on to the
next goal when the assistant reports that this one is done, or refuses it. It ends the dialogue when
no goal is left, in a message that says nothing else, so never in the message that says yes. An
assistant that gets nowhere loses its patience after ``PATIENCE`` messages in a row.
"""

import enum
import re

from gem_core import Action, Info, Observation
from gem_core.agent import BaseAgent
from gem_core.env import Env
from gem_core.observation import text_of
from gem_tau.scenario import Fact, Goal, Scenario
from gem_tau.users.phrases import (
    asks_for,
    asks_to_confirm,
    asks_whether_complete,
    asks_whether_more,
    postpones,
    refuses,
    reports_done,
    requests_in,
)

__all__ = ["PATIENCE", "ScriptedUser"]

PATIENCE = 4
"""Messages in a row that do not get the user further; then it ends the dialogue."""
_AMOUNT = re.compile(r"\d")
_STOP = "###STOP###"
_YES = "Yes, please go ahead."
_INSIST = "I would really like that, please check again. {}"
_WAIT = "Thank you. Please tell me when it is done."
_PATIENT = "Thank you, I will wait."
_COMPLETE = "Yes, that is all of it."
_UNKNOWN = "I am sorry, I do not know my {}."


class _Phase(enum.Enum):
    """How far the current goal is."""

    UNSTATED = enum.auto()
    STATED = enum.auto()
    AGREED = enum.auto()


class ScriptedUser(BaseAgent):
    """Plays the scenario of the task of a ``DialogueEnv``."""

    def __init__(self) -> None:
        self._begin(Scenario())

    def _begin(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._goal = 0
        self._phase = _Phase.UNSTATED
        self._has_changed = self._has_insisted = False
        self._told: set[str] = set()
        self._stuck = 0

    def reset(self, env: Env) -> None:
        """Take the scenario of the episode."""
        dialogue = env.unwrapped.env  # of the view of this seat
        self._begin(dialogue.running_task.scenario)

    def act(self, observation: Observation, info: Info) -> Action:
        """Return the next message."""
        message = text_of(observation).lower()
        if self._phase is _Phase.UNSTATED:
            return self._state_next()
        if self._current.kind == "refusal" and refuses(message):
            return self._next_goal()
        if asks_to_confirm(message):
            return self._answer_proposal(message)
        asked = requests_in(message) if self._current.kind == "question" else message
        told = [*self._facts_asked_for(asked), *self._unknown_asked_for(asked)]
        if self._is_dealt_with(message, told):
            return self._next_goal()
        return self._tell(told) if told else self._go_on(message)

    @property
    def _current(self) -> Goal:
        return self._scenario.goals[self._goal]

    def _state_next(self) -> str:
        """State the current goal, if there is one left."""
        if self._goal >= len(self._scenario.goals):
            return _STOP
        self._phase, self._stuck = _Phase.STATED, 0
        return self._current.say

    def _next_goal(self) -> str:
        self._goal += 1
        self._phase = _Phase.UNSTATED
        self._has_changed = self._has_insisted = False
        return self._state_next()

    @property
    def _wish(self) -> str:
        """The current goal in words, after a change of mind."""
        return self._current.change if self._has_changed else self._current.say

    def _facts_asked_for(self, message: str) -> list[str]:
        """Return the sentences that a message asks for."""
        facts: tuple[Fact, ...] = (*self._scenario.identity, *self._current.facts)
        told = [fact.say for fact in facts if asks_for(fact.name, message, fact.ask)]
        return list(dict.fromkeys(told))

    def _unknown_asked_for(self, message: str) -> list[str]:
        """Return that the user does not know what a message asks for."""
        known = {fact.name for fact in (*self._scenario.identity, *self._current.facts)}
        return [
            _UNKNOWN.format(name.replace("_", " "))
            for name in self._scenario.unknown
            if name not in known and asks_for(name, message)
        ]

    def _tell(self, told: list[str]) -> str:
        self._stuck = 0
        self._told.update(told)
        return " ".join(told)

    def _answer_proposal(self, message: str) -> str:
        """Agree, but not to what is offered with the answer to a question."""
        if self._current.kind != "question":
            return self._confirm(self._facts_asked_for(message))
        return self._next_goal() if _AMOUNT.search(message) else _YES

    def _confirm(self, facts: list[str]) -> str:
        """Agree to what was proposed, or change one's mind for the first time."""
        goal = self._current
        if goal.change and not self._has_changed:
            self._has_changed = True
            return self._tell([goal.change])
        self._phase = _Phase.AGREED
        new = [fact for fact in facts if fact not in self._told]
        condition = [f"Provided that {goal.condition}:"] if goal.condition else []
        return self._tell([*new, *condition, _YES])

    def _is_dealt_with(self, message: str, told: list[str]) -> bool:
        """Return whether the current goal is done, answered or refused."""
        kind = self._current.kind
        if kind == "question":
            is_open = told or postpones(message) or message.rstrip().endswith("?")
            return not is_open or asks_whether_more(message)
        if kind == "refusal":
            return refuses(message) or asks_whether_more(message)
        done = reports_done(message) or asks_whether_more(message)
        if self._phase is _Phase.AGREED and done:
            return True
        return self._has_insisted and (refuses(message) or asks_whether_more(message))

    def _go_on(self, message: str) -> str:
        """Answer a message that neither asks for anything known nor deals with the goal."""
        return self._insist() if refuses(message) else self._wait(message)

    def _insist(self) -> str:
        """Insist once on what was refused."""
        self._has_insisted = True
        self._stuck = 0
        return _INSIST.format(self._wish)

    def _wait(self, message: str) -> str:
        """Answer a message that does not get the user further.

        If it asks something for the second time, the user tells everything about the goal.
        """
        if asks_whether_complete(message):
            return _COMPLETE
        self._stuck += 1
        if self._stuck >= PATIENCE:
            return _STOP
        if self._phase is _Phase.AGREED:
            return _WAIT
        if postpones(message):
            return _PATIENT
        facts = [fact.say for fact in self._current.facts if self._stuck > 1 and "?" in message]
        return " ".join([self._wish, *facts])
