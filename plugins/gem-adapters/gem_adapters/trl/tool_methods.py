"""Functions of tools as typed methods, which TRL describes to the model."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from gem_core.calls import FunctionFormat, Reading, Request
from gem_core.errors import ConfigError
from gem_core.observation import Action
from gem_core.resolve import resolve
from gem_core.specs import TOOLS
from gem_core.tool import Function, Tool

__all__ = ["DIRECT", "DirectCall", "functions_of", "method_of"]

_TYPES: Final[dict[Any, Any]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}


class DirectCall(Request):
    """An action that is a call."""


class _DirectCalls(FunctionFormat):
    """Takes calls as they are, and shows their outputs as they are."""

    def instructions(self, functions: Sequence[Function]) -> str:
        return ""

    def read(self, action: Action) -> Reading:
        if not isinstance(action, DirectCall):
            return Reading(action)
        return Reading(action, (action,), f"{action.function}({dict(action.arguments)})")

    def show(self, reading: Reading, outputs: Sequence[str]) -> str:
        return "\n".join(outputs)


DIRECT: Final[Mapping[str, Any]] = {"call_format": _DirectCalls(), "instructions": "schemas"}
"""Parameters of the wrapper that runs the tools."""


def functions_of(config: Mapping[str, Any]) -> dict[str, list[Function]]:
    """Return the functions of each tool in a composed configuration, by the tool's name."""
    tools = config.get("tools") or ()
    found: dict[str, list[Function]] = {}
    for value in tools.values() if isinstance(tools, Mapping) else tools:
        tool: Tool = resolve(TOOLS, value).make()
        found[tool.name] = list(tool.functions())
        tool.close()
    return found


def method_of(function: Function) -> Callable[..., str]:
    """Return a method that calls a function by name, with the signature of its schema.

    Raises:
        ConfigError: A parameter has a name that Python does not allow.
    """
    schema, required = function.parameters, function.parameters.get("required", ())
    names = sorted(schema.get("properties", {}), key=lambda name: name not in required)
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    lines = []
    for name in names:
        described = schema["properties"][name]
        try:
            parameters.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if name in required else None,
                    annotation=_TYPES.get(described.get("type"), Any),
                )
            )
        except ValueError as error:
            raise ConfigError(f"{function.name} cannot be a method: {error}.") from error
        text = " ".join(str(described.get("description") or "A value.").split())
        lines.append(f"    {name}: {text}")

    def method(self: Any, **arguments: Any) -> str:
        return str(self._step(DirectCall(function.name, arguments)))

    method.__name__ = method.__qualname__ = function.name
    summary = " ".join(function.description.split())
    method.__doc__ = "\n".join([summary, "", "Args:", *lines] if lines else [summary])
    method.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    method.__annotations__ = {one.name: one.annotation for one in parameters[1:]}
    return method
