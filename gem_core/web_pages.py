"""Tells whether a request to a server on this machine may come from a foreign web page.

A browser lets any page send requests to the loopback interface, and a page whose name resolves to
this machine (DNS rebinding) also reads the answers. The headers ``Origin`` and ``Host`` give both
away; clients that are not browsers send no ``Origin``.
"""

import ipaddress
from collections.abc import Collection
from typing import Any, Protocol
from urllib.parse import urlsplit

__all__ = ["Headers", "page_problem"]


class Headers(Protocol):
    """The headers of a request, in the form of any HTTP library."""

    def get(self, name: str, /) -> Any:
        """Return the value of a header, whose name is given in any case; None without it."""


def page_problem(headers: Headers, address: str, names: Collection[str] = ()) -> str:
    """Return why a request is refused; empty if no foreign page can have sent it.

    Args:
        headers: The headers of the request.
        address: The address of this machine at which the request arrived. At a loopback address,
            ``Host`` must name the loopback interface.
        names: Other host names under which the server is known, in lower case.
    """
    host = headers.get("Host") or ""
    name = _name_in(host)
    if _is_loopback(address) and not _is_local(name) and name not in names:
        return f"The host {name[:100]!r} is not known here: use 127.0.0.1 or localhost."
    origin = headers.get("Origin")
    if origin is not None and _host_of(origin) != host.lower():
        return f"Web pages of {origin[:100]!r} may not use this server."
    return ""


def _host_of(origin: str) -> str | None:
    """Return the host and port of an origin in lower case; None if it has none."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _name_in(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return host


def _is_local(name: str) -> bool:
    return name == "localhost" or name.endswith(".localhost") or _is_loopback(name)


def _is_loopback(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback
