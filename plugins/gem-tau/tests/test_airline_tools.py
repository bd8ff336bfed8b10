"""The airline's tools: what they read, what they write, and what they refuse."""

import copy
import json

import pytest

from gem_tau.database import Base, Database
from gem_tau.domains.airline.records import FlightIndex
from gem_tau.domains.airline.tools import AirlineTools, AirlineToolsV1

MAY_20, MAY_21 = "2024-05-20", "2024-05-21"
IDA = {"first_name": "Ida", "last_name": "Holm", "dob": "1990-02-03"}
BEN = {"first_name": "Ben", "last_name": "Holm", "dob": "1991-02-03"}


def open_on(seats=9, **prices):
    cabins = ("basic_economy", "economy", "business")
    return {
        "status": "available",
        "available_seats": dict.fromkeys(cabins, seats),
        "prices": {"basic_economy": 60, "economy": 100, "business": 300, **prices},
    }


def flight(number, origin, destination, leaves, arrives, **dates):
    days = {MAY_20: open_on(), MAY_21: open_on()}
    return {
        "flight_number": number,
        "origin": origin,
        "destination": destination,
        "scheduled_departure_time_est": leaves,
        "scheduled_arrival_time_est": arrives,
        "dates": {**days, **{f"2024-05-{day[1:]}": value for day, value in dates.items()}},
    }


FLIGHTS = [
    flight("F1", "BOS", "DEN", "08:00:00", "11:00:00"),
    flight("F2", "BOS", "DEN", "14:00:00", "17:00:00", d20=open_on(seats=1, economy=90)),
    flight("F3", "DEN", "SEA", "11:00:00", "13:00:00"),
    flight("F4", "BOS", "DEN", "22:00:00", "01:00:00+1", d21={"status": "cancelled"}),
    flight("F5", "DEN", "SEA", "06:00:00", "08:00:00"),
    flight("F6", "DEN", "BOS", "09:00:00", "12:00:00", d20={"status": "delayed"}),
]
METHODS = {
    "credit_card_1": {"source": "credit_card", "brand": "visa", "last_four": "1111"},
    "gift_card_1": {"source": "gift_card", "amount": 120},
    "certificate_1": {"source": "certificate", "amount": 80},
}
RESERVATION = {
    "reservation_id": "AAA111",
    "user_id": "ida",
    "origin": "BOS",
    "destination": "DEN",
    "flight_type": "one_way",
    "cabin": "economy",
    "flights": [
        {
            "origin": "BOS",
            "destination": "DEN",
            "flight_number": "F1",
            "date": MAY_20,
            "price": 70,
        }
    ],
    "passengers": [IDA, BEN],
    "payment_history": [{"payment_id": "credit_card_1", "amount": 140}],
    "created_at": "2024-05-01T10:00:00",
    "total_baggages": 2,
    "nonfree_baggages": 1,
    "insurance": "no",
}
BASE = Base(
    {
        "users": {
            "ida": {
                "user_id": "ida",
                "name": {"first_name": "Ida", "last_name": "Holm"},
                "payment_methods": {key: {**one, "id": key} for key, one in METHODS.items()},
                "reservations": ["AAA111"],
            }
        },
        "reservations": {"AAA111": RESERVATION},
        "flights": {one["flight_number"]: one for one in FLIGHTS},
    }
)
BOOKING = {
    "user_id": "ida",
    "origin": "BOS",
    "destination": "DEN",
    "flight_type": "one_way",
    "cabin": "economy",
    "flights": [{"flight_number": "F1", "date": MAY_20}],
    "passengers": [IDA],
    "payment_methods": [
        {"payment_id": "certificate_1", "amount": 70},
        {"payment_id": "gift_card_1", "amount": 110},
    ],
    "total_baggages": 1,
    "nonfree_baggages": 1,
    "insurance": "yes",
}
FLIGHT_CHANGE = {
    "reservation_id": "AAA111",
    "cabin": "economy",
    "flights": [{"flight_number": "F1", "date": MAY_21}],
    "payment_id": "gift_card_1",
}
BAGS = {
    "reservation_id": "AAA111",
    "total_baggages": 4,
    "nonfree_baggages": 3,
    "payment_id": "credit_card_1",
}


def opened(cls=AirlineTools):
    db = Database(BASE)
    return db, cls(db)


def called(name, arguments, cls=AirlineTools):
    db, tools = opened(cls)
    result = tools.call(name, arguments)
    return db, result


def methods_of(db):
    return db.get("users", "ida")["payment_methods"]


def test_a_booking_is_stored_paid_and_takes_seats() -> None:
    db, result = called("book_reservation", BOOKING)
    assert result.ok, result.output
    booked = db.get("reservations", "HATHAT")
    assert json.loads(result.output) == booked
    assert booked["flights"] == [
        {
            "flight_number": "F1",
            "date": MAY_20,
            "price": 100,
            "origin": "BOS",
            "destination": "DEN",
        }
    ]
    assert booked["created_at"] == "2024-05-15T15:00:00"
    assert db.get("users", "ida")["reservations"] == ["AAA111", "HATHAT"]
    assert "certificate_1" not in methods_of(db), "what is left of a certificate is lost"
    assert methods_of(db)["gift_card_1"]["amount"] == 10
    seats = db.get("flights", "F1")["dates"][MAY_20]["available_seats"]
    assert seats == {"basic_economy": 9, "economy": 8, "business": 9}


def test_bookings_have_fixed_ids_and_end_after_three() -> None:
    card = {**BOOKING, "payment_methods": [{"payment_id": "credit_card_1", "amount": 180}]}
    db, tools = opened()
    results = [tools.call("book_reservation", card) for _ in range(4)]
    assert [one.ok for one in results] == [True, True, True, False]
    assert db.get("users", "ida")["reservations"][1:] == ["HATHAT", "HATHAU", "HATHAV"]


def test_a_cancellation_pays_back_and_keeps_balances() -> None:
    db, result = called("cancel_reservation", {"reservation_id": "AAA111"})
    record = db.get("reservations", "AAA111")
    assert result.ok
    assert record["status"] == "cancelled"
    assert [one["amount"] for one in record["payment_history"]] == [140, -140]
    assert methods_of(db) == BASE.tables["users"]["ida"]["payment_methods"]


def test_new_flights_are_paid_at_todays_price_and_kept_ones_at_the_old() -> None:
    onward = [{"flight_number": "F1", "date": MAY_20}, {"flight_number": "F3", "date": MAY_20}]
    db, result = called("update_reservation_flights", {**FLIGHT_CHANGE, "flights": onward})
    assert not result.ok, "the gift card has less than 2 x 100"
    paid = {**FLIGHT_CHANGE, "flights": onward, "payment_id": "credit_card_1"}
    db, result = called("update_reservation_flights", paid)
    record = db.get("reservations", "AAA111")
    assert [leg["price"] for leg in record["flights"]] == [70, 100]
    assert record["payment_history"][-1] == {"payment_id": "credit_card_1", "amount": 200}


def test_a_difference_is_charged_to_a_gift_card_or_paid_back_to_it() -> None:
    db, _ = called("update_reservation_flights", FLIGHT_CHANGE)
    assert methods_of(db)["gift_card_1"]["amount"] == 120 - 2 * 30
    db, _ = called("update_reservation_flights", {**FLIGHT_CHANGE, "cabin": "basic_economy"})
    assert methods_of(db)["gift_card_1"]["amount"] == 120 + 2 * 10
    assert db.get("reservations", "AAA111")["cabin"] == "basic_economy"


def test_only_further_paid_bags_are_charged() -> None:
    db, _ = called("update_reservation_baggages", BAGS)
    record = db.get("reservations", "AAA111")
    assert (record["total_baggages"], record["nonfree_baggages"]) == (4, 3)
    assert record["payment_history"][-1] == {"payment_id": "credit_card_1", "amount": 100}
    db, _ = called("update_reservation_baggages", {**BAGS, "nonfree_baggages": 1})
    assert db.get("reservations", "AAA111")["payment_history"] == RESERVATION["payment_history"]


def test_passengers_are_replaced_without_unknown_keys() -> None:
    new = [{**IDA, "last_name": "Birch", "seat": "1A"}, BEN]
    arguments = {"reservation_id": "AAA111", "passengers": new}
    db, _ = called("update_reservation_passengers", arguments)
    expected = [{**IDA, "last_name": "Birch"}, BEN]
    assert db.get("reservations", "AAA111")["passengers"] == expected
    db, _ = called("update_reservation_passengers", arguments, AirlineToolsV1)
    assert db.get("reservations", "AAA111")["passengers"] == new


def test_certificates_have_fixed_ids_and_end_after_three() -> None:
    db, tools = opened()
    sent = {"user_id": "ida", "amount": 150}
    results = [tools.call("send_certificate", sent) for _ in range(4)]
    assert [one.ok for one in results] == [True, True, True, False]
    new = [one for one in methods_of(db).values() if one["id"].startswith("certificate_32213")]
    assert [(one["id"], one["amount"]) for one in new] == [
        (f"certificate_{number}", 150) for number in (3221322, 3221323, 3221324)
    ]


def test_direct_flights_are_those_that_can_be_booked() -> None:
    _, tools = opened()
    search = {"origin": "BOS", "destination": "DEN", "date": MAY_21}
    found = json.loads(tools.call("search_direct_flight", search).output)
    assert [one["flight_number"] for one in found] == ["F1", "F2"], "F4 is cancelled"
    assert found[0]["prices"]["economy"] == 100
    assert "dates" not in found[0]
    assert json.loads(tools.call("search_direct_flight", {**search, "date": "soon"}).output) == []


def test_one_stop_flights_connect_also_after_midnight() -> None:
    _, tools = opened()
    search = {"origin": "BOS", "destination": "SEA", "date": MAY_20}
    found = json.loads(tools.call("search_onestop_flight", search).output)
    assert [[(leg["flight_number"], leg["date"]) for leg in pair] for pair in found] == [
        [("F1", MAY_20), ("F3", MAY_20)],
        [("F4", MAY_20), ("F3", MAY_21)],
        [("F4", MAY_20), ("F5", MAY_21)],
    ]


def test_a_search_sees_the_seats_that_the_episode_has_taken() -> None:
    _, tools = opened()
    assert tools.call("book_reservation", BOOKING).ok
    search = {"origin": "BOS", "destination": "DEN", "date": MAY_20}
    found = json.loads(tools.call("search_direct_flight", search).output)
    assert found[0]["available_seats"]["economy"] == 8


def test_an_index_is_made_once_for_a_base() -> None:
    assert FlightIndex.of(BASE) is FlightIndex.of(BASE)


def test_users_reservations_statuses_and_airports_are_read() -> None:
    _, tools = opened()
    assert json.loads(tools.call("get_user_details", {"user_id": "ida"}).output)["user_id"] == "ida"
    record = tools.call("get_reservation_details", {"reservation_id": "AAA111"}).output
    assert json.loads(record) == RESERVATION
    assert tools.call("get_flight_status", {"flight_number": "F6", "date": MAY_20}).output == (
        "delayed"
    )
    airports = json.loads(tools.call("list_all_airports", {}).output)
    assert airports == [{"iata": "BOS", "city": "Boston"}, {"iata": "DEN", "city": "Denver"}]


def paid_with(*payments):
    return [{"payment_id": one, "amount": amount} for one, amount in payments]


REFUSED = [
    ("book_reservation", BOOKING | {"user_id": "ben"}, "no user 'ben'"),
    ("book_reservation", BOOKING | {"cabin": "first"}, "cabin"),
    ("book_reservation", BOOKING | {"flights": [{"flight_number": "F1"}]}, "date"),
    (
        "book_reservation",
        BOOKING | {"flights": [{"flight_number": "F9", "date": MAY_20}]},
        "no flight 'F9'",
    ),
    (
        "book_reservation",
        BOOKING | {"flights": [{"flight_number": "F1", "date": "2024-06-01"}]},
        "does not fly on 2024-06-01",
    ),
    (
        "book_reservation",
        BOOKING | {"flights": [{"flight_number": "F6", "date": MAY_20}]},
        "it is delayed",
    ),
    (
        "book_reservation",
        BOOKING | {"flights": [{"flight_number": "F2", "date": MAY_20}], "passengers": [IDA, BEN]},
        "1 for 2 passengers",
    ),
    (
        "book_reservation",
        BOOKING | {"payment_methods": paid_with(("credit_card_1", 179))},
        "the total price is 180 dollars, but 179",
    ),
    (
        "book_reservation",
        BOOKING | {"payment_methods": paid_with(("credit_card_9", 180))},
        "no payment method 'credit_card_9'",
    ),
    (
        "book_reservation",
        BOOKING | {"payment_methods": paid_with(("gift_card_1", 180))},
        "gift_card_1 has only 120",
    ),
    (
        "book_reservation",
        BOOKING | {"payment_methods": paid_with(("gift_card_1", 30), *[("certificate_1", 75)] * 2)},
        "no payment method 'certificate_1'",
    ),
    ("cancel_reservation", {"reservation_id": "BBB222"}, "no reservation 'BBB222'"),
    ("get_reservation_details", {"reservation_id": "BBB222"}, "no reservation 'BBB222'"),
    ("get_user_details", {"user_id": "ben"}, "no user 'ben'"),
    ("get_flight_status", {"flight_number": "F9", "date": MAY_20}, "no flight 'F9'"),
    ("get_flight_status", {"flight_number": "F1", "date": "2024-06-01"}, "does not fly on"),
    (
        "search_onestop_flight",
        {"origin": "BOS", "destination": "SEA"},
        "date",
    ),
    ("send_certificate", {"user_id": "ben", "amount": 50}, "no user 'ben'"),
    ("send_certificate", {"user_id": "ida", "amount": "much"}, "amount"),
    ("update_reservation_baggages", BAGS | {"reservation_id": "BBB222"}, "no reservation"),
    ("update_reservation_baggages", BAGS | {"payment_id": "certificate_1"}, "certificate"),
    ("update_reservation_baggages", BAGS | {"payment_id": "x"}, "no payment method 'x'"),
    (
        "update_reservation_baggages",
        BAGS | {"payment_id": "gift_card_1", "nonfree_baggages": 4},
        "gift_card_1 has only 120",
    ),
    ("update_reservation_flights", FLIGHT_CHANGE | {"reservation_id": "BBB222"}, "no reservation"),
    ("update_reservation_flights", FLIGHT_CHANGE | {"payment_id": "certificate_1"}, "certificate"),
    (
        "update_reservation_flights",
        FLIGHT_CHANGE | {"cabin": "business"},
        "gift_card_1 has only 120",
    ),
    (
        "update_reservation_flights",
        FLIGHT_CHANGE | {"flights": [{"flight_number": "F2", "date": MAY_20}]},
        "not enough seats",
    ),
    (
        "update_reservation_flights",
        FLIGHT_CHANGE | {"flights": [{"flight_number": "F4", "date": MAY_21}]},
        "it is cancelled",
    ),
    (
        "update_reservation_passengers",
        {"reservation_id": "AAA111", "passengers": [IDA]},
        "2 passengers, not 1",
    ),
    (
        "update_reservation_passengers",
        {"reservation_id": "AAA111", "passengers": [IDA, {"first_name": "Ben"}]},
        "last_name",
    ),
]


@pytest.mark.parametrize("cls", [AirlineTools, AirlineToolsV1])
def test_a_refused_call_says_why_and_changes_nothing(cls, subtests) -> None:
    tables = copy.deepcopy(BASE.tables)
    for name, arguments, message in REFUSED:
        if cls is AirlineToolsV1 and name == "get_flight_status":
            continue
        with subtests.test(f"{name}: {message} ({arguments})"):
            db, result = called(name, arguments, cls)
            assert not result.ok
            assert result.output.startswith("Error: ")
            assert message in result.output
            assert not db.changed()
            assert not db.writes
            assert BASE.tables == tables


def test_an_amount_is_in_whole_dollars_but_in_tau_bench_1() -> None:
    parts = paid_with(("credit_card_1", 90.5), ("gift_card_1", 89.5))
    db, result = called("book_reservation", {**BOOKING, "payment_methods": parts})
    assert "whole dollars" in result.output
    assert not db.changed()
    _, result = called("book_reservation", {**BOOKING, "payment_methods": parts}, AirlineToolsV1)
    assert result.ok


def test_tau_bench_1_keeps_the_seats() -> None:
    db, result = called("book_reservation", BOOKING, AirlineToolsV1)
    assert result.ok
    assert "flights" not in db.changed()


def test_tau_bench_1_changes_prices_but_not_the_cabin() -> None:
    db, _ = called(
        "update_reservation_flights", {**FLIGHT_CHANGE, "cabin": "basic_economy"}, AirlineToolsV1
    )
    record = db.get("reservations", "AAA111")
    assert (record["cabin"], record["flights"][0]["price"]) == ("economy", 60)


def test_tau_bench_1_replaces_the_third_booking_and_ignores_a_fourth_certificate() -> None:
    card = {**BOOKING, "payment_methods": [{"payment_id": "credit_card_1", "amount": 180}]}
    db, tools = opened(AirlineToolsV1)
    bags = [{**card, "total_baggages": count} for count in (1, 2, 3, 4)]
    assert all(tools.call("book_reservation", one).ok for one in bags)
    assert db.get("reservations", "HATHAV")["total_baggages"] == 4
    assert db.get("users", "ida")["reservations"][1:] == ["HATHAT", "HATHAU", "HATHAV", "HATHAV"]
    sent = [tools.call("send_certificate", {"user_id": "ida", "amount": 50}) for _ in range(4)]
    assert all(one.ok for one in sent)
    assert len(methods_of(db)) == 3 + 3


def test_tau_bench_1_has_no_status_of_flights() -> None:
    names = {one.name for one in AirlineTools.functions()}
    assert names - {one.name for one in AirlineToolsV1.functions()} == {"get_flight_status"}
    _, result = called("get_flight_status", {"flight_number": "F1", "date": MAY_20}, AirlineToolsV1)
    assert "no function 'get_flight_status'" in result.output


def test_each_tool_is_described_and_marked() -> None:
    functions = {one.name: one for one in AirlineTools.functions()}
    writes = {name for name in functions if AirlineTools.kind_of(name) == "write"}
    assert writes == {
        *("book_reservation", "cancel_reservation", "send_certificate"),
        *("update_reservation_baggages", "update_reservation_flights"),
        "update_reservation_passengers",
    }
    assert set(functions) - writes == {
        *("get_reservation_details", "get_user_details", "list_all_airports", "calculate", "think"),
        *("search_direct_flight", "search_onestop_flight", "get_flight_status"),
        "transfer_to_human_agents",
    }
    for function in functions.values():
        described = function.parameters["properties"].values()
        assert all("description" in one for one in described), function.name
