"""The functions of several tools by name, with a check of calls against their schemas."""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gem_core.calls.format import Request
from gem_core.errors import ConfigError, near_names
from gem_core.tool import Function, Tool

__all__ = ["Catalog", "signature"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LISTED = 30
_PROBLEMS = 5
_LONGEST = 200
"""Characters of a text by an agent that are repeated to it."""
# With one of these keys, a schema may allow arguments that its `properties` do not name.
_OPEN = ("additionalProperties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf")


class Catalog:
    """The functions of tools, each with the position of its tool in the list.

    Args:
        tools: The tools.

    Raises:
        ConfigError: A tool has no functions, two functions have the same name, or a name is not
            one that models and APIs accept.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.positions: dict[str, int] = {}
        """Position of a function's tool, by the function's name."""
        self._functions: dict[str, Function] = {}
        self._validators: dict[str, Any] = {}
        for position, tool in enumerate(tools):
            functions = tool.functions()
            if not functions:
                raise ConfigError(
                    f"The tool {tool.name!r} names no functions, so only call_format='tags' can "
                    f"call it. Give it a method functions()."
                )
            for function in functions:
                self._add(function, position, tools)

    def _add(self, function: Function, position: int, tools: Sequence[Tool]) -> None:
        name = function.name
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r} of the tool {tools[position].name!r} is not a name of a "
                f"function: use up to 64 letters, digits, '_' and '-'."
            )
        if name in self.positions:
            first, second = tools[self.positions[name]].name, tools[position].name
            raise ConfigError(
                f"Functions need different names; both {first!r} and {second!r} have a {name!r}."
            )
        self.positions[name] = position
        self._functions[name] = function

    @property
    def functions(self) -> list[Function]:
        """All functions in the order of their tools."""
        return list(self._functions.values())

    def problem(self, request: Request) -> str:
        """Return why a call cannot run, as a message for the agent; empty if it can."""
        function = self._functions.get(request.function)
        if request.function and function is None:
            return self._unknown(request.function)
        if request.problem:
            return request.problem
        if function is None:
            return self._unknown("")
        problems = self._misfits(function, request.arguments)
        if not problems:
            return ""
        return f"The arguments do not fit {signature(function)}: {'; '.join(problems)}."

    def _unknown(self, name: str) -> str:
        name = name[:_LONGEST]
        names = list(self._functions)
        more = ", ..." if len(names) > _LISTED else ""
        there_are = ", ".join(names[:_LISTED]) + more
        return f"There is no function {name!r}.{near_names(name, names)} There are: {there_are}."

    def _misfits(self, function: Function, arguments: Mapping[str, Any]) -> list[str]:
        if function.name not in self._validators:
            self._validators[function.name] = _validator(function.parameters)
        validator = self._validators[function.name]
        if validator is None:
            return []
        try:
            errors = itertools.islice(validator.iter_errors(arguments), _PROBLEMS)
            return [_message(error) for error in errors]
        except Exception:  # noqa: BLE001 - the schema is broken, so the tool must check
            return []


def _validator(parameters: Mapping[str, Any]) -> Any:
    """Return a validator of arguments; None without jsonschema, when the tool must check them."""
    try:
        from jsonschema import Draft202012Validator  # noqa: PLC0415 - only if a tool is called
        from jsonschema.validators import validator_for  # noqa: PLC0415
        from referencing import Registry  # noqa: PLC0415
    except ModuleNotFoundError:
        return None

    schema = dict(parameters)
    if "properties" in schema and not any(key in schema for key in _OPEN):
        schema["additionalProperties"] = False
    make = validator_for(schema, default=Draft202012Validator)
    return make(schema, registry=Registry())  # an empty registry: nothing is fetched


def _message(error: Any) -> str:
    message = error.message
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]}..."
    path = error.json_path.removeprefix("$").removeprefix(".")
    return f"{path}: {message}" if path else message


def signature(function: Function) -> str:
    """Return a function as one line: ``search(query: string, topk: integer = 3)``."""
    required = function.parameters.get("required", ())
    taken = [
        _parameter(name, schema, is_required=name in required)
        for name, schema in function.parameters.get("properties", {}).items()
    ]
    return f"{function.name}({', '.join(taken)})"


def _parameter(name: str, schema: Any, *, is_required: bool) -> str:
    schema = schema if isinstance(schema, Mapping) else {}
    kind = schema.get("type", "any")
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    if is_required:
        return f"{name}: {kind}"
    return f"{name}: {kind} = {schema['default']!r}" if "default" in schema else f"{name}?: {kind}"
