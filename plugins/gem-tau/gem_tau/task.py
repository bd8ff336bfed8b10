"""Tasks: what a user wants, what the database should be in the end, and how it is rewarded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gem_core.errors import ConfigError
from gem_core.specs import load_entry_point
from gem_tau.database import Base, Database
from gem_tau.scenario import Scenario
from gem_tau.toolkit import CallResult, Toolkit, UserToolkit

__all__ = ["PARTS", "Assertion", "Call", "DialogueTask", "Domain", "Mention", "Part", "Side"]

Part = Literal["db", "communicate", "actions", "env_assertions", "nl"]
PARTS: tuple[Part, ...] = ("db", "communicate", "actions", "env_assertions", "nl")
"""The parts of a reward; see ``gem_tau.rewards``."""
Side = Literal["assistant", "user"]
"""Whose tools a call or condition is about."""


@dataclass(frozen=True)
class Domain:
    """A kind of business: its tools, and its policy.

    Args:
        name: The name, such as ``retail``.
        toolkit: The tools of the assistant.
        policy: The rules for the assistant, as text.
        greeting: What the assistant has said before the user's first message.
        origin: Where the domain is, such as ``gem_tau.domains.retail.tools:RETAIL``; a snapshot
            stores this instead of the policy. Empty for a domain that is stored whole.
        user_toolkit: The tools of the user; None if the user has none.
    """

    name: str
    toolkit: type[Toolkit]
    policy: str
    greeting: str = "Hello! How can I help you today?"
    origin: str = ""
    user_toolkit: type[UserToolkit] | None = None

    def tools_of(self, side: Side, db: Database) -> Toolkit:
        """Return the tools of a side over a database.

        Raises:
            ConfigError: The user has no tools.
        """
        kind = self.toolkit if side == "assistant" else self.user_toolkit
        if kind is None:
            raise ConfigError(f"The user of the domain {self.name} has no tools.")
        return kind(db)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.origin:
            return load_entry_point, (self.origin,)
        fields = (self.name, self.toolkit, self.policy, self.greeting, "", self.user_toolkit)
        return Domain, fields


@dataclass(frozen=True)
class Call:
    """A call of a tool.

    Args:
        name: The tool.
        arguments: The arguments by name.
        compare: The arguments that a call of an agent must share to count as this one, in the part
            ``actions``; None for all.
        goal: The index of the scenario's goal that the call serves; None if it is not known.
        side: Who makes the call.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    compare: tuple[str, ...] | None = None
    goal: int | None = None
    side: Side = "assistant"

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={v!r}' for k, v in self.arguments.items())})"


@dataclass(frozen=True)
class Mention:
    """A text that the assistant must say, such as an amount.

    Args:
        text: The text; case and commas are ignored.
        goal: The index of the scenario's goal that asks for it; None if it is not known.
    """

    text: str
    goal: int | None = None


@dataclass(frozen=True)
class Assertion:
    """A condition on the final database: a method of the toolkit and the value that it returns.

    Args:
        function: The method; it need not be a tool.
        arguments: The arguments by name.
        expected: What it must return.
        side: Whose toolkit has the method.
    """

    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    expected: bool = True
    side: Side = "assistant"


@dataclass(frozen=True)
class DialogueTask:
    """A task of an assistant.

    Args:
        id: The id; unique among the tasks of an environment.
        domain: Its tools and policy.
        base: The records that it starts from.
        scenario: What the user wants and knows.
        actions: The reference calls; playing them on a fresh database gives the expected one.
        communicate: What the assistant must say.
        env_assertions: Conditions on the final database.
        nl_assertions: Statements about the dialogue that a judge must find true.
        reward_basis: The parts that are multiplied to the reward.
        setup: Calls that change the database before the episode; any public methods of a toolkit.
        history: What was said before the episode, as pairs of speaker and text, the assistant
            last; empty for the greeting of the domain.
    """

    id: str
    domain: Domain
    base: Base
    scenario: Scenario
    actions: tuple[Call, ...] = ()
    communicate: tuple[Mention, ...] = ()
    env_assertions: tuple[Assertion, ...] = ()
    nl_assertions: tuple[str, ...] = ()
    reward_basis: tuple[Part, ...] = ("db", "communicate")
    setup: tuple[Call, ...] = ()
    history: tuple[tuple[Side, str], ...] = ()

    @property
    def opening(self) -> tuple[tuple[Side, str], ...]:
        """What was said before the user's first message, the assistant last."""
        return self.history or (("assistant", self.domain.greeting),)

    def fresh(self) -> Database:
        """Return the database at the start of an episode.

        Raises:
            ConfigError: A call of the set-up fails.
        """
        db = Database(self.base)
        for call in self.setup:
            result = self.domain.tools_of(call.side, db).set_up(call.name, call.arguments)
            if not result.ok:
                raise ConfigError(f"The set-up of task {self.id!r} fails: {result.output}")
        return db

    def expected(self) -> Database:
        """Return the database after the reference calls; a call that fails changes nothing."""
        db = self.fresh()
        for call in self.actions:
            self.make(call, db)
        return db

    def make(self, call: Call, db: Database) -> CallResult:
        """Make a call on a database; one that fails changes nothing."""
        return self.domain.tools_of(call.side, db).call(call.name, call.arguments)
