"""How an action calls tools: formats that find calls by the names of functions.

A format reads an action, shows the results, and tells an agent how to call. It knows nothing of
tools; ``Catalog`` knows which tool has the function of a name and which arguments it takes.
"""

from gem_core.calls.catalog import Catalog
from gem_core.calls.format import MOST_CALLS, BaseCallFormat, CallFormat, Reading, Request

__all__ = ["MOST_CALLS", "BaseCallFormat", "CallFormat", "Catalog", "Reading", "Request"]
