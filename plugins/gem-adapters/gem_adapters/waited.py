"""Asynchronous environments for trainers whose own environments are synchronous."""

import inspect
from collections.abc import Awaitable
from typing import Any

from gem_core.background import BackgroundLoop

__all__ = ["waited"]

_BACKGROUND = BackgroundLoop()
"""One loop for a process: what an environment awaits may belong to the loop of its reset."""


def waited(value: Any) -> Any:
    """Return a value, or the result of an awaitable."""
    return _BACKGROUND.run(_result(value)) if inspect.isawaitable(value) else value


async def _result(value: Awaitable[Any]) -> Any:
    return await value
