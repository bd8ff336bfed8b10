"""The airline's tasks: each can be solved, in one way only, and pays nothing for nothing."""

import contextlib
import functools
import json
import pickle
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import some, thorough
from tau_players import IDLE, Repeater, on_every_task, rewards

from gem_core.errors import ConfigError
from gem_tau.canonical import same
from gem_tau.domains.airline.customer import Customer, indexed
from gem_tau.domains.airline.tasks import FAMILIES, TRAIN_AIRLINES, draw_task, sample
from gem_tau.domains.airline.tools import AIRLINE
from gem_tau.domains.airline.words import CITIES
from gem_tau.domains.wishes import Unfit
from gem_tau.floors import free_tasks
from gem_tau.oracle import DialogueOracle
from gem_tau.sources import DrawnTasks, ListedTasks, find_tasks

BAGS = {"regular": 0, "silver": 1, "gold": 2, "basic_economy": 0, "economy": 1, "business": 2}
DAY_AGO = "2024-05-14T15:00:00"
seeds = st.integers(min_value=0, max_value=2**63 - 1)


def fixed():
    return sample().tasks


@functools.cache
def drawn():
    return [
        draw_task(seed, seed % (9 if thorough() else 3))
        for seed in range(300 if thorough() else 24)
    ]


each_task = on_every_task(fixed, st.builds(draw_task, seeds, st.sampled_from([0, 1, 2])))


def told(goal):
    """Return all that the customer says about a goal."""
    return " ".join([goal.say, *(fact.say for fact in goal.facts)])


def parts_of(task):
    """Yield each goal with its calls."""
    for number, goal in enumerate(task.scenario.goals):
        yield goal, [call for call in task.actions if call.goal == number]


def with_write(task, *names):
    """Yield each goal with its call of one of some functions."""
    for goal, calls in parts_of(task):
        for call in calls:
            if call.name in names:
                yield goal, call, calls


def tables(task):
    return task.base.tables


def record_of(task, call):
    return tables(task)["reservations"][call.arguments["reservation_id"]]


def user_of(task):
    return tables(task)["users"][task.actions[0].arguments["user_id"]]


def statuses(task, record):
    flights = tables(task)["flights"]
    return {
        flights[leg["flight_number"]]["dates"][leg["date"]]["status"] for leg in record["flights"]
    }


def searched(task, call):
    """Return the trips that a search finds, each as a list of flights."""
    toolkit = task.domain.toolkit(task.fresh())
    found = json.loads(toolkit.call(call.name, call.arguments).output)
    return [
        [
            {"date": call.arguments["date"], **leg}
            for leg in (one if isinstance(one, list) else [one])
        ]
        for one in found
    ]


def cheapest(task, goal, call, cabin, count):
    """Return the trips of a search that fit what the customer says, if they cost least."""
    after = re.search(r"leaves? at (\d\d:\d\d) or later", told(goal))
    fitting = [
        trip
        for trip in searched(task, call)
        if all(leg["available_seats"][cabin] >= count for leg in trip)
        and (not after or trip[0]["scheduled_departure_time_est"] >= after[1])
    ]
    price = {id(trip): sum(leg["prices"][cabin] for leg in trip) for trip in fitting}
    return [trip for trip in fitting if price[id(trip)] == min(price.values())]


def legs(trips):
    return [
        {"flight_number": leg["flight_number"], "date": leg["date"]}
        for trip in trips
        for leg in trip
    ]


@pytest.mark.slow
def test_the_oracle_and_the_scripted_user_solve_each_task() -> None:
    chosen = [*(fixed() if thorough() else fixed()[::4]), *drawn()]
    unsolved = {key for key, paid in rewards(chosen, DialogueOracle()).items() if paid != 1.0}
    assert not unsolved


@pytest.mark.slow
def test_an_agent_that_does_nothing_is_paid_nothing() -> None:
    every = [*fixed(), *drawn()]
    assert not free_tasks(every)
    for text in IDLE:
        assert set(rewards(some(every), Repeater(text)).values()) == {0.0}


