"""Tasks of a generated shop's assistant: endless by seed, and a fixed list for evaluation.

A task is drawn from the data, so its outcome is known and unique: exactly one order, item and
payment method fits what the user says. At least one goal changes the database, so an assistant
that does nothing, or hands the user over, is paid 0.
"""

import functools
from collections.abc import Sequence
from pathlib import Path
from random import Random

from gem_tau.domains.retail.choices import CHOICES
from gem_tau.domains.retail.customer import Customer, indexed
from gem_tau.domains.retail.questions import QUESTIONS
from gem_tau.domains.retail.refusals import REFUSALS
from gem_tau.domains.retail.requests import REQUESTS
from gem_tau.domains.retail.tools import RETAIL
from gem_tau.domains.retail.words import ASKS, PERSONAS
from gem_tau.domains.wishes import Wish, fitting, generated, make_task
from gem_tau.scenario import Fact, Scenario
from gem_tau.sources import Dialogues
from gem_tau.task import Call, DialogueTask

__all__ = ["CHANGES", "draw_task", "sample"]

CHANGES = (*REQUESTS, *CHOICES)
"""The wishes that change the database."""
_TESTS = 200
_TEST_SHOP = 0
_TRAIN_SHOPS = 8
"""Shops 1 to 8 are for training."""


def sample(data: str | Path | None = None, split: str | None = None) -> Dialogues:
    """Return generated tasks.

    Args:
        data: Must be None; the tasks are generated.
        split: ``test`` (the default) has 200 fixed tasks of one shop; ``train`` draws endless tasks
            of other shops.

    Raises:
        ConfigError: There is data, or another split.
    """
    return generated("tau:Retail", _test_tasks, _train_task, data=data, split=split)


@functools.cache
def _test_tasks() -> tuple[DialogueTask, ...]:
    return tuple(draw_task(seed, _TEST_SHOP) for seed in range(_TESTS))


def _train_task(seed: int) -> DialogueTask:
    return draw_task(seed, 1 + seed % _TRAIN_SHOPS)


def draw_task(seed: int, shop: int) -> DialogueTask:
    """Draw a task.

    Args:
        seed: The seed; equal seeds give equal tasks.
        shop: The number of the shop, 0 or more.

    Raises:
        ConfigError: There is no such shop.
    """
    index = indexed(shop)
    rng = Random(seed)
    while True:
        customer = Customer(index, rng)
        wishes = _wishes(customer)
        if wishes and _are_answers_apart(wishes):
            return _task(f"retail-{shop}-{seed}", customer, wishes)


def _wishes(customer: Customer) -> list[Wish]:
    """Draw one to three wishes.

    One changes the database, and is the last if there is a refusal: an assistant that hands the
    customer over instead of refusing does not get to it.
    """
    rng = customer.rng
    wishes = fitting(customer, rng.sample(CHANGES, 4), 1)
    if not wishes:
        return []
    others = [*rng.sample(CHANGES, 4), *rng.sample(QUESTIONS, 3), *rng.sample(REFUSALS, 2)]
    rng.shuffle(others)
    last = wishes[0]
    wishes += fitting(customer, others, rng.choice((0, 1, 1, 2, 2)))
    rng.shuffle(wishes)
    if any(wish.goal.kind == "refusal" for wish in wishes):
        wishes.sort(key=lambda wish: wish is last)
    return wishes


def _are_answers_apart(wishes: Sequence[Wish]) -> bool:
    """Return whether no answer is part of what is said about another wish."""
    return not any(
        one.answer in f"{other.spoken} {other.answer}"
        for one in wishes
        for other in wishes
        if one.answer and one is not other
    )


def _task(task_id: str, customer: Customer, wishes: Sequence[Wish]) -> DialogueTask:
    identity, find = _identity(customer)
    goals = tuple(wish.goal for wish in wishes)
    known = {fact.name for facts in (identity, *(goal.facts for goal in goals)) for fact in facts}
    unknown = tuple(name for name in ("email", "user_id", "order_id") if name not in known)
    scenario = Scenario(goals, identity, unknown, customer.phrase(*PERSONAS))
    calls = [find, Call("get_user_details", {"user_id": customer.id}, goal=0)]
    return make_task(task_id, RETAIL, customer.index.base, scenario, calls, wishes)


def _identity(customer: Customer) -> tuple[tuple[Fact, ...], Call]:
    """Draw what the user knows about themselves, and return the call that finds them by it."""
    user, rng = customer.user, customer.rng
    first, last = user["name"]["first_name"], user["name"]["last_name"]
    zip_code = user["address"]["zip"]
    names = (f"I am {first} {last}.", f"It is {first} {last}.")
    facts = [Fact("name", f"My name is {first} {last}.", ASKS["identity"], names)]
    codes = (f"The zip code is {zip_code}.", f"I live in {zip_code}.")
    if rng.random() < 0.3:
        ids = (f"The user id is {customer.id}.", f"It is {customer.id}.")
        facts.append(Fact("user_id", f"My user id is {customer.id}.", also=ids))
    if rng.random() < 0.5:
        email = user["email"]
        also = (f"The email is {email}.", f"You can find me by {email}.")
        facts.append(Fact("email", f"My email address is {email}.", ASKS["identity"], also))
        facts.append(Fact("zip", f"My zip code is {zip_code}.", also=codes))
        return tuple(facts), Call("find_user_id_by_email", {"email": email}, goal=0)
    facts.append(Fact("zip", f"My zip code is {zip_code}.", ASKS["identity"], codes))
    arguments = {"first_name": first, "last_name": last, "zip": zip_code}
    return tuple(facts), Call("find_user_id_by_name_zip", arguments, goal=0)
