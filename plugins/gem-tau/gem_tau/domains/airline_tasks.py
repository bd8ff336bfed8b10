"""The airline's tasks: 200 fixed ones of one airline, and endless ones of others.

A task has one to three goals of one customer, and at least one of them changes the database. What
the customer says, with the policy and the data, allows one final database only: a generator
that finds two flights that fit, or two ways to pay, gives up, and the task is drawn again.
"""

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from gem_core.errors import ConfigError
from gem_core.seeding import child_seed
from gem_tau.domains import airline_bookings as bookings
from gem_tau.domains import airline_changes as changes
from gem_tau.domains import airline_requests as requests
from gem_tau.domains.airline import AIRLINE
from gem_tau.domains.airline_customer import Customer, Records, Wish, records_of
from gem_tau.scenario import Fact, Scenario
from gem_tau.sources import Dialogues, DrawnTasks, ListedTasks
from gem_tau.task import Call, DialogueTask, Mention

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
    """A kind of goals.

    Args:
        draw: Returns a goal of a customer, about a reservation if ``about`` names some; None if
            there is none.
        about: Which reservations, a name in ``Records.pools``; empty for a goal about none.
        writes: Whether the goal changes the database.
        weight: How often it is drawn, relative to others.
    """

    draw: Callable[..., Wish | None]
    about: str = ""
    writes: bool = True
    weight: int = 2


FAMILIES: dict[str, Family] = {
    "cancel": Family(requests.cancel, "any", weight=3),
    "cancel_or_bags": Family(requests.cancel_or_bags, "coming"),
    "book_one_way": Family(bookings.book_one_way, weight=3),
    "book_onestop": Family(bookings.book_onestop),
    "book_round_trip": Family(bookings.book_round_trip),
    "change_flights": Family(changes.change_flights, "changeable", weight=3),
    "change_cabin": Family(changes.change_cabin, "available"),
    "upgrade_or_bags": Family(changes.upgrade_or_bags, "available"),
    "add_bags": Family(changes.add_bags, "coming"),
    "correct_passenger": Family(changes.correct_passenger, "coming"),
    "compensate": Family(requests.compensate, "disturbed"),
    "ask_refund": Family(requests.ask_refund, "any", writes=False),
    "ask_paid": Family(requests.ask_paid, "any", writes=False),
    "ask_bags": Family(requests.ask_bags, "coming", writes=False),
    "ask_balance": Family(requests.ask_balance, writes=False, weight=1),
    "ask_fare": Family(requests.ask_fare, writes=False, weight=1),
    "refuse_cancellation": Family(requests.refuse_cancellation, "any", writes=False),
    "refuse_flights": Family(requests.refuse_flights, "coming", writes=False),
    "refuse_destination": Family(requests.refuse_destination, "coming", writes=False, weight=1),
    "refuse_bags": Family(requests.refuse_bags, "coming", writes=False, weight=1),
    "refuse_insurance": Family(requests.refuse_insurance, "coming", writes=False, weight=1),
    "refuse_passenger": Family(requests.refuse_passenger, "coming", writes=False, weight=1),
    "refuse_compensation": Family(requests.refuse_compensation, "disturbed", writes=False),
}
"""The kinds of goals by name."""
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
    if data is not None:
        raise ConfigError(
            f"tau:Airline-Sample generates its data; got data={str(data)!r}. "
            f"tau:Airline reads a folder."
        )
    if split not in {None, "test", "train"}:
        raise ConfigError(f"split must be 'test' or 'train'; got {split!r}.")
    return DrawnTasks(_train_task) if split == "train" else ListedTasks(_test_tasks())


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
    rng, records = Random(seed), records_of(airline)
    for _ in range(_MOST_DRAWS):
        customer, wishes = _wishes(rng, records)
        if wishes and _says_nothing_by_chance(wishes, customer):
            return _task(f"airline-{airline}-{seed:016x}", customer, wishes)
    raise AssertionError(f"No task was found in {_MOST_DRAWS} draws.")  # pragma: no cover


def _wishes(rng: Random, records: Records) -> tuple[Customer, list[Wish]]:
    """Return a customer with wishes; none if the first one that writes cannot be drawn."""
    family = rng.choice(_WRITING)
    if family.about:
        record = records.reservations[rng.choice(records.pools[family.about])]
        customer = Customer(rng, records, record["user_id"])
        customer.claim(record["reservation_id"])
        first = family.draw(customer, record)
    else:
        customer = Customer(rng, records, rng.choice(records.user_ids))
        first = family.draw(customer)
    if first is None:
        return customer, []
    wishes = [first]
    for _ in range(rng.choice(_MORE_GOALS)):
        more = (_another(customer) for _ in range(_MORE_DRAWS))
        wishes += [wish for wish in [next(filter(None, more), None)] if wish]
    rng.shuffle(wishes)
    return customer, wishes


def _another(customer: Customer) -> Wish | None:
    """Return a further wish of a customer, about another reservation."""
    family = customer.rng.choice(_ALL)
    if not family.about:
        return family.draw(customer)
    pool = customer.records.pool_sets[family.about]
    own = [one for one in customer.user["reservations"] if one in pool]
    chosen = customer.rng.choice(own) if own else ""
    if not chosen or not customer.claim(chosen):
        return None
    return family.draw(customer, customer.records.reservations[chosen])


def _says_nothing_by_chance(wishes: list[Wish], customer: Customer) -> bool:
    """Return whether no text to say occurs in what is said or called anyway, or in another one."""
    texts = [text for one in wishes for text in one.says]
    if not texts:
        return True
    words = " ".join([_POLICY, customer.user_id, *(one.words() for one in wishes), *texts])
    return all(len(text) >= _SHORTEST and words.count(text) == 1 for text in texts)


def _task(task_id: str, customer: Customer, wishes: list[Wish]) -> DialogueTask:
    profile = Call("get_user_details", {"user_id": customer.user_id}, goal=0)
    return DialogueTask(
        id=task_id,
        domain=AIRLINE,
        base=customer.records.base,
        scenario=_scenario(customer, wishes),
        actions=(
            profile,
            *(
                Call(name, arguments, goal=number)
                for number, wish in enumerate(wishes)
                for name, arguments in wish.calls
            ),
        ),
        communicate=tuple(
            Mention(text, number) for number, wish in enumerate(wishes) for text in wish.says
        ),
    )


def _scenario(customer: Customer, wishes: list[Wish]) -> Scenario:
    name = " ".join(customer.user["name"].values())
    email = customer.user["email"]
    return Scenario(
        goals=tuple(wish.goal for wish in wishes),
        identity=(
            Fact(
                "user_id",
                f"My user id is {customer.user_id}.",
                also=(f"It is {customer.user_id}.", f"The id is {customer.user_id}."),
            ),
            Fact("name", f"My name is {name}.", also=(f"I am {name}.", f"This is {name}.")),
            Fact("email", f"My email address is {email}.", also=(f"The email is {email}.",)),
        ),
        unknown=("reservation_id",),
        persona="You are friendly and answer what you are asked, no more.",
    )