@pytest.mark.slow
def test_there_are_200_fixed_tasks_of_all_families() -> None:
    assert len({task.id for task in fixed()}) == 200
    assert {goal.kind for task in fixed() for goal in task.scenario.goals} == {
        "request",
        "question",
        "refusal",
    }
    counts = {len(task.scenario.goals) for task in fixed()}
    assert counts == {1, 2, 3}
    named = {call.name for task in fixed() for call in task.actions}
    assert named == {
        *("get_user_details", "get_reservation_details", "search_direct_flight"),
        *("search_onestop_flight", "book_reservation", "cancel_reservation", "send_certificate"),
        *("update_reservation_flights", "update_reservation_baggages"),
        "update_reservation_passengers",
    }
    assert len(FAMILIES) >= 8


def test_the_fixed_tasks_are_different() -> None:
    assert len({task.scenario for task in fixed()}) == 200
    assert len({repr(task.actions) for task in fixed()}) == 200


@pytest.mark.slow
def test_each_family_has_goals(subtests) -> None:
    for name, family in FAMILIES.items():
        with subtests.test(name):
            rng = Random(0)
            wishes = (_drawn_wish(family, rng, indexed(1)) for _ in range(500))
            found = next(filter(None, wishes))
            kinds = {AIRLINE.toolkit.kind_of(call.name) for call in found.calls}
            assert ("write" in kinds) == family.writes


def _drawn_wish(family, rng, index):
    with contextlib.suppress(Unfit):
        if family.about:
            about = index.reservations[rng.choice(index.pools[family.about])]
            return family.draw(Customer(index, rng, about["user_id"]), about)
        return family.draw(Customer(index, rng, rng.choice(index.user_ids)))
    return None


@pytest.mark.slow
def test_train_and_test_have_different_users() -> None:
    train = find_tasks("airline-sample", split="train")
    assert isinstance(train, DrawnTasks)
    found = [train._draw(seed) for seed in range(40)]
    users = {user for base in {task.base for task in fixed()} for user in base.tables["users"]}
    assert not users & {task.actions[0].arguments["user_id"] for task in found}
    assert len({id(task.base) for task in found}) == len(TRAIN_AIRLINES)


def test_other_arguments_of_the_source_are_refused() -> None:
    assert isinstance(sample(split="test"), ListedTasks)
    with pytest.raises(ConfigError, match="'test' or 'train'"):
        sample(split="base")
    with pytest.raises(ConfigError, match="generates its data"):
        sample(data="folder")


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 10)
@given(seeds)
def test_a_seed_decides_a_task(seed) -> None:
    one, other = draw_task(seed, 1), draw_task(seed, 1)
    assert one.id == other.id
    assert one.scenario == other.scenario
    assert one.communicate == other.communicate
    assert same([vars(call) for call in one.actions], [vars(call) for call in other.actions])


@each_task
def test_each_reference_call_succeeds_and_the_database_changes(task) -> None:
    db = task.fresh()
    toolkit = task.domain.toolkit(db)
    for call in task.actions:
        result = toolkit.call(call.name, call.arguments)
        assert result.ok, result.output
    assert db.changed()
    assert db.equals(task.expected())


@each_task
def test_a_goal_writes_if_and_only_if_it_is_a_request(task) -> None:
    kind = task.domain.toolkit.kind_of
    for goal, calls in parts_of(task):
        assert any(kind(call.name) == "write" for call in calls) == (goal.kind == "request")
    assert any(goal.kind == "request" for goal in task.scenario.goals)


@each_task
def test_exactly_one_booking_fits_what_the_customer_says(task) -> None:
    for goal, call, calls in with_write(task, "book_reservation"):
        booked = call.arguments
        count = len(booked["passengers"])
        found = [
            cheapest(task, goal, one, booked["cabin"], count)
            for one in calls
            if one.name.startswith("search")
        ]
        assert [len(one) for one in found] == [1] * len(found)
        assert legs(one[0] for one in found) == booked["flights"]
        assert booked["cabin"].replace("_", " ") in told(goal)
        assert count <= 5
        _check_route(goal, booked)
        _check_passengers(task, goal, booked)
        _check_booked_bags(task, goal, booked)
        _check_insurance(goal, booked)
        _check_payments(task, goal, booked, found)


def _check_route(goal, booked) -> None:
    ends = [booked["origin"], booked["destination"]]
    assert all(f"{CITIES[code]} ({code})" in told(goal) for code in ends)
    dates = dict.fromkeys(leg["date"] for leg in booked["flights"])
    said = re.search(r"I leave on May (\d+)(?:, and fly back on May (\d+))?\.", told(goal))
    days = [int(one) for one in said.groups() if one]
    assert (len(days) == 2) == (booked["flight_type"] == "round_trip")
    assert {int(date[-2:]) for date in dates} >= set(days)
    assert ("It is a round trip." in told(goal)) == (len(days) == 2)


