from collections.abc import Callable

from routes import earliest_arrival, parse_timetable
from routes.errors import ParseError

DAY = """
slow   Alm 8:00 Bree 8:20 Cove 8:45 Dale 9:30
fast   Bree 8:30 Dale 8:50
early  Bree 8:23 Dale 9:00
bus    Cove 8:50 Elm 9:05
boat   Dale 9:10 Elm 9:40
night  Dale 23:50 Alm 24:25
"""


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def failing_line(text: str) -> int:
    try:
        parse_timetable(text)
    except ParseError as error:
        return error.line
    return 0


def read(text: str) -> list[tuple[int, int, str, str, str]]:
    found = parse_timetable(text)
    return [(one.departs, one.arrives, one.trip, one.start, one.end) for one in found]


def ride(
    text: str, source: str, target: str, ready: int = 0, change: int = 5
) -> tuple[int, list[str]]:
    journey = earliest_arrival(parse_timetable(text), source, target, ready, change)
    legs = [f"{leg.trip} {leg.start} {leg.departs} {leg.end} {leg.arrives}" for leg in journey.legs]
    return journey.arrives, legs


def arrival(text: str, ready: int = 0, change: int = 5) -> int:
    return earliest_arrival(parse_timetable(text), "a", "z", ready, change).arrives


def trips(text: str, ready: int = 0, change: int = 5) -> str:
    journey = earliest_arrival(parse_timetable(text), "a", "z", ready, change)
    return " ".join(leg.trip for leg in journey.legs)


def test_a_trip_has_a_connection_between_neighbouring_stops() -> None:
    assert read("T1 Alm 8:00 Bree 8:20 Cove 8:50") == [
        (480, 500, "T1", "Alm", "Bree"),
        (500, 530, "T1", "Bree", "Cove"),
    ]
    assert read("x p 0:00 q 0:01") == [(0, 1, "x", "p", "q")]


def test_connections_are_sorted_by_departure_then_arrival_then_trip() -> None:
    assert [row[2] for row in read("x a 9:00 b 9:10\ny a 8:00 b 9:30\nz a 8:00 b 8:05")] == [
        "z",
        "y",
        "x",
    ]
    assert [row[2] for row in read("n b 6:00 c 6:10\nm d 6:00 e 6:10")] == ["m", "n"]


def test_times_go_on_after_midnight() -> None:
    assert read("n a 23:50 b 24:10 c 47:59") == [
        (1430, 1450, "n", "a", "b"),
        (1450, 2879, "n", "b", "c"),
    ]
    assert read("n a 09:05 b 40:00") == [(545, 2400, "n", "a", "b")]


def test_blank_lines_do_not_count() -> None:
    assert read("") == []
    assert read("\n  \nt a 1:00 b 2:00\n\n") == [(60, 120, "t", "a", "b")]


def test_a_time_that_cannot_be_read_is_reported_with_its_line() -> None:
    assert failing_line("t a 8:00 b 9:60") == 1
    assert failing_line("t a 8:00 b 9:59") == 0
    assert failing_line("t a 8:00 b 9:00\nu a 8:00 b 48:00") == 2
    assert failing_line("t a 8:00 b 9:00\n\nu a 8:5 b 9:00") == 3


def test_a_time_needs_hours_and_two_digits_of_minutes() -> None:
    assert failing_line("t a 8:00 b 9:001") == 1
    assert failing_line("t a 8:00 b :30") == 1
    assert failing_line("t a 8:00 b x:30") == 1
    assert failing_line("t a 8:00 b 9:3x") == 1
    assert failing_line("t a 8:00 b 930") == 1


def test_a_trip_must_get_later_at_each_stop() -> None:
    assert failing_line("t a 8:00 b 8:00") == 1
    assert failing_line("t a 8:00 b 8:01") == 0
    assert failing_line("\nt a 8:00 b 8:30 c 8:20") == 2


def test_a_trip_needs_two_stops_that_all_have_times() -> None:
    assert failing_line("t") == 1
    assert failing_line("t a 8:00") == 1
    assert failing_line("t a 8:00 b 8:10\nu a 8:00 b 8:10 c") == 2


def test_a_trip_must_not_come_twice() -> None:
    assert failing_line("t a 8:00 b 8:10\nt b 9:00 a 9:10") == 2
    assert failing_line("t a 8:00 b 8:10\nu b 9:00 a 9:10\n\nu c 7:00 d 8:00") == 4


def test_a_direct_trip_is_one_leg() -> None:
    assert ride(DAY, "Alm", "Bree") == (500, ["slow Alm 480 Bree 500"])
    assert ride(DAY, "Alm", "Cove") == (525, ["slow Alm 480 Cove 525"])


