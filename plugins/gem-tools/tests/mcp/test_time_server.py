"""The clock: what each of its tools answers, and what it refuses."""

import datetime as dt
import importlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

few = settings(max_examples=100 if thorough() else 25)


@pytest.fixture(scope="module")
def time_server():
    return importlib.import_module("gem_tools.mcp.time_server")


@pytest.mark.slow
def test_the_clock_offers_six_tools(clock):
    assert [one["name"] for one in clock.get_available_tools()] == [
        "convert_time",
        "current_time",
        "days_in_month",
        "get_timestamp",
        "get_week_year",
        "relative_time",
    ]


@pytest.mark.slow
def test_the_current_time_is_written_in_every_format(time_server, clock, call, subtests):
    for form in time_server.FORMATS:
        with subtests.test(form=form):
            shown = call(clock, "current_time", format=form, timezone="Asia/Tokyo").output
            pattern = time_server.FORMATS[form].replace("{hour}", "%I")
            assert dt.datetime.strptime(f"{shown} +0900", f"{pattern} %z")
            assert not (form.startswith("h") and shown.startswith("0"))


@pytest.mark.slow
def test_the_current_time_is_now_in_the_zone_that_is_asked_for(clock, call):
    shown = call(clock, "current_time", timezone="Asia/Kolkata").output
    zone = dt.timezone(dt.timedelta(hours=5, minutes=30))
    moment = dt.datetime.strptime(shown, "%Y-%m-%d %H:%M:%S").replace(tzinfo=zone)
    assert abs(dt.datetime.now(dt.UTC) - moment) < dt.timedelta(hours=1)


@pytest.mark.slow
def test_days_weeks_and_zones_are_converted(clock, call, subtests):
    for name, arguments, answer in [
        ("days_in_month", {"date": "2024-02-05"}, "29"),
        ("days_in_month", {"date": "2100-02-05"}, "28"),
        ("days_in_month", {"date": "2023-12-31"}, "31"),
        ("get_week_year", {"date": "2024-12-30"}, "week: 53, isoWeek: 1"),
        ("get_week_year", {"date": "2023-01-01"}, "week: 0, isoWeek: 52"),
        (
            "convert_time",
            {
                "sourceTimezone": "Europe/Berlin",
                "targetTimezone": "America/New_York",
                "time": "2024-03-20 12:00:00",
            },
            "2024-03-20 07:00:00",
        ),
    ]:
        with subtests.test(name=name, arguments=arguments, answer=answer):
            assert call(clock, name, **arguments).output == answer


@pytest.mark.slow
def test_unknown_zones_formats_and_times_are_errors(clock, call, subtests):
    for name, arguments, said in [
        ("current_time", {"timezone": "Mars/Olympus"}, "no time zone 'Mars/Olympus'"),
        ("current_time", {"timezone": "../etc/passwd"}, "no time zone"),
        ("current_time", {"timezone": ""}, "no time zone"),
        ("current_time", {"timezone": "Europe/Berln"}, "Did you mean 'Europe/Berlin'"),
        ("current_time", {"format": "HH:mm"}, "The formats are: h:mm A"),
        ("days_in_month", {"date": "2024-13-01"}, "written YYYY-MM-DD"),
        ("relative_time", {"time": "tomorrow"}, "written YYYY-MM-DD HH:mm:ss"),
    ]:
        with subtests.test(name=name, arguments=arguments, said=said):
            result = call(clock, name, **arguments)
            assert not result.ok
            assert said in result.output


def test_distances_have_the_right_unit_and_number(time_server, subtests):
    for seconds, said in [
        (0, "0 seconds ago"),
        (-1.5, "1 second ago"),
        (59, "in 59 seconds"),
        (60, "in 1 minute"),
        (-7200, "2 hours ago"),
        (86400, "in 1 day"),
        (-29 * 86400, "29 days ago"),
        (30 * 86400, "in 1 month"),
        (-359 * 86400, "11 months ago"),
        (362 * 86400, "in 1 year"),
        (-10 * 365 * 86400, "10 years ago"),
    ]:
        with subtests.test(seconds=seconds, said=said):
            assert time_server._distance(seconds) == said


@pytest.mark.slow
@few
@given(st.dates(dt.date(1971, 1, 1), dt.date(9990, 1, 1)), st.times())
def test_every_moment_has_a_distance_and_a_timestamp(time_server, day, time):
    moment = dt.datetime.combine(day, time)
    text = moment.replace(microsecond=0).isoformat(" ")
    distance = r"(1 (second|minute|hour|day|month|year)|\d+ (second|minute|hour|day|month|year)s)"
    assert re.fullmatch(f"in {distance}|{distance} ago", time_server.relative_time(text))
    assert time_server.get_timestamp(text) == round(
        moment.replace(microsecond=0).timestamp() * 1000
    )


def test_milliseconds_are_read(time_server):
    whole = time_server.get_timestamp("2024-05-05 10:00:00")
    assert time_server.get_timestamp("2024-05-05 10:00:00.250") == whole + 250
