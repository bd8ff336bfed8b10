"""The clock of tool worlds: it stands still, so that an episode does not depend on the day.

A world that imports ``datetime`` gets a module in which it is always ``NOW``.
"""

import builtins
import datetime as dt
import types
from typing import Any, Self

__all__ = ["NOW", "world_builtins"]

NOW = dt.datetime(2026, 6, 1, 12, 0, 0)  # noqa: DTZ001 - without a zone, as now() gives it
"""The date and time in every world: public ones that compare dates have their solutions then."""


class _Date(dt.date):
    @classmethod
    def today(cls) -> Self:
        return cls(NOW.year, NOW.month, NOW.day)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return handler.generate_schema(dt.date)


class _Datetime(dt.datetime):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Self:
        return cls(NOW.year, NOW.month, NOW.day, NOW.hour, tzinfo=tz)

    @classmethod
    def today(cls) -> Self:
        return cls.now()

    @classmethod
    def utcnow(cls) -> Self:
        return cls.now()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return handler.generate_schema(dt.datetime)


_MODULE = types.ModuleType("datetime")
vars(_MODULE).update({**vars(dt), "date": _Date, "datetime": _Datetime})


def world_builtins() -> dict[str, Any]:
    """Return the builtins of a world: ``import datetime`` gives the clock that stands still."""

    def imported(name: str, *args: Any, **kwargs: Any) -> Any:
        return _MODULE if name == "datetime" else builtins.__import__(name, *args, **kwargs)

    return {**vars(builtins), "__import__": imported}