def test_a_change_is_made_where_it_leads_to_an_earlier_arrival() -> None:
    assert ride(DAY, "Alm", "Dale") == (530, ["slow Alm 480 Bree 500", "fast Bree 510 Dale 530"])
    assert ride(DAY, "Alm", "Elm") == (545, ["slow Alm 480 Cove 525", "bus Cove 530 Elm 545"])


def test_who_is_ready_later_takes_a_later_trip() -> None:
    assert ride(DAY, "Bree", "Dale", 503) == (530, ["fast Bree 510 Dale 530"])
    assert ride(DAY, "Dale", "Elm", 550) == (580, ["boat Dale 550 Elm 580"])
    assert ride(DAY, "Dale", "Alm", 551) == (1465, ["night Dale 1430 Alm 1465"])


def test_a_trip_can_be_caught_at_the_minute_it_leaves() -> None:
    assert arrival("t a 8:00 z 9:00\nu a 8:10 z 9:30", ready=480) == 540
    assert arrival("t a 8:00 z 9:00\nu a 8:10 z 9:30", ready=481) == 570
    assert raised(lambda: arrival("t a 8:00 z 9:00", ready=481)) == "NoPath"


def test_a_change_takes_five_minutes_unless_given() -> None:
    text = "t a 8:00 m 8:20\nu m 8:24 z 8:40\nv m 8:25 z 8:50\nw m 8:30 z 9:00"
    connections = parse_timetable(text)
    assert earliest_arrival(connections, "a", "z").arrives == 530
    assert arrival(text, change=4) == 520
    assert arrival(text, change=6) == 540
    assert raised(lambda: arrival(text, change=11)) == "NoPath"


def test_staying_on_a_trip_takes_no_time_to_change() -> None:
    assert trips("t a 8:00 m 8:20 z 8:50", change=60) == "t"
    assert arrival("t a 8:00 m 8:20 n 8:21 z 8:22\nu m 8:30 z 9:00", change=60) == 502


def test_boarding_the_first_trip_takes_no_time_to_change() -> None:
    assert trips("t a 8:00 z 9:00", ready=480, change=30) == "t"
    assert trips("t a 0:00 m 0:05\nu m 0:35 z 0:50", change=30) == "t u"


def test_the_journey_is_ready_at_midnight_unless_told_otherwise() -> None:
    connections = parse_timetable("t a 0:00 z 0:10\nu a 0:05 z 0:12")
    assert earliest_arrival(connections, "a", "z").arrives == 10
    assert earliest_arrival(connections, "a", "z", 1).arrives == 12
    assert earliest_arrival(connections, "a", "a").arrives == 0


def test_a_trip_is_boarded_where_it_can_first_be_caught() -> None:
    loop = "t a 8:00 m 8:10 n 8:20\nu m 8:30 n 8:40 z 9:00"
    assert ride(loop, "a", "z") == (
        540,
        ["t a 480 m 490", "u m 510 z 540"],
    )
    assert ride(loop, "n", "z", 500) == (540, ["u n 520 z 540"])


def test_of_connections_that_arrive_together_the_first_reaches_the_stop() -> None:
    assert trips("p a 8:10 z 9:00\nq a 8:00 z 9:00") == "q"
    assert trips("q a 8:00 z 9:00\np a 8:00 z 9:00") == "p"
    assert trips("q a 8:00 z 9:00\np a 8:00 z 8:59") == "p"


def test_an_express_that_leaves_later_may_arrive_first() -> None:
    assert ride("t a 8:00 z 9:30\nu a 8:20 z 8:50", "a", "z") == (530, ["u a 500 z 530"])
    assert trips("t a 8:00 m 8:50\nu a 8:20 m 8:40\nv m 8:45 z 9:00\nw m 8:55 z 9:20") == "u v"


def test_a_journey_may_need_several_changes() -> None:
    text = "t a 8:00 k 8:10\nu k 8:20 m 8:30\nv m 8:40 z 8:50"
    assert trips(text) == "t u v"
    assert trips(text, change=10) == "t u v"
    assert raised(lambda: trips(text, change=11)) == "NoPath"


def test_the_journey_to_the_source_has_no_legs() -> None:
    assert ride(DAY, "Alm", "Alm", 300) == (300, [])
    assert ride(DAY, "Dale", "Dale", 700) == (700, [])


def test_a_stop_that_no_trip_leads_to_cannot_be_reached() -> None:
    assert raised(lambda: ride(DAY, "Elm", "Alm")) == "NoPath"
    assert raised(lambda: ride(DAY, "Bree", "Dale", 510)) == ""
    assert raised(lambda: ride(DAY, "Bree", "Dale", 511)) == "NoPath"


def test_both_stops_must_be_in_the_timetable() -> None:
    assert raised(lambda: ride(DAY, "Alm", "Moon")) == "UnknownNode"
    assert raised(lambda: ride(DAY, "Moon", "Alm")) == "UnknownNode"
    assert raised(lambda: ride("", "Alm", "Alm")) == "UnknownNode"
