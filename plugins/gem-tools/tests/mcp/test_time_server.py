"""The clock: what each of its tools answers, and what it refuses."""

import datetime as dt
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gem_tools.mcp import MCPTool
from gem_tools.mcp import time_server as clock


@pytest.fixture(scope="module")
def tool():
    command = [sys.executable, "-m", "gem_tools.mcp.time_server", "--transport", "stdio"]
    made = MCPTool(command)
    yield made
    made.close()


def test_it_offers_its_six_tools(tool):
    assert [one["name"] for one in tool.get_available_tools()] == [
        "convert_time",
        "current_time",
        "days_in_month",
        "get_timestamp",
        "get_week_year",
        "relative_time",
    ]


@pytest.mark.parametrize("form", clock.FORMATS)
def test_the_current_time_is_written_in_every_format(tool, call, form):
    shown = call(tool, "current_time", format=form, timezone="Asia/Tokyo").output
    pattern = clock.FORMATS[form].replace("{hour}", "%I")
    assert dt.datetime.strptime(f"{shown} +0900", f"{pattern} %z")
    assert not (form.startswith("h") and shown.startswith("0"))


def test_the_current_time_is_now_in_the_zone_that_is_asked_for(tool, call):
    shown = call(tool, "current_time", timezone="Asia/Kolkata").output
    zone = dt.timezone(dt.timedelta(hours=5, minutes=30))
    moment = dt.datetime.strptime(shown, "%Y-%m-%d %H:%M:%S").replace(tzinfo=zone)
    assert abs(dt.datetime.now(dt.UTC) - moment) < dt.timedelta(hours=1)


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
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
    ],
)
def test_calendar_and_zones(tool, call, name, arguments, answer):
    assert call(tool, name, **arguments).output == answer


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("current_time", {"timezone": "Mars/Olympus"}, "no time zone 'Mars/Olympus'"),
        ("current_time", {"timezone": "../etc/passwd"}, "no time zone"),
        ("current_time", {"timezone": ""}, "no time zone"),
        ("current_time", {"timezone": "Europe/Berln"}, "Did you mean 'Europe/Berlin'"),
        ("current_time", {"format": "HH:mm"}, "The formats are: h:mm A"),
        ("days_in_month", {"date": "2024-13-01"}, "written YYYY-MM-DD"),
        ("relative_time", {"time": "tomorrow"}, "written YYYY-MM-DD HH:mm:ss"),
    ],
)
def test_what_it_does_not_know_is_an_error(tool, call, name, arguments, said):
    result = call(tool, name, **arguments)
    assert not result.ok
    assert said in result.output


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
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
    ],
)
def test_distances_have_the_right_unit_and_number(seconds, said):
    assert clock._distance(seconds) == said


@settings(deadline=None)
@given(st.dates(dt.date(1971, 1, 1), dt.date(9990, 1, 1)), st.times())
def test_every_moment_has_a_distance_and_a_timestamp(day, time):
    moment = dt.datetime.combine(day, time)
    text = moment.replace(microsecond=0).isoformat(" ")
    distance = r"(1 (second|minute|hour|day|month|year)|\d+ (second|minute|hour|day|month|year)s)"
    assert re.fullmatch(f"in {distance}|{distance} ago", clock.relative_time(text))
    assert clock.get_timestamp(text) == round(moment.replace(microsecond=0).timestamp() * 1000)


def test_milliseconds_are_read():
    whole = clock.get_timestamp("2024-05-05 10:00:00")
    assert clock.get_timestamp("2024-05-05 10:00:00.250") == whole + 250
