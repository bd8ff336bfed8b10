"""Generated tasks of a shop: each can be done, has one outcome, and needs to be done."""

import contextlib
import functools
import json
import pickle
import re
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import some, thorough
from tau_players import IDLE, Repeater, on_every_task, played, rewards

from gem_core.errors import ConfigError
from gem_tau.canonical import digest_of, same
from gem_tau.database import Database
from gem_tau.domains.retail.customer import Customer, amount, indexed, options_text
from gem_tau.domains.retail.questions import QUESTIONS
from gem_tau.domains.retail.refusals import REFUSALS
from gem_tau.domains.retail.tasks import CHANGES, draw_task, sample
from gem_tau.domains.retail.tools import RETAIL
from gem_tau.domains.retail.words import PRODUCTS
from gem_tau.domains.wishes import Unfit
from gem_tau.env import make_dialogue
from gem_tau.floors import free_tasks
from gem_tau.oracle import DialogueOracle
from gem_tau.sources import ListedTasks

SEEDS = st.integers(0, 2**63 - 1)
SHOPS = st.integers(0, 3)
TASKS = st.builds(draw_task, SEEDS, SHOPS)


@functools.cache
def fixed():
    return sample().tasks


each_task = on_every_task(fixed, TASKS, examples=150)
MANY = settings(max_examples=150 if thorough() else 15)


def said_by_user(goal) -> str:
    return " ".join([goal.say, goal.change, *(fact.say for fact in goal.facts)])


def writes(task):
    return [call for call in task.actions if RETAIL.toolkit.kind_of(call.name) == "write"]


def paid(task, agent):
    return played(make_dialogue(tasks=ListedTasks([task])), agent)[0]


@pytest.mark.slow
def test_the_oracle_does_each_fixed_task(subtests) -> None:
    env = make_dialogue(tasks=sample())
    for number in range(0, 200, 1 if thorough() else 4):
        with subtests.test(f"task {number}"):
            reward, info = played(env, DialogueOracle(), number)
            assert reward == 1.0, info
            assert info["ended_by"] == "user: stop"


@pytest.mark.slow
@MANY
@given(TASKS)
def test_the_oracle_does_each_drawn_task(task) -> None:
    assert paid(task, DialogueOracle()) == 1.0


@pytest.mark.slow
def test_no_fixed_task_pays_an_assistant_that_does_nothing() -> None:
    assert not free_tasks(fixed())
    for text in IDLE:
        assert set(rewards(some(fixed()), Repeater(text)).values()) == {0.0}


@pytest.mark.slow
@MANY
@given(TASKS, st.sampled_from(IDLE))
def test_no_drawn_task_pays_an_assistant_that_does_nothing(task, text) -> None:
    assert paid(task, Repeater(text)) == 0.0


@each_task
def test_every_call_succeeds_and_every_write_is_needed(task) -> None:
    tools = RETAIL.toolkit(task.fresh())
    assert all(tools.call(call.name, call.arguments).ok for call in task.actions)
    for left_out in writes(task):
        rest = tuple(call for call in task.actions if call is not left_out)
        assert not replace(task, actions=rest).expected().equals(task.expected())


@each_task
def test_an_answer_is_not_said_while_other_goals_are_served(task) -> None:
    for mention in task.communicate:
        tools = RETAIL.toolkit(task.fresh())
        others = [
            call
            for call in task.actions
            if call.goal != mention.goal and call.name != "get_user_details"
        ]
        said = [tools.call(call.name, call.arguments).output for call in others]
        said += [json.dumps(dict(call.arguments)) for call in task.actions]
        said += [task.scenario.as_text()]
        assert not any(mention.text in text.lower().replace(",", "") for text in said)


@each_task
def test_a_refusal_is_never_the_last_goal(task) -> None:
    goals = task.scenario.goals
    assert 1 <= len(goals) <= 3
    assert goals[-1].kind != "refusal"
    if any(goal.kind == "refusal" for goal in goals):
        assert any(call.goal == len(goals) - 1 for call in writes(task))


@each_task
def test_the_user_does_not_know_what_is_not_told(task) -> None:
    scenario = task.scenario
    known = {fact.name for fact in scenario.identity}
    known |= {fact.name for goal in scenario.goals for fact in goal.facts}
    assert known.isdisjoint(scenario.unknown)
    assert {"email", "user_id", "order_id"} <= known | set(scenario.unknown)


@each_task
def test_one_order_fits(task) -> None:
    orders = orders_of(task)
    for call in task.actions:
        order_id = call.arguments.get("order_id")
        if order_id is not None:
            text = said_by_user(task.scenario.goals[call.goal]).lower()
            named = [name for name in names_in(text, orders) if name in text]
            fitting = [o for o in orders if any(name in products(o) for name in named)]
            assert [order["order_id"] for order in fitting] == [order_id]


