"""The airline's tasks: 200 fixed ones of one airline, and endless ones of others.

A task has one to three goals of one customer, and at least one of them changes the database. What
the customer says, with the policy and the data, allows one final database only: a generator
that finds two flights that fit, or two ways to pay, gives up, and the task is drawn again.
"""

import functools
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from gem_core.seeding import child_seed
from gem_tau.domains.airline import choices, questions, refusals, requests
from gem_tau.domains.airline.calls import profile_call
from gem_tau.domains.airline.customer import Customer, Index, indexed
from gem_tau.domains.airline.tools import AIRLINE
from gem_tau.domains.wishes import Wish, fitting, generated, make_task
from gem_tau.scenario import Fact, Scenario
from gem_tau.sources import Dialogues
from gem_tau.task import DialogueTask

__all__ = ["FAMILIES", "TEST_AIRLINE", "TRAIN_AIRLINES", "Family", "draw_task", "sample"]

TEST_AIRLINE = 0
"""The number of the airline of the fixed tasks."""
TRAIN_AIRLINES = range(1, 9)
"""The numbers of the airlines of the endless tasks."""
_TASKS = 200
_POLICY = AIRLINE.policy.replace(",", "")
_SHORTEST = 3  # digits of an amount that is not said by chance
_MOST_DRAWS = 1000
_MORE_DRAWS = 5
_MORE_GOALS = (0, 1, 1, 2)


@dataclass(frozen=True)
class Family:
    """A kind of wishes.

    Args:
        draw: Returns a wish of a customer, about a reservation if ``about`` names some.
        about: Which reservations, a name in ``Index.pools``; empty for a wish about none.
        writes: Whether the wish changes the database.
        weight: How often it is drawn, relative to others.
    """

    draw: Callable[..., Wish]
    about: str = ""
    writes: bool = True
    weight: int = 2


FAMILIES: dict[str, Family] = {
    "cancel": Family(requests.cancel, "any", weight=3),
    "cancel_or_bags": Family(requests.cancel_or_bags, "coming"),
    "book_one_way": Family(choices.book_one_way, weight=3),
    "book_onestop": Family(choices.book_onestop),
    "book_round_trip": Family(choices.book_round_trip),
    "change_flights": Family(choices.change_flights, "changeable", weight=3),
    "change_cabin": Family(requests.change_cabin, "available"),
    "upgrade_or_bags": Family(requests.upgrade_or_bags, "available"),
    "add_bags": Family(requests.add_bags, "coming"),
    "correct_passenger": Family(requests.correct_passenger, "coming"),
    "compensate": Family(requests.compensate, "disturbed"),
    "ask_refund": Family(questions.ask_refund, "any", writes=False),
    "ask_paid": Family(questions.ask_paid, "any", writes=False),
    "ask_bags": Family(questions.ask_bags, "coming", writes=False),
    "ask_balance": Family(questions.ask_balance, writes=False, weight=1),
    "ask_fare": Family(questions.ask_fare, writes=False, weight=1),
    "refuse_cancellation": Family(refusals.refuse_cancellation, "any", writes=False),
    "refuse_flights": Family(refusals.refuse_flights, "coming", writes=False),
    "refuse_destination": Family(refusals.refuse_destination, "coming", writes=False, weight=1),
    "refuse_bags": Family(refusals.refuse_bags, "coming", writes=False, weight=1),
    "refuse_insurance": Family(refusals.refuse_insurance, "coming", writes=False, weight=1),
    "refuse_passenger": Family(refusals.refuse_passenger, "coming", writes=False, weight=1),
    "refuse_compensation": Family(refusals.refuse_compensation, "disturbed", writes=False),
}
"""The kinds of wishes by name."""
_ALL = [one for one in FAMILIES.values() for _ in range(one.weight)]
_WRITING = [one for one in _ALL if one.writes]


def sample(data: str | Path | None = None, split: str | None = None) -> Dialogues:
    """Return the tasks of generated airlines.

    Args:
        data: None: the airlines are generated.
        split: ``test`` or None for 200 fixed tasks; ``train`` for endless tasks of other airlines.

    Raises:
        ConfigError: There is ``data``, or the split is another one.
    """
    return generated("tau:Airline", _test_tasks, _train_task, data=data, split=split)


