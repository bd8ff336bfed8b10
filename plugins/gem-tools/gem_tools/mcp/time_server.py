"""An MCP server for dates and times: ``python -m gem_tools.mcp.time_server --transport stdio``."""

import datetime as dt
import zoneinfo
from typing import Annotated, Any

import click
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from gem_core.errors import near_names
from gem_tools.mcp.serving import serve, serving_options

__all__ = ["main", "time_server"]

STAMP = "YYYY-MM-DD HH:mm:ss"
FORMATS = {
    "h:mm A": "{hour}:%M %p",
    "h:mm:ss A": "{hour}:%M:%S %p",
    "YYYY-MM-DD": "%Y-%m-%d",
    STAMP: "%Y-%m-%d %H:%M:%S",
    "YYYY-MM": "%Y-%m",
    "MM/DD/YYYY": "%m/%d/%Y",
    "MM/DD/YY": "%m/%d/%y",
    "YYYY/MM/DD": "%Y/%m/%d",
    "YYYY/MM": "%Y/%m",
}
"""Formats of times, with their formats for ``strftime``."""

_UNITS = (
    ("second", 1, 60),
    ("minute", 60, 60),
    ("hour", 3600, 24),
    ("day", 86400, 30),
    ("month", 30 * 86400, 12),
    ("year", 365 * 86400, 10_000),
)
"""Name, seconds, and how many of the unit make the next one."""

Zone = Annotated[str, Field(description="IANA name of a time zone, such as Asia/Singapore")]
Stamp = Annotated[str, Field(description=f"Date and time as {STAMP}")]
Day = Annotated[str | None, Field(description="Date as YYYY-MM-DD; today if left out")]


def current_time(
    format: Annotated[str, Field(description=f"One of: {', '.join(FORMATS)}")] = STAMP,  # noqa: A002
    timezone: Annotated[str | None, Zone] = None,
) -> str:
    """Return the current date and time, local or in a time zone."""
    if format not in FORMATS:
        raise ToolError(
            f"There is no format {format!r}.{near_names(format, FORMATS)} "
            f"The formats are: {', '.join(FORMATS)}."
        )
    now = dt.datetime.now(None if timezone is None else _zone(timezone))
    return now.strftime(FORMATS[format].replace("{hour}", str(now.hour % 12 or 12)))


def relative_time(time: Stamp) -> str:
    """Return the distance to a local date and time, such as 'in 2 hours' or '1 day ago'."""
    seconds = (_moment(time) - dt.datetime.now()).total_seconds()  # noqa: DTZ005 - local
    return _distance(seconds)


def _distance(seconds: float) -> str:
    name, size, _ = next(unit for unit in _UNITS if abs(seconds) < unit[1] * unit[2])
    number = int(abs(seconds) // size)
    if name == "year":  # twelve months of 30 days are a little less than a year
        number = max(1, number)
    amount = f"{number} {name}{'' if number == 1 else 's'}"
    return f"in {amount}" if seconds > 0 else f"{amount} ago"


def days_in_month(date: Day = None) -> int:
    """Return the number of days in the month of a date."""
    day = _day(date)
    following = (day.replace(day=28) + dt.timedelta(days=4)).replace(day=1)
    return (following - dt.timedelta(days=1)).day


def get_timestamp(
    time: Annotated[str, Field(description=f"Local date and time as {STAMP}, or {STAMP}.SSS")],
) -> int:
    """Return the milliseconds since 1970 of a local date and time."""
    return round(_moment(time).timestamp() * 1000)


def convert_time(sourceTimezone: Zone, targetTimezone: Zone, time: Stamp) -> str:  # noqa: N803
    """Convert a date and time from one time zone to another."""
    there = _moment(time).replace(tzinfo=_zone(sourceTimezone))
    return there.astimezone(_zone(targetTimezone)).strftime(FORMATS[STAMP])


def get_week_year(date: Day = None) -> str:
    """Return the week number of a date: counted from the first Monday, and by ISO 8601."""
    day = _day(date)
    return f"week: {int(day.strftime('%W'))}, isoWeek: {day.isocalendar().week}"


def _zone(name: str) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        near = near_names(name, zoneinfo.available_timezones())
        raise ToolError(f"There is no time zone {name!r}.{near}") from error


def _moment(text: str) -> dt.datetime:
    """Read a local date and time."""
    for form in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"):
        try:
            return dt.datetime.strptime(text, form)  # noqa: DTZ007 - it is local
        except ValueError:
            continue
    raise ToolError(f"A date and time is written {STAMP}; got {text!r}.")


def _day(text: str | None) -> dt.date:
    if text is None:
        return dt.date.today()  # noqa: DTZ011 - local
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise ToolError(f"A date is written YYYY-MM-DD; got {text!r}.") from None


def time_server() -> MCPServer[Any]:
    """Return the server."""
    server: MCPServer[Any] = MCPServer("time")
    tools = current_time, relative_time, days_in_month, get_timestamp, convert_time, get_week_year
    for function in tools:
        server.add_tool(
            function,
            annotations=ToolAnnotations(read_only_hint=True),
            structured_output=False,
        )
    return server


@click.command()
@serving_options("/time-mcp")
def main(**options: Any) -> None:
    """Serve the time tools."""
    serve(time_server(), **options)


if __name__ == "__main__":
    main()
