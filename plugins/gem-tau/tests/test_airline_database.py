"""Generated airlines: their records are consistent, and the number decides them."""

import pickle
from datetime import datetime

import pytest
from selection import some

from gem_core.errors import ConfigError
from gem_tau.domains.airline.database import DATES, airline
from gem_tau.domains.airline.records import NOW, free_bags

NUMBERS = (0, 1, 7, 123456)
FREE = {
    (membership, cabin): more + bags
    for membership, more in {"regular": 0, "silver": 1, "gold": 2}.items()
    for cabin, bags in {"basic_economy": 0, "economy": 1, "business": 2}.items()
}


@pytest.fixture(params=some(NUMBERS))
def tables(request):
    return airline(request.param).tables


@pytest.mark.slow
def test_an_airline_has_the_size_of_tau_benchs(tables) -> None:
    assert {name: len(table) for name, table in tables.items()} == {
        "users": 500,
        "reservations": 800,
        "flights": 300,
    }
    assert all(list(one["dates"]) == list(DATES) for one in tables["flights"].values())
    assert len(DATES) == 30


def test_users_and_reservations_name_each_other(tables) -> None:
    listed = [
        (user_id, one) for user_id, user in tables["users"].items() for one in user["reservations"]
    ]
    owned = [(one["user_id"], key) for key, one in tables["reservations"].items()]
    assert sorted(listed) == sorted(owned)
    for table, key in (("users", "user_id"), ("reservations", "reservation_id")):
        assert all(one[key] == name for name, one in tables[table].items())


def test_flights_of_a_trip_connect_its_ends(tables) -> None:
    for record in tables["reservations"].values():
        legs = record["flights"]
        for leg in legs:
            flight = tables["flights"][leg["flight_number"]]
            assert (leg["origin"], leg["destination"]) == (flight["origin"], flight["destination"])
        ways = [record["origin"], *(leg["destination"] for leg in legs)]
        assert [leg["origin"] for leg in legs] == ways[:-1]
        is_return = record["flight_type"] == "round_trip"
        assert record["destination"] == (ways[len(legs) // 2] if is_return else ways[-1])
        assert not is_return or ways[-1] == record["origin"]
        assert [leg["date"] for leg in legs] == sorted(leg["date"] for leg in legs)


def test_prices_are_those_of_the_flights_and_payments_add_up(tables) -> None:
    for record in tables["reservations"].values():
        user, count = tables["users"][record["user_id"]], len(record["passengers"])
        for leg in record["flights"]:
            on_date = tables["flights"][leg["flight_number"]]["dates"][leg["date"]]
            prices = on_date.get("prices", {record["cabin"]: leg["price"]})
            assert leg["price"] == prices[record["cabin"]]
        price = sum(leg["price"] for leg in record["flights"]) + 30 * (record["insurance"] == "yes")
        assert sum(one["amount"] for one in record["payment_history"]) == (
            count * price + 50 * record["nonfree_baggages"]
        )
        methods = user["payment_methods"]
        assert all(one["payment_id"] in methods for one in record["payment_history"])
        free = count * FREE[user["membership"], record["cabin"]]
        assert record["nonfree_baggages"] == max(0, record["total_baggages"] - free)
        assert record["created_at"] < min(NOW, f"{record['flights'][0]['date']}T24")


def test_statuses_fit_the_current_time(tables) -> None:
    for flight in tables["flights"].values():
        for date, one in flight["dates"].items():
            status = one["status"]
            if status == "available":
                assert date > NOW[:10]
                assert all(seats >= 0 for seats in one["available_seats"].values())
                assert one["prices"]["basic_economy"] < one["prices"]["economy"]
                assert one["prices"]["economy"] < one["prices"]["business"]
            elif status == "landed":
                assert one["actual_departure_time_est"] < one["actual_arrival_time_est"] <= NOW
            elif status == "flying":
                assert one["actual_departure_time_est"] <= NOW < one["estimated_arrival_time_est"]
            elif status in {"on time", "delayed"}:
                assert one["estimated_departure_time_est"] > NOW
            else:
                assert status == "cancelled"
            for key, value in one.items():
                assert not key.endswith("_est") or datetime.fromisoformat(value)


def test_each_status_occurs(tables) -> None:
    found = {one["status"] for row in tables["flights"].values() for one in row["dates"].values()}
    assert found == {"available", "landed", "flying", "on time", "delayed", "cancelled"}


def test_every_user_has_a_credit_card_and_different_balances(tables) -> None:
    for user in tables["users"].values():
        methods = user["payment_methods"]
        assert all(one["id"] == key for key, one in methods.items())
        cards = [one["last_four"] for one in methods.values() if one["source"] == "credit_card"]
        assert cards
        for source, key in (
            ("credit_card", "last_four"),
            ("gift_card", "amount"),
            ("certificate", "amount"),
        ):
            values = [one[key] for one in methods.values() if one["source"] == source]
            assert len(values) == len(set(values))


def test_people_of_a_profile_have_different_first_names(tables) -> None:
    for user in tables["users"].values():
        names = [one["first_name"] for one in (user["name"], *user["saved_passengers"])]
        assert len(names) == len(set(names))


def test_airlines_have_different_users() -> None:
    users = [set(airline(number).tables["users"]) for number in (0, 1, 2, 123456)]
    assert len(set.union(*users)) == sum(len(one) for one in users)


@pytest.mark.slow
def test_the_number_decides_the_airline() -> None:
    again = airline.__wrapped__(3)
    assert again is not airline(3)
    assert again.digest == airline(3).digest != airline(4).digest


def test_a_snapshot_stores_the_number_only() -> None:
    stored = pickle.dumps(airline(3))
    assert len(stored) < 200
    assert pickle.loads(stored) is airline(3)  # noqa: S301 - our own


@pytest.mark.parametrize("number", [-1, True, "1", 1.0])
def test_other_numbers_are_refused(number) -> None:
    with pytest.raises(ConfigError, match="0 or more"):
        airline(number)


def test_free_bags_are_those_of_the_policy() -> None:
    assert {key: free_bags(*key) for key in FREE} == FREE
