"""A user that is a program: it plays a scenario by rules; a seed chooses its words.

The user states a goal, tells facts when asked, and agrees to what is proposed: not to a question
who it is, to an offer that replaces what was refused, or to a change where it only asked. It goes
on to the next goal when the assistant reports that this one is done, answers it, or refuses it. It
ends the dialogue when no goal is left, in a message that says nothing else, so never in the message
that says yes. An assistant that gets nowhere loses its patience after ``PATIENCE`` messages in a
row. A user who has tools uses those that a message asks for, tells what they show, and looks
whether the goal is reached before it goes on.
"""

import enum
import json
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from gem_core import Action, Info, Observation
from gem_core.agent import BaseAgent
from gem_core.env import Env
from gem_core.observation import text_of
from gem_tau.mentions import unsaid
from gem_tau.scenario import Fact, Goal, Scenario
from gem_tau.task import Mention
from gem_tau.toolkit import Errand, UserToolkit
from gem_tau.users.phrases import (
    asks_for,
    asks_for_oneself,
    asks_to_confirm,
    asks_whether_complete,
    asks_whether_more,
    has_amount,
    offers_instead,
    postpones,
    refuses,
    reports_done,
    requests_in,
)

__all__ = ["PATIENCE", "ScriptedUser"]

PATIENCE = 4
"""Messages in a row that do not get the user further; then it ends the dialogue."""
_STOP = "###STOP###"
_YES = (
    "Yes, please go ahead.",
    "Yes, go ahead, please.",
    "Yes, that is what I want. Please go ahead.",
)
_YES_IF = ("Yes, please go ahead, provided that {}.", "Yes, if {}, please go ahead.")
_YES_ITS_ME = ("Yes, that is me.", "Yes, that is right.")
_INSIST = (
    "I would really like that, please check again. {}",
    "That is a pity. Could you check again, please? {}",
)
_NOTHING_ELSE = ("No, thank you, I would rather not. {}", "No, that is not what I want. {}")
_ONLY_ASKING = (
    "No, please do not change anything, I only want to know. {}",
    "I am only asking, so please change nothing. {}",
)
_WAIT = ("Thank you. Please tell me when it is done.", "Thanks. Let me know when it is done.")
_PATIENT = ("Thank you, I will wait.", "Sure, take your time.")
_NOT_YET = ("It does not work yet. This is what I see:", "No, there is still something wrong:")
_COMPLETE = ("Yes, that is all of it.", "Yes, that is everything.")
_UNKNOWN = ("I am sorry, I do not know my {}.", "Sorry, I do not have my {} at hand.")


class _Phase(enum.Enum):
    """How far the current goal is."""

    UNSTATED = enum.auto()
    STATED = enum.auto()
    AGREED = enum.auto()


