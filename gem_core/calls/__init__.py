"""Call formats: how an action calls tools by the names of their functions. gem-tools has some.

A format reads an action, shows the results, and explains to an agent how to call. It does not know
the tools; ``Catalog`` knows which tool has a function and which arguments the function takes.
"""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_core.calls.catalog import Catalog
    from gem_core.calls.format import MOST_CALLS, BaseCallFormat, CallFormat, Reading, Request

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "catalog": ("Catalog",),
        "format": ("MOST_CALLS", "BaseCallFormat", "CallFormat", "Reading", "Request"),
    },
)

__all__ = [
    "MOST_CALLS",
    "BaseCallFormat",
    "CallFormat",
    "Catalog",
    "Reading",
    "Request",
]