def _train_task(seed: int) -> DialogueTask:
    number = TRAIN_AIRLINES[seed % len(TRAIN_AIRLINES)]
    return draw_task(seed, number)


@functools.cache
def _test_tasks() -> tuple[DialogueTask, ...]:
    found: dict[str, DialogueTask] = {}
    for number in itertools.count():
        task = draw_task(child_seed(0, "airline tasks", number), TEST_AIRLINE)
        found.setdefault(repr(task.actions), task)
        if len(found) == _TASKS:
            break
    return tuple(found.values())


def draw_task(seed: int, airline: int) -> DialogueTask:
    """Return the task of a seed.

    Args:
        seed: The seed; equal seeds give equal tasks.
        airline: The number of the airline.

    Raises:
        ConfigError: The airline has no number.
    """
    rng, index = Random(seed), indexed(airline)
    for _ in range(_MOST_DRAWS):
        customer, wishes = _wishes(rng, index)
        if wishes and _says_nothing_by_chance(wishes, customer):
            return _task(f"airline-{airline}-{seed:016x}", customer, wishes)
    raise AssertionError(f"No task was found in {_MOST_DRAWS} draws.")  # pragma: no cover


def _wishes(rng: Random, index: Index) -> tuple[Customer, list[Wish]]:
    """Return a customer with wishes; none if the first one that writes cannot be drawn."""
    family = rng.choice(_WRITING)
    draw: Callable[[Customer], Wish] = family.draw
    if family.about:
        record = index.reservations[rng.choice(index.pools[family.about])]
        customer = Customer(index, rng, record["user_id"])
        customer.take(record["reservation_id"])
        draw = functools.partial(family.draw, record=record)
    else:
        customer = Customer(index, rng, rng.choice(index.user_ids))
    wishes = fitting(customer, [draw], 1)
    if wishes:
        for _ in range(rng.choice(_MORE_GOALS)):
            wishes += fitting(customer, [_another] * _MORE_DRAWS, 1)
        rng.shuffle(wishes)
    return customer, wishes


def _another(customer: Customer) -> Wish:
    """Return a further wish of a customer, about another reservation."""
    family = customer.rng.choice(_ALL)
    if not family.about:
        return family.draw(customer)
    pool = customer.index.pool_sets[family.about]
    chosen = customer.one_of([one for one in customer.user["reservations"] if one in pool])
    customer.take(chosen)
    return family.draw(customer, customer.index.reservations[chosen])


def _says_nothing_by_chance(wishes: list[Wish], customer: Customer) -> bool:
    """Return whether no answer occurs in another text or call of the task."""
    answers = [one.answer for one in wishes if one.answer]
    words = " ".join([_POLICY, customer.id, *map(_words, wishes), *answers])
    return all(len(text) >= _SHORTEST and words.count(text) == 1 for text in answers)


def _words(wish: Wish) -> str:
    """Return all texts and calls of a wish but its answer, in lower case without commas."""
    goal = wish.goal
    told = " ".join(fact.say for fact in goal.facts)
    calls = json.dumps([(call.name, call.arguments) for call in wish.calls])
    parts = (goal.say, goal.change, goal.condition, told, calls)
    return " ".join(parts).lower().replace(",", "")


def _task(task_id: str, customer: Customer, wishes: list[Wish]) -> DialogueTask:
    scenario, profile = _scenario(customer, wishes), replace(profile_call(customer.id), goal=0)
    return make_task(task_id, AIRLINE, customer.index.base, scenario, [profile], wishes)


def _scenario(customer: Customer, wishes: list[Wish]) -> Scenario:
    name = " ".join(customer.user["name"].values())
    email = customer.user["email"]
    return Scenario(
        goals=tuple(wish.goal for wish in wishes),
        identity=(
            Fact(
                "user_id",
                f"My user id is {customer.id}.",
                also=(f"It is {customer.id}.", f"The id is {customer.id}."),
            ),
            Fact("name", f"My name is {name}.", also=(f"I am {name}.", f"This is {name}.")),
            Fact("email", f"My email address is {email}.", also=(f"The email is {email}.",)),
        ),
        unknown=("reservation_id",),
        persona="You are friendly and answer what you are asked, no more.",
    )
