"""Adapts plain functions and coroutine functions to the callbacks of the SDK."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from mcp.types import CreateMessageResult, TextContent

__all__ = ["log_callback", "progress_callback", "sampling_callback"]

Handler = Callable[..., Any]


def log_callback(handler: Handler) -> Callable[[Any], Awaitable[None]]:
    """Return a callback that passes on each message, with ``level``, ``logger`` and ``data``."""

    async def callback(message: Any) -> None:
        await _called(handler, message)

    return callback


def progress_callback(
    handler: Handler,
) -> Callable[[float, float | None, str | None], Awaitable[None]]:
    """Return a callback that passes on progress, total and message."""

    async def callback(progress: float, total: float | None, message: str | None) -> None:
        await _called(handler, progress, total, message)

    return callback


def sampling_callback(handler: Handler) -> Callable[[Any, Any], Awaitable[Any]]:
    """Return a callback that gets a model's text from ``handler(messages, params, context)``.

    The handler returns a text or the SDK's ``CreateMessageResult``. Because a model may be slow, a
    handler that is not a coroutine function runs in a thread.
    """

    async def callback(context: Any, params: Any) -> Any:
        given = (params.messages, params, context)
        if inspect.iscoroutinefunction(handler):
            answer = await handler(*given)
        else:
            answer = await asyncio.to_thread(handler, *given)
        if not isinstance(answer, str):
            return answer
        content = TextContent(type="text", text=answer)
        return CreateMessageResult(role="assistant", content=content, model="gem-core")

    return callback


async def _called(handler: Handler, *given: Any) -> None:
    answer = handler(*given)
    if inspect.isawaitable(answer):
        await answer
