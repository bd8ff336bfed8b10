"""One body of code for synchronous and asynchronous environments.

The ``step`` of an environment may return its result or an awaitable of it. Code between the
environment and its caller (wrappers, vectors, rollouts) is written once: it is synchronous if
everything below it is, and returns an awaitable if something below it does.
"""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeGuard, TypeVar

__all__ = ["drive", "is_awaitable", "then"]

In = TypeVar("In")
Out = TypeVar("Out")


def is_awaitable(value: object) -> TypeGuard[Awaitable[Any]]:
    """Return whether ``value`` can be awaited; much faster than ``inspect.isawaitable``."""
    return hasattr(type(value), "__await__")


def then(value: In | Awaitable[In], function: Callable[[In], Out]) -> Out | Awaitable[Out]:
    """Apply ``function`` to ``value``, or to its result if ``value`` is awaitable."""
    if is_awaitable(value):
        return _then_later(value, function)
    return function(value)  # type: ignore[arg-type]


async def _then_later(value: Awaitable[In], function: Callable[[In], Out]) -> Out:
    return function(await value)


def drive(steps: Generator[Any, Any, Out]) -> Out | Awaitable[Out]:
    """Run a generator that yields values or awaitables; it is sent their results and errors.

    Returns:
        The generator's return value; an awaitable of it from the first awaitable that it yields.
    """
    try:
        value = next(steps)
        while not is_awaitable(value):
            value = steps.send(value)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    return _drive_later(steps, value)


async def _drive_later(steps: Generator[Any, Any, Out], value: Any) -> Out:
    try:
        while True:
            try:
                result = await value if is_awaitable(value) else value
            except BaseException as error:  # noqa: BLE001 - the generator decides what to do with it
                value = steps.throw(error)
            else:
                value = steps.send(result)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    finally:
        steps.close()