@each_task
def test_one_item_of_the_user_fits(task) -> None:
    bought = Counter(name for order in orders_of(task) for name in products(order))
    for call in writes(task):
        for item_id in call.arguments.get("item_ids", ()):
            name = item_of(task, call, item_id)["name"].lower()
            assert bought[name] == 1
            assert name in said_by_user(task.scenario.goals[call.goal])


@each_task
def test_one_variant_fits(task) -> None:
    for call in writes(task):
        goal = task.scenario.goals[call.goal]
        text = goal.change or said_by_user(goal)
        pairs = zip(
            call.arguments.get("item_ids", ()),
            call.arguments.get("new_item_ids", ()),
            strict=False,
        )
        for old, new in pairs:
            assert variants_that_fit(task, item_of(task, call, old), text) == [new]


@each_task
def test_one_payment_method_fits(task) -> None:
    for call in writes(task):
        method_id = call.arguments.get("payment_method_id")
        if method_id is not None:
            goal = task.scenario.goals[call.goal]
            assert methods_that_fit(task, call, goal) == [method_id]


@each_task
def test_one_branch_of_a_condition_fits(task) -> None:
    for number, goal in enumerate(task.scenario.goals):
        if goal.condition:
            (call,) = [call for call in writes(task) if call.goal == number]
            assert ("at most" in goal.condition) is keeps_limit(task, call, goal)


def orders_of(task):
    tables = task.base.tables
    return [tables["orders"][one] for one in tables["users"][user_of(task)]["orders"]]


def user_of(task):
    (call,) = [call for call in task.actions if call.name == "get_user_details"]
    return call.arguments["user_id"]


def products(order):
    return [item["name"].lower() for item in order["items"]]


def names_in(text, orders):
    return {name for order in orders for name in products(order) if name in text}


def item_of(task, call, item_id):
    order = task.base.tables["orders"][call.arguments["order_id"]]
    return next(item for item in order["items"] if item["item_id"] == item_id)


def variants_that_fit(task, item, text):
    variants = task.base.tables["products"][item["product_id"]]["variants"].values()
    others = [one for one in variants if one["available"] and one["options"] != item["options"]]
    cheapest = re.search(r"with the (\w+) ([\w -]+), and of those the cheapest", text)
    if cheapest:
        name, value = cheapest.groups()
        fitting = [one for one in others if one["options"][name] == value]
        lowest = min(one["price"] for one in fitting)
        return [one["item_id"] for one in fitting if one["price"] == lowest]
    return [one["item_id"] for one in others if describes(text, item, one)]


def describes(text, item, variant):
    """Return whether a text has the options of a variant, or those that an item lacks."""
    every = [f"the {name} {value}" for name, value in variant["options"].items()]
    if "the version with " in text:
        return f"the version with {', '.join(every[:-1])} and {every[-1]}." in text
    name = item["name"].lower()
    start = rf"(?:the {name} for|want|that I received for|to) a version "
    return bool(re.search(rf"{start}{options_text(item, variant)}(?=\.|, and the \w)", text))


def methods_that_fit(task, call, goal):
    user = task.base.tables["users"][user_of(task)]
    order = task.base.tables["orders"][call.arguments["order_id"]]
    asked = [fact.say for fact in goal.facts if fact.name == "payment"]
    text = asked[0] if asked else goal.change
    if "that I paid with" in text:
        return [order["payment_history"][0]["payment_method_id"]]
    return [
        method_id
        for method_id, method in user["payment_methods"].items()
        if {"paypal": "PayPal", "gift_card": "gift card"}.get(method["source"], "card ending in")
        in text
        and (method["source"] != "credit_card" or method["last_four"] in text)
    ]


def keeps_limit(task, call, goal):
    limit = int(re.search(r"\$(\d+)", goal.condition).group(1))
    assert f"more than ${limit}" in goal.say
    order = task.base.tables["orders"][call.arguments["order_id"]]
    if "extra" not in goal.condition:
        return order["payment_history"][0]["amount"] <= limit
    (item,) = [one for one in order["items"] if f"the {one['name'].lower()}" in goal.say]
    (new,) = variants_that_fit(task, item, goal.say)
    variants = task.base.tables["products"][item["product_id"]]["variants"]
    return variants[new]["price"] - item["price"] <= limit


@pytest.mark.slow
@MANY
@given(SEEDS, SHOPS)
def test_a_seed_gives_the_same_task_again(seed, shop) -> None:
    one, two = draw_task(seed, shop), draw_task(seed, shop)
    assert one.id == two.id
    assert one.scenario == two.scenario
    assert one.actions == two.actions
    assert one.communicate == two.communicate


