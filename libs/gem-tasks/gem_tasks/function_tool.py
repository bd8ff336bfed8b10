"""Python functions as tools: a function, or the methods of an object.

The signature and the docstring describe the function to an agent, and pydantic checks arguments
against the annotations. With the call format ``tags`` a call is
``<name>{"argument": "value"}</name>``; if the only parameter is a text, the tags contain that text.
"""

import functools
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

from gem_core.calls.catalog import signature
from gem_core.calls.written import json_at
from gem_core.errors import ConfigError
from gem_core.faults import error_record
from gem_core.maybe_async import is_awaitable
from gem_core.observation import Action
from gem_core.tool import BaseTool, Function, ToolCall, ToolResult
from gem_tasks.described import Described

__all__ = ["FunctionTool", "ToolSet", "as_tool"]


@dataclass(frozen=True)
class _Unreadable(Mapping[str, Any]):
    """Takes the place of arguments that cannot be read, in a call in tags."""

    problem: str

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


class _PythonTool(BaseTool, ABC):
    """Base class of tools that consist of Python functions."""

    shared: ClassVar[tuple[str, ...]] = ("_described", "blocking", "in_order", "name")
    _described: dict[str, Described]

    @abstractmethod
    def _target(self, function: str) -> Callable[..., Any]:
        """Return the function to call."""

    def functions(self) -> Sequence[Function]:
        """Return the schemas from the signatures and docstrings."""
        return [one.function for one in self._described.values()]

    def instructions(self) -> str:
        return "\n\n".join(map(_instructions, self._described.values()))

    def parse(self, action: Action) -> ToolCall | None:
        if not isinstance(action, str):
            return None
        found = [_parse(self.name, one, action) for one in self._described.values()]
        calls = [call for call in found if call is not None]
        return min(calls, key=lambda call: len(call.text)) if calls else None

    def run(self, call: ToolCall) -> Any:
        """Call the function; an exception becomes a failed result."""
        try:
            value = self._call(call)
            return self._awaited(call, value) if is_awaitable(value) else _result(value)
        except Exception as error:  # noqa: BLE001 - functions report failures by raising
            return _failure(call, error)

    async def arun(self, call: ToolCall) -> ToolResult:
        """``run`` for asynchronous environments; a blocking function runs in a thread."""
        if self.blocking:
            import asyncio  # noqa: PLC0415 - only where something waits

            result = await asyncio.to_thread(self.run, call)
        else:
            result = self.run(call)
        return (await result) if is_awaitable(result) else result  # type: ignore[no-any-return]

    async def _awaited(self, call: ToolCall, value: Any) -> ToolResult:
        try:
            return _result(await value)
        except Exception as error:  # noqa: BLE001 - functions report failures by raising
            return _failure(call, error)

    def _call(self, call: ToolCall) -> Any:
        if isinstance(call.arguments, _Unreadable):
            return ToolResult(call.arguments.problem, ok=False)
        described = self._described[call.function]
        try:
            arguments = described.checked(call.arguments)
        except ValueError as error:
            text = f"The arguments do not fit {signature(described.function)}: {error}."
            return ToolResult(text, ok=False)
        return self._target(call.function)(**arguments)


class FunctionTool(_PythonTool):
    """A Python function as a tool; it can still be called as a function.

    The function has a docstring and annotations; ``Args:`` in the docstring, in Google style,
    describes the parameters. The agent sees the return value: text as it is, a ``ToolResult`` as
    such, other values as JSON. An exception is a failed call.

    Args:
        function: The function; it may be a coroutine function.
        name: Name of the tool; by default, the function's name.
        blocking: Whether it waits for a process or a network; it then runs in a thread.
        in_order: Whether calls of one action wait for each other.

    Raises:
        ConfigError: The function has no docstring, or a parameter has no annotation.

    Example:
        >>> @FunctionTool
        ... def add(a: int, b: int) -> int:
        ...     '''Adds two numbers.'''
        ...     return a + b
        >>> add(1, 2)
        3
        >>> add.run(add.parse('<add>{"a": 1, "b": 2}</add>')).output
        '3'
    """

    shared: ClassVar[tuple[str, ...]] = ("function",)

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str = "",
        blocking: bool = False,
        in_order: bool = False,
    ) -> None:
        self.name = name or function.__name__
        self.function = function
        self.blocking = blocking
        self.in_order = in_order
        self._described = {self.name: Described(function, self.name)}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def _target(self, function: str) -> Callable[..., Any]:
        return self.function