class ScriptedUser(BaseAgent):
    """Plays the scenario of the task of a ``DialogueEnv``."""

    def __init__(self) -> None:
        self._rng: Random | None = None
        self._tools: type[UserToolkit] | None = None
        self._begin(Scenario(), ())

    def seed_episode(self, seed: int) -> None:
        """Choose words by a seed; without one, the first of several ways to say it is taken."""
        self._rng = Random(seed)

    def _begin(self, scenario: Scenario, mentions: Sequence[Mention]) -> None:
        self._scenario = scenario
        self._mentions = mentions
        self._goal = 0
        self._phase = _Phase.UNSTATED
        self._has_changed = self._has_insisted = False
        self._told: set[Fact] = set()
        self._stuck = 0
        self._errands: list[Errand] = []
        self._seen: list[str] = []
        self._heard = ""
        self._looks_up = ""
        self._is_checking = False

    def reset(self, env: Env) -> None:
        """Take the scenario of the episode."""
        dialogue = env.unwrapped.env  # of the view of this seat
        task = dialogue.running_task
        self._begin(task.scenario, task.communicate)
        self._tools = task.domain.user_toolkit

    def act(self, observation: Observation, info: Info) -> Action:
        """Return the next message, or a call."""
        text = text_of(observation)
        if self._phase is _Phase.UNSTATED:
            return self._state_next()
        if self._errands:
            return self._go_on_with_errands(text)
        if self._tools is not None:
            self._errands = self._tools.errands_in(text)
            if self._errands:
                self._heard, self._seen, self._stuck = text.lower(), [], 0
                return self._next_errand()
        return self._answer(text.lower())

    def _next_errand(self) -> str:
        """Return the call of the next errand, or the one that tells whether it is needed."""
        errand = self._errands[0]
        self._looks_up = errand.check
        name, arguments = (errand.check, {}) if errand.check else (errand.name, errand.arguments)
        return json.dumps({"name": name, "arguments": dict(arguments)})

    def _go_on_with_errands(self, output: str) -> str:
        """Go on after a call: with the call that it is a look before, the next one, or a report."""
        errand = self._errands[0]
        if self._looks_up and errand.needless not in output:
            self._errands[0] = replace(errand, check="")
            return self._next_errand()
        self._seen.append(output)
        del self._errands[0]
        if self._errands:
            return self._next_errand()
        if self._is_checking:
            return self._judge_checks()
        confirmed = self._confirm(()) if asks_to_confirm(self._heard) else ""
        return "\n".join(filter(None, [*self._seen, confirmed]))

    def _check_goal(self) -> str:
        """Look whether the current goal is reached."""
        self._is_checking, self._seen = True, []
        self._errands = [Errand(one.tool) for one in self._current.checks]
        return self._next_errand()

    def _judge_checks(self) -> str:
        """Go on to the next goal if the checks are good; else tell what they show."""
        self._is_checking = False
        pairs = zip(self._current.checks, self._seen, strict=True)
        if all(check.good in seen for check, seen in pairs):
            return self._next_goal()
        return self._wait("", "\n".join([self._one_of(_NOT_YET), *self._seen]))

    def _answer(self, message: str) -> str:
        """Return the answer to a message, in lower case, that asks for no call."""
        if self._current.kind == "refusal" and refuses(message):
            return self._next_goal()
        if asks_for_oneself(message):
            return self._wait(message, self._one_of(_YES_ITS_ME))
        if asks_to_confirm(message):
            return self._answer_proposal(message)
        asked = requests_in(message) if self._current.kind == "question" else message
        facts, unknown = self._facts_asked_for(asked), self._unknown_asked_for(asked)
        if self._is_dealt_with(message, is_asked=bool(facts or unknown)):
            return self._check_goal() if self._current.checks else self._next_goal()
        return self._tell(facts, unknown) if facts or unknown else self._go_on(message)

    def _one_of(self, ways: Sequence[str]) -> str:
        return ways[0] if self._rng is None else self._rng.choice(ways)

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

    def _facts_asked_for(self, message: str) -> list[Fact]:
        """Return the facts that a message asks for; those with the same sentence are one."""
        facts: tuple[Fact, ...] = (*self._scenario.identity, *self._current.facts)
        asked = (fact for fact in facts if asks_for(fact.name, message, fact.ask))
        return list({fact.say: fact for fact in asked}.values())

    def _unknown_asked_for(self, message: str) -> list[str]:
        """Return sentences that deny knowledge of the unknown facts that a message asks for."""
        known = {fact.name for fact in (*self._scenario.identity, *self._current.facts)}
        return [
            self._one_of(_UNKNOWN).format(name.replace("_", " "))
            for name in self._scenario.unknown
            if name not in known and asks_for(name, message)
        ]

    def _tell(self, facts: Sequence[Fact], further: Sequence[str] = ()) -> str:
        self._stuck = 0
        self._told.update(facts)
        told = [self._one_of((fact.say, *fact.also)) for fact in facts]
        return " ".join([*told, *further])

    def _answer_proposal(self, message: str) -> str:
        """Agree, unless something else is offered or the goal was a question."""
        if self._current.kind == "question":
            if self._is_answered(message):
                return self._next_goal()
            return self._wait(message, self._one_of(_ONLY_ASKING).format(self._current.say))
        if offers_instead(message):
            return self._decline(message)
        return self._confirm(self._facts_asked_for(message))

    def _decline(self, message: str) -> str:
        """Decline what is offered in the place of the goal, and give up the goal the next time."""
        if self._has_insisted:
            return self._next_goal()
        self._has_insisted = True
        return self._wait(message, self._one_of(_NOTHING_ELSE).format(self._wish))

    def _confirm(self, facts: Sequence[Fact]) -> str:
        """Agree to what was proposed, or change one's mind for the first time."""
        goal = self._current
        if goal.change and not self._has_changed:
            self._has_changed = True
            return self._tell((), [goal.change])
        self._phase = _Phase.AGREED
        yes = self._one_of(_YES_IF if goal.condition else _YES).format(goal.condition)
        return self._tell([fact for fact in facts if fact not in self._told], [yes])

    def _is_dealt_with(self, message: str, *, is_asked: bool) -> bool:
        """Return whether the current goal is done, answered or refused.

        Args:
            message: The message, in lower case.
            is_asked: Whether it asks for a fact.
        """
        kind = self._current.kind
        asks_more = asks_whether_more(message)
        if self._current.checks:
            return asks_more or reports_done(message)
        has_agreed = self._phase is _Phase.AGREED
        if kind == "question":
            is_open = is_asked or postpones(message) or message.rstrip().endswith("?")
            return (asks_more or not is_open) and self._is_answered(message)
        if kind == "refusal":  # a refusal in words that are not known is accepted the second time
            is_done = has_agreed and reports_done(message)
            return refuses(message) or is_done or (asks_more and self._stuck > 0)
        if has_agreed and (reports_done(message) or asks_more):
            return True
        return self._has_insisted and (refuses(message) or asks_more)

    def _is_answered(self, message: str) -> bool:
        """Return whether a message answers the current question, rightly or not, or refuses to."""
        texts = [one.text for one in self._mentions if (one.goal or 0) == self._goal]
        if not texts:
            return has_amount(message) or not asks_to_confirm(message)
        is_amount = any(has_amount(text.lower()) for text in texts)
        return (
            not unsaid(texts, [message])
            or refuses(message)
            or (has_amount(message) if is_amount else not asks_to_confirm(message))
        )

    def _go_on(self, message: str) -> str:
        """Answer a message that neither asks for anything known nor deals with the goal."""
        return self._insist() if refuses(message) else self._wait(message)

    def _insist(self) -> str:
        """Insist once on what was refused."""
        self._has_insisted = True
        self._stuck = 0
        return self._one_of(_INSIST).format(self._wish)

    def _wait(self, message: str, answer: str = "") -> str:
        """Answer a message that does not get the user further, if it has patience left.

        If it asks something for the second time, the user tells everything about the goal.

        Args:
            message: The message, in lower case.
            answer: The answer; empty to choose it here.
        """
        if asks_whether_complete(message):
            return self._one_of(_COMPLETE)
        self._stuck += 1
        if self._stuck >= PATIENCE:
            return _STOP
        if answer:
            return answer
        if self._phase is _Phase.AGREED:
            return self._one_of(_WAIT)
        if postpones(message):
            return self._one_of(_PATIENT)
        facts = [fact.say for fact in self._current.facts if self._stuck > 1 and "?" in message]
        return " ".join([self._wish, *facts])