@pytest.mark.slow
def test_seeds_give_different_tasks() -> None:
    texts = {draw_task(seed, 1).scenario.as_text() for seed in range(300)}
    assert len(texts) == 300


@pytest.mark.slow
def test_drawing_leaves_the_shop_as_it_is() -> None:
    task = draw_task(1, 2)
    before = digest_of(task.base.tables)
    for seed in range(50 if thorough() else 10):
        paid(draw_task(seed, 2), DialogueOracle())
    assert digest_of(task.base.tables) == before


def test_every_family_is_drawn(subtests) -> None:
    for family in (*CHANGES, *QUESTIONS, *REFUSALS):
        with subtests.test(family.__name__):
            wish = next(filter(None, (_drawn_wish(family, seed) for seed in range(2_000))))
            assert bool(wish.answer) is (wish.goal.kind == "question")


def _drawn_wish(family, seed):
    with contextlib.suppress(Unfit):
        return family(Customer(indexed(0), Random(seed)))


def test_every_kind_of_write_is_among_the_listed_tasks() -> None:
    names = {call.name for task in fixed() for call in writes(task)}
    kinds = {goal.kind for task in fixed() for goal in task.scenario.goals}
    assert len(names) == 7
    assert kinds == {"request", "question", "refusal"}
    assert any(goal.change for task in fixed() for goal in task.scenario.goals)
    assert any(goal.condition for task in fixed() for goal in task.scenario.goals)


def test_a_number_as_a_word_is_not_said_otherwise() -> None:
    values = " ".join(
        value for _, options in PRODUCTS.values() for one in options.values() for value in one
    )
    spelled = {m.text for t in fixed() for m in t.communicate if m.text.isalpha()}
    assert spelled
    assert not any(word in values + RETAIL.policy for word in spelled)


@pytest.mark.slow
@given(st.integers(-(10**6), 10**6))
def test_an_amount_has_two_decimals_that_nobody_leaves_out(cents) -> None:
    try:
        text = amount(cents / 100)
    except Unfit:
        assert cents % 10 == 0
    else:
        assert text == str(abs(cents / 100))


def test_the_default_is_the_list_for_evaluation() -> None:
    assert len(fixed()) == 200
    ids = [task.id for task in fixed()]
    assert len(set(ids)) == 200
    assert [task.id for task in sample(split="test").tasks] == ids


@pytest.mark.slow
def test_the_users_of_training_are_not_in_the_evaluation() -> None:
    source = sample(split="train")
    drawn = [source.draw(Random(seed), None)[1] for seed in range(200 if thorough() else 40)]
    assert len({task.base.digest for task in drawn}) > 1
    tested = {user_of(task) for task in fixed()}
    assert not tested & {
        user for base in {task.base for task in drawn} for user in base.tables["users"]
    }


def test_another_split_is_refused() -> None:
    with pytest.raises(ConfigError, match="'test' or 'train'; got 'dev'"):
        sample(split="dev")


def test_data_is_refused(tmp_path) -> None:
    with pytest.raises(ConfigError, match="generates its data"):
        sample(data=tmp_path)


@each_task
def test_a_stored_task_is_small_and_the_same(task) -> None:
    stored = pickle.dumps(task)
    again = pickle.loads(stored)  # noqa: S301
    assert len(stored) < 8_000
    assert again.base.digest == task.base.digest
    assert again.domain is RETAIL
    assert again == task


def test_the_change_of_an_episode_is_what_its_snapshot_has() -> None:
    task = draw_task(3, 0)
    db = task.expected()
    again = pickle.loads(pickle.dumps(db))  # noqa: S301
    assert again.equals(db)
    assert not same(db.changed(), Database(task.base).changed())


def test_the_policy_names_no_tool_that_is_missing() -> None:
    words = set(re.findall(r"[a-z]+(?:_[a-z]+)+", RETAIL.policy))
    assert words <= {function.name for function in RETAIL.toolkit.functions()}


@each_task
def test_a_wish_is_told_in_sentences_and_not_as_a_form(task) -> None:
    for goal in task.scenario.goals:
        for text in (goal.say, goal.change, *(fact.say for fact in goal.facts)):
            assert not re.search(r"[:;]", text)


@each_task
def test_other_words_for_a_fact_tell_the_same(task) -> None:
    goals = task.scenario.goals
    facts = [*task.scenario.identity, *(fact for goal in goals for fact in goal.facts)]
    for fact in facts:
        for text in fact.also:
            values = re.findall(r"[\w@.#-]*[\d@][\w@.-]*\w", fact.say)
            assert all(value in text for value in values)
