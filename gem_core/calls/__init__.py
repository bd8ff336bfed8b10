"""Call formats: how an action calls tools by the names of their functions.

A format reads an action, shows the results, and explains to an agent how to call. It does not know
the tools; ``Catalog`` knows which tool has a function and which arguments the function takes.
"""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_core.calls.catalog import Catalog
    from gem_core.calls.format import MOST_CALLS, BaseCallFormat, CallFormat, Reading, Request
    from gem_core.calls.marked import FencedFormat, HermesFormat
    from gem_core.calls.openai import OpenAIFormat

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "catalog": ("Catalog",),
        "format": ("MOST_CALLS", "BaseCallFormat", "CallFormat", "Reading", "Request"),
        "marked": ("FencedFormat", "HermesFormat"),
        "openai": ("OpenAIFormat",),
    },
)

__all__ = [
    "MOST_CALLS",
    "BaseCallFormat",
    "CallFormat",
    "Catalog",
    "FencedFormat",
    "HermesFormat",
    "OpenAIFormat",
    "Reading",
    "Request",
]