class ToolSet(_PythonTool):
    """An object as a tool: its public methods are the functions.

    A class (or a function without parameters) is called for a new object at the start of every
    episode. An object is kept across episodes. It is part of the state, so copies of the
    environment have a copy of it.

    Args:
        target: The class or the object. Its methods have docstrings and annotations.
        name: Name of the tool; by default, the name of the class in lower case.
        blocking: Whether methods wait for a process or a network; they then run in a thread.
        in_order: Whether calls of one action wait for each other.

    Raises:
        ConfigError: There are no public methods, or one has no docstring or annotation.
    """

    shared: ClassVar[tuple[str, ...]] = ("_make",)

    def __init__(
        self, target: Any, *, name: str = "", blocking: bool = False, in_order: bool = True
    ) -> None:
        self._make: Callable[[], Any] | None = target if inspect.isroutine(target) else None
        if inspect.isclass(target):
            self._make = target
        self.object = target if self._make is None else self._make()
        self.name = name or type(self.object).__name__.lower()
        self.blocking = blocking
        self.in_order = in_order
        self._described = _describe_methods(type(self.object))

    def _target(self, function: str) -> Callable[..., Any]:
        return getattr(self.object, function)  # type: ignore[no-any-return]

    def reset(self) -> None:
        """Make a new object, if the tool was made from a class."""
        if self._make is not None:
            self.object = self._make()


def _describe_methods(cls: type) -> dict[str, Described]:
    found = {}
    for name in dir(cls):
        method = inspect.getattr_static(cls, name)
        if not name.startswith("_") and inspect.isroutine(method):
            has_self = inspect.isfunction(method)
            found[name] = Described(getattr(cls, name), name, first=1 if has_self else 0)
    if not found:
        raise ConfigError(f"{cls.__name__} has no public methods to call.")
    return found


@overload
def as_tool(function: Callable[..., Any]) -> FunctionTool: ...


@overload
def as_tool(
    *, name: str = "", blocking: bool = False, in_order: bool = False
) -> Callable[[Callable[..., Any]], FunctionTool]: ...


def as_tool(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Turn a function into a tool: ``@as_tool``, or ``@as_tool(name=..., blocking=...)``.

    Args:
        function: The function.
        options: See ``FunctionTool``.

    Raises:
        ConfigError: The function has no docstring, or a parameter has no annotation.
    """
    if function is None:
        return functools.partial(as_tool, **options)
    return FunctionTool(function, **options)


def _instructions(described: Described) -> str:
    function = described.function
    body = described.only_text or json.dumps(dict(function.parameters["properties"]))
    if described.only_text:
        return f"<{function.name}>{body}</{function.name}>: {function.description}"
    return (
        f"<{function.name}>{{...}}</{function.name}>: {function.description} Between the tags is "
        f"a JSON object with these arguments: {body}"
    )


def _parse(tool: str, described: Described, action: str) -> ToolCall | None:
    opening, closing = f"<{described.name}>", f"</{described.name}>"
    start = action.find(opening)
    if start < 0 or action.find(closing, start) < 0:
        return None
    start += len(opening)
    end = action.find(closing, start)
    arguments: Mapping[str, Any]
    if described.only_text:
        arguments = {described.only_text: action[start:end].strip()}
    else:
        arguments, end = _read_arguments(action, start, end, closing)
    return ToolCall(tool, arguments, action[: end + len(closing)], described.name)


def _read_arguments(
    action: str, start: int, end: int, closing: str
) -> tuple[Mapping[str, Any], int]:
    """Return the JSON object between tags and its end; a text in it may contain the tag."""
    if not action[start:end].strip():
        return {}, end
    try:
        value, after = json_at(action, start)
    except ValueError as error:
        return _Unreadable(f"The arguments are not valid JSON: {error}."), end
    if not isinstance(value, dict) or not action.startswith(closing, after):
        return _Unreadable("The tags must contain one JSON object and nothing else."), end
    return value, after


def _result(value: Any) -> ToolResult:
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, str):
        return ToolResult(value)
    import pydantic_core  # noqa: PLC0415 - imported already, with the model

    return ToolResult(pydantic_core.to_json(value, fallback=str).decode())


def _failure(call: ToolCall, error: Exception) -> ToolResult:
    return ToolResult(
        f"{call.function} failed: {type(error).__name__}: {error}",
        ok=False,
        info={"error": error_record(error, "tool")},
    )