def _check_passengers(task, goal, booked) -> None:
    user, who = user_of(task), next(one.say for one in goal.facts if one.name == "passengers")
    oneself, *others = booked["passengers"]
    assert oneself == {**user["name"], "dob": user["dob"]}
    places = [who.index(f"{one['first_name']} {one['last_name']}") for one in others]
    assert places == sorted(places)
    assert who.count(", then ") == len(others)
    for one in others:
        full = f"{one['first_name']} {one['last_name']}"
        assert f"{full}, born on {one['dob']}" in who or (
            f"{full}, who is saved" in who and one in user["saved_passengers"]
        )
    names = [(one["first_name"], one["last_name"]) for one in user["saved_passengers"]]
    assert len(names) == len(set(names))


def _check_booked_bags(task, goal, booked) -> None:
    user, count = user_of(task), len(booked["passengers"])
    free = count * (BAGS[user["membership"]] + BAGS[booked["cabin"]])
    assert booked["nonfree_baggages"] == max(0, booked["total_baggages"] - free)
    said = re.search(r"We have (\d+) bag", told(goal))
    assert booked["total_baggages"] == (int(said[1]) if said else 0)


def _check_insurance(goal, booked) -> None:
    last = goal.change or told(goal)
    is_wanted = "with travel insurance" in last or "want the travel insurance" in last
    assert is_wanted != ("without travel insurance" in last or "not want travel" in last)
    assert booked["insurance"] == ("yes" if is_wanted else "no")


def _check_payments(task, goal, booked, found) -> None:
    """Check that each method pays as much as it can, in the order that the customer names."""
    user, count = user_of(task), len(booked["passengers"])
    rest = count * sum(leg["prices"][booked["cabin"]] for trips in found for leg in trips[0])
    rest += 50 * booked["nonfree_baggages"] + 30 * count * (booked["insurance"] == "yes")
    how = re.search(r"pay with (.*)\.$", next(f.say for f in goal.facts if f.name == "payment"))[1]
    expected = []
    for words in how.split(", then "):
        method = _named(user, words)
        amount = min(rest, method.get("amount", rest))
        rest -= amount
        expected += [{"payment_id": method["id"], "amount": amount}] if amount else []
    assert rest == 0
    assert booked["payment_methods"] == expected
    kinds = [user["payment_methods"][one["payment_id"]]["source"] for one in expected]
    assert kinds == sorted(kinds, key=["certificate", "gift_card", "credit_card"].index)


def _named(user, words):
    """Return the only payment method that words name."""
    for source in ("credit_card", "gift_card", "certificate"):
        if source.replace("_", " ") in words:
            methods = [one for one in user["payment_methods"].values() if one["source"] == source]
    ending = re.search(r"ending in (\d{4})", words)
    if ending:
        methods = [one for one in methods if one["last_four"] == ending[1]]
    elif "highest" in words:
        most = max(one["amount"] for one in methods)
        methods = [one for one in methods if one["amount"] == most]
    assert len(methods) == 1, words
    return methods[0]


