"""An MCP server for dates and times: ``python -m gem.tools.mcp_server.time_mcp``."""

import datetime as dt

from gem.requirements import needs

with needs("gem-tools"):
    from gem_tools.mcp.time_server import (
        FORMATS,
        convert_time,
        current_time,
        days_in_month,
        get_timestamp,
        get_week_year,
        main,
        relative_time,
        time_server,
    )

__all__ = [
    "app",
    "convert_time",
    "current_time",
    "days_in_month",
    "get_timestamp",
    "get_week_year",
    "main",
    "relative_time",
]

app = time_server()


def _parse_dt(time_str: str) -> dt.datetime:
    """Read a local date and time, ``YYYY-MM-DD HH:mm:ss`` with or without ``.SSS``.

    Raises:
        ValueError: The text has another form.
    """
    form = "%Y-%m-%d %H:%M:%S.%f" if "." in time_str else "%Y-%m-%d %H:%M:%S"
    return dt.datetime.strptime(time_str, form).astimezone()


def _parse_date(date_str: str) -> dt.datetime:
    """Read a date, ``YYYY-MM-DD``, as the local midnight.

    Raises:
        ValueError: The text has another form.
    """
    return dt.datetime.strptime(date_str, "%Y-%m-%d").astimezone()


def _moment_to_strftime(fmt: str) -> str:
    """Return the ``strftime`` format of one of the server's formats; others stay as they are."""
    return FORMATS.get(fmt, fmt).replace("{hour}", "%-I")


if __name__ == "__main__":
    main()
