"""The generators' common part: wishes of a customer, and tasks that are made of them.

A wish is drawn by a function that takes the customer. It takes what the wish depends on, such as an
order, so that the wishes of a task do not interfere, and raises ``Unfit`` where nothing fits, or
more than one thing.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TypeVar

from gem_core.errors import ConfigError
from gem_tau.database import Base, Record
from gem_tau.scenario import Goal, Scenario
from gem_tau.sources import Dialogues, DrawnTasks, ListedTasks
from gem_tau.task import Call, DialogueTask, Domain, Mention

__all__ = ["BaseCustomer", "Unfit", "Wish", "fitting", "generated", "make_task"]

T = TypeVar("T")


class Unfit(Exception):  # noqa: N818 - another wish is drawn
    """The customer has nothing that a wish could be about."""


@dataclass(frozen=True)
class Wish:
    """A goal of a customer, with the calls that reach it.

    Args:
        goal: The goal of the scenario.
        calls: The reference calls.
        answer: What the assistant must say; empty for nothing.
        spoken: Ids and amounts that an assistant may say while it serves the wish.
    """

    goal: Goal
    calls: tuple[Call, ...]
    answer: str = ""
    spoken: str = ""


class BaseCustomer:
    """A user of a business for whom wishes are drawn.

    Args:
        rng: The random stream of the task.
        user: The record of the user.
    """

    def __init__(self, rng: Random, user: Record) -> None:
        self.rng = rng
        self.user = user
        self.id: str = user["user_id"]
        self.taken: set[str] = set()

    def take_if_free(self, thing: str) -> bool:
        """Take a thing, such as the id of an order; return whether it was free."""
        is_free = thing not in self.taken
        self.taken.add(thing)
        return is_free

    def take(self, thing: str) -> None:
        """Take a thing, such as the id of an order.

        Raises:
            Unfit: It is taken.
        """
        if not self.take_if_free(thing):
            raise Unfit

    def one_of(self, things: Sequence[T]) -> T:
        """Draw one of some things.

        Raises:
            Unfit: There is none.
        """
        if not things:
            raise Unfit
        return self.rng.choice(things)

    def phrase(self, *texts: str) -> str:
        """Draw one of some ways to say the same."""
        return self.rng.choice(texts)


Customer = TypeVar("Customer", bound=BaseCustomer)


def fitting(
    customer: Customer, families: Iterable[Callable[[Customer], Wish]], count: int
) -> list[Wish]:
    """Return the first ``count`` wishes that the customer can have; fewer if fewer fit."""
    wishes: list[Wish] = []
    for family in families:
        if len(wishes) == count:
            break
        try:
            wishes.append(family(customer))
        except Unfit:
            continue
    return wishes


def make_task(
    task_id: str,
    domain: Domain,
    base: Base,
    scenario: Scenario,
    calls: Sequence[Call],
    wishes: Sequence[Wish],
) -> DialogueTask:
    """Return the task of some wishes.

    Args:
        task_id: The id.
        domain: The business.
        base: Its database.
        scenario: The scenario, with the goals of the wishes.
        calls: The reference calls before those of the wishes.
        wishes: The wishes.
    """
    for number, wish in enumerate(wishes):
        calls = [*calls, *(replace(call, goal=number) for call in wish.calls)]
    answers = [Mention(wish.answer, number) for number, wish in enumerate(wishes) if wish.answer]
    return DialogueTask(task_id, domain, base, scenario, tuple(calls), tuple(answers))


def generated(
    name: str,
    test: Callable[[], Sequence[DialogueTask]],
    train: Callable[[int], DialogueTask],
    *,
    data: str | Path | None,
    split: str | None,
) -> Dialogues:
    """Return a source of generated tasks.

    Args:
        name: The id of the environment that reads a folder, such as ``tau:Retail``.
        test: Returns the fixed tasks of the split ``test``, which is the default.
        train: Returns a task of the split ``train`` from a seed.
        data: Must be None.
        split: The split.

    Raises:
        ConfigError: There is ``data``, or another split.
    """
    if data is not None:
        raise ConfigError(
            f"{name}-Sample generates its data; got data={str(data)!r}. {name} reads a folder."
        )
    if split in {None, "test"}:
        return ListedTasks(test())
    if split == "train":
        return DrawnTasks(train)
    raise ConfigError(f"split must be 'test' or 'train'; got {split!r}.")