@each_task
def test_exactly_one_change_of_flights_fits(task) -> None:
    for goal, call, calls in with_write(task, "update_reservation_flights"):
        record = record_of(task, call)
        searches = [one for one in calls if one.name.startswith("search")]
        assert statuses(task, record) == {"available"}
        old = [{key: leg[key] for key in ("flight_number", "date")} for leg in record["flights"]]
        if not searches:
            assert call.arguments["flights"] == old, "only the cabin changes"
            assert call.arguments["cabin"] != record["cabin"]
            continue
        assert record["cabin"] == call.arguments["cabin"] != "basic_economy"
        found = cheapest(task, goal, searches[0], record["cabin"], len(record["passengers"]))
        assert len(found) == 1
        is_return = record["flight_type"] == "round_trip"
        kept = old[: len(old) // 2] if is_return else []
        assert call.arguments["flights"] == kept + legs(found)
        ends = record["origin"], record["destination"]
        search = searches[0].arguments
        assert (search["origin"], search["destination"]) == (ends[::-1] if is_return else ends)
        assert all(leg["date"] < search["date"] for leg in kept)


@each_task
def test_payments_of_changes_are_those_that_the_customer_names(task) -> None:
    for goal, call, _ in with_write(
        task, "update_reservation_flights", "update_reservation_baggages"
    ):
        words = next(fact.say for fact in goal.facts if fact.name == "payment")
        method = _named(user_of(task), words)
        assert method["id"] == call.arguments["payment_id"]
        assert method["source"] != "certificate"


@each_task
def test_added_bags_use_up_the_free_ones_first(task) -> None:
    for goal, call, _ in with_write(task, "update_reservation_baggages"):
        record, user = record_of(task, call), user_of(task)
        count, new = len(record["passengers"]), call.arguments
        more = re.findall(r"(\d+) more checked bag", goal.change or goal.say)[
            -1 if goal.condition else 0
        ]
        assert new["total_baggages"] == record["total_baggages"] + int(more)
        free = count * (BAGS[user["membership"]] + BAGS[record["cabin"]])
        assert new["nonfree_baggages"] == max(0, new["total_baggages"] - free)
        assert not statuses(task, record) & {"landed", "flying", "cancelled"}


@each_task
def test_one_passenger_is_corrected(task) -> None:
    for goal, call, _ in with_write(task, "update_reservation_passengers"):
        old, new = record_of(task, call)["passengers"], call.arguments["passengers"]
        changed = [
            (before, after, key)
            for before, after in zip(old, new, strict=True)
            for key in before
            if before[key] != after[key]
        ]
        assert len(changed) == 1
        before, after, key = changed[0]
        assert f"{before['first_name']} {before['last_name']}" in goal.say
        assert sum(one["first_name"] == before["first_name"] for one in old) == 1
        assert after[key] in (goal.change or told(goal))


def may_be_cancelled(task, record, goal):
    found = statuses(task, record)
    reason = next(fact.say for fact in goal.facts if fact.name == "reason")
    is_covered = re.search(r"ill|broke|storm|snow", reason, re.IGNORECASE)
    return not found & {"landed", "flying"} and bool(
        record["created_at"] >= DAY_AGO
        or "cancelled" in found
        or record["cabin"] == "business"
        or (record["insurance"] == "yes" and is_covered)
    )


@each_task
def test_cancellations_are_those_that_the_policy_allows(task) -> None:
    for goal, call, _ in with_write(task, "cancel_reservation"):
        assert may_be_cancelled(task, record_of(task, call), goal)
    for goal, call, _ in with_write(task, "update_reservation_baggages"):
        if "if your rules allow" in goal.say:
            assert not may_be_cancelled(task, record_of(task, call), goal)


@each_task
def test_an_upgrade_depends_on_its_price(task) -> None:
    for goal, calls in parts_of(task):
        limit = re.search(r"costs at most \$([\d,]+) more in total", goal.say)
        if not limit:
            continue
        record = record_of(task, calls[-1])
        flights = tables(task)["flights"]
        now = [
            flights[leg["flight_number"]]["dates"][leg["date"]]["prices"]["business"]
            for leg in record["flights"]
        ]
        before = sum(leg["price"] for leg in record["flights"])
        difference = len(record["passengers"]) * (sum(now) - before)
        is_cheap = difference <= int(limit[1].replace(",", ""))
        assert is_cheap == (calls[-1].name == "update_reservation_flights")


@each_task
def test_certificates_are_those_that_the_policy_grants(task) -> None:
    for goal, call, calls in with_write(task, "send_certificate"):
        record = record_of(task, next(one for one in calls if "reservation_id" in one.arguments))
        user, found = user_of(task), statuses(task, record)
        assert user["membership"] != "regular" or (
            record["insurance"] == "yes" or record["cabin"] == "business"
        )
        each = 100 if "cancelled" in found else 50
        assert call.arguments["amount"] == each * len(record["passengers"])
        is_cancelled_too = any(one.name == "cancel_reservation" for one in calls)
        assert "cancelled" in found or ("delayed" in found and is_cancelled_too)
        assert "compensat" in goal.say


@each_task
def test_what_is_refused_is_forbidden(task) -> None:
    for goal, calls in parts_of(task):
        if goal.kind == "refusal":
            assert _is_forbidden(task, goal, record_of(task, calls[-1]))


def _is_forbidden(task, goal, record):
    if "certificate" in goal.say:
        is_poor = record["cabin"] != "business" and record["insurance"] == "no"
        return is_poor and user_of(task)["membership"] == "regular"
    if "I want to cancel" in goal.say:
        return not may_be_cancelled(task, record, goal)
    if "move the flights" in goal.say:
        return record["cabin"] == "basic_economy"
    if "add travel insurance" in goal.say:
        return record["insurance"] == "no"
    never = ("change the destination", "take one checked bag out", "as a passenger")
    return any(words in goal.say for words in never)


@each_task
def test_each_reservation_can_be_found(task) -> None:
    own = [tables(task)["reservations"][one] for one in user_of(task)["reservations"]]
    for goal, calls in parts_of(task):
        names = {fact.name for fact in goal.facts}
        for call in calls:
            if "reservation_id" not in call.arguments or "reservation_id" in names:
                continue
            trip = next(fact.say for fact in goal.facts if fact.name == "trip")
            assert [one["reservation_id"] for one in own if _is_described(one, trip)] == [
                call.arguments["reservation_id"]
            ]


def _is_described(record, words):
    date = record["flights"][0]["date"]
    kind = "round trip" if record["flight_type"] == "round_trip" else "one-way trip"
    ends = (
        f"from {CITIES[record['origin']]} ({record['origin']}) to {CITIES[record['destination']]}"
    )
    return kind in words and ends in words and f"on May {int(date[-2:])}." in words


@each_task
def test_what_must_be_said_is_not_said_by_chance(task) -> None:
    texts = [mention.text for mention in task.communicate]
    goals = task.scenario.goals
    anyway = [task.domain.policy, *(told(goal) for goal in goals)]
    anyway += [f"{goal.change} {goal.condition}" for goal in goals]
    anyway += [json.dumps(dict(call.arguments)) for call in task.actions]
    words = " ".join(anyway).lower().replace(",", "")
    for text in texts:
        assert re.fullmatch(r"\d{3,5}", text)
        assert text not in words
        assert not any(text in other for other in texts if other is not text)


@each_task
def test_what_must_be_said_is_the_answer(task) -> None:
    for mention in task.communicate:
        goal, calls = list(parts_of(task))[mention.goal]
        answer = _answer(task, goal, calls)
        assert answer is None or mention.text == str(answer)


def _answer(task, goal, calls):
    user = user_of(task)
    for source, words in (("gift_card", "gift cards"), ("certificate", "travel certificates")):
        if f"{words} in my profile worth" in goal.say:
            methods = user["payment_methods"].values()
            return sum(one["amount"] for one in methods if one["source"] == source)
    if "cheapest direct flight from" in goal.say:
        cabin = next(one for one in ("basic economy", "business", "economy") if one in goal.say)
        key = cabin.replace(" ", "_")
        return min(
            trip[0]["prices"][key]
            for trip in searched(task, calls[-1])
            if trip[0]["available_seats"][key]
        )
    record = record_of(task, calls[-1])
    if "more checked bags cost" in goal.say:
        total = record["total_baggages"] + int(re.search(r"What would (\d+) more", goal.say)[1])
        each = BAGS[user["membership"]] + BAGS[record["cabin"]]
        free = len(record["passengers"]) * each
        return 50 * (max(0, total - free) - record["nonfree_baggages"])
    if calls[-1].name == "update_reservation_flights":
        expected = task.expected().get("reservations", record["reservation_id"])
        return abs(expected["payment_history"][-1]["amount"])
    return sum(one["amount"] for one in record["payment_history"])


@each_task
def test_goals_of_a_task_are_about_different_things(task) -> None:
    used = [
        {call.arguments["reservation_id"] for call in calls if "reservation_id" in call.arguments}
        for _, calls in parts_of(task)
    ]
    named = [one for ids in used for one in ids]
    assert len(named) == len(set(named))


@each_task
def test_a_stored_task_is_small_and_the_same(task) -> None:
    stored = pickle.dumps(task)
    again = pickle.loads(stored)  # noqa: S301 - our own
    assert len(stored) < 10_000
    assert again.scenario == task.scenario
    assert again.domain.policy == task.domain.policy
    assert again.base.digest == task.base.digest


@each_task
def test_a_wish_is_told_in_sentences_and_not_as_a_form(task) -> None:
    for goal in task.scenario.goals:
        for text in (goal.say, goal.change, *(fact.say for fact in goal.facts)):
            assert not re.search(r":(?!\d)|;", text)
