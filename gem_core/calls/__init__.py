"""Call formats: how an action calls tools. gem-tools has some.

A format reads an action, shows the results, and explains to an agent how to call. With ``tags``,
the tools parse their calls; the other formats name functions, and ``Catalog`` knows which tool has
a function and which arguments the function takes.
"""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_core.calls.catalog import Catalog
    from gem_core.calls.format import CallFormat, FunctionFormat
    from gem_core.calls.reading import MOST_CALLS, Reading, Request

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "catalog": ("Catalog",),
        "format": ("CallFormat", "FunctionFormat"),
        "reading": ("MOST_CALLS", "Reading", "Request"),
    },
)

__all__ = [
    "MOST_CALLS",
    "CallFormat",
    "Catalog",
    "FunctionFormat",
    "Reading",
    "Request",
]
