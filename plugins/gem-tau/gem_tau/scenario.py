"""Scenarios: what a user wants and knows, for a program, a model or a human to play."""

from dataclasses import dataclass, field

__all__ = ["Check", "Fact", "Goal", "Scenario"]


@dataclass(frozen=True)
class Fact:
    """Something that the user tells when asked.

    Args:
        name: What it is, such as ``email``; ``gem_tau.users.phrases`` has the words that ask for
            the usual ones.
        say: The sentence that tells it.
        ask: Further words that ask for it, in lower case.
        also: Other sentences that tell the same.
    """

    name: str
    say: str
    ask: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """How a user who has tools sees that a goal is reached.

    Args:
        tool: A tool of the user that needs no arguments.
        good: A text that its output then contains.
    """

    tool: str
    good: str


@dataclass(frozen=True)
class Goal:
    """Something that the user wants.

    Args:
        say: The request, as the user first states it.
        facts: What the user tells about it when asked.
        kind: ``request`` for a change of the database, which the assistant proposes and the user
            confirms; ``question`` for an answer in words; ``refusal`` for something that the policy
            forbids, which the user accepts to be refused.
        change: What the user says instead of yes when first asked to confirm, because of a change
            of mind; empty for none.
        condition: What must hold for the user to agree, repeated in the confirmation; empty for
            none.
        checks: What the user looks at before the goal counts as reached.
    """

    say: str
    facts: tuple[Fact, ...] = ()
    kind: str = "request"
    change: str = ""
    condition: str = ""
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """The situation of a user.

    Args:
        goals: What the user wants, in this order; the next is stated when one is done.
        identity: What the user tells about themselves when asked.
        unknown: Names of facts that the user does not know, such as ``email``.
        persona: A sentence on how the user behaves.
        instructions: The scenario as a text, for a model or a human; empty to make it of the rest.
    """

    goals: tuple[Goal, ...] = ()
    identity: tuple[Fact, ...] = ()
    unknown: tuple[str, ...] = ()
    persona: str = ""
    instructions: str = field(default="")

    def as_text(self) -> str:
        """Return the scenario as instructions for a model or a human that plays the user."""
        if self.instructions:
            return self.instructions
        lines = [self.persona] if self.persona else []
        lines.append("What you want, one after the other:")
        for number, goal in enumerate(self.goals, start=1):
            lines.append(f"{number}. {goal.say}")
            if goal.condition:
                lines.append(f"   You agree only if this holds: {goal.condition}")
            lines += [f"   If asked: {fact.say}" for fact in goal.facts]
            if goal.change:
                lines.append(f"   When you are first asked to confirm, say instead: {goal.change}")
            if goal.kind == "refusal":
                lines.append("   If this is refused, accept it.")
        if self.identity:
            lines.append("What you know about yourself, and tell only if asked:")
            lines += [f"- {fact.say}" for fact in self.identity]
        if self.unknown:
            lines.append(f"What you do not know: {', '.join(self.unknown)}.")
        return "\n".join(lines)
