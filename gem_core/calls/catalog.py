"""The functions of several tools by name, with a check of calls against their schemas."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from gem_core.calls.reading import Request
from gem_core.errors import ConfigError, near_names
from gem_core.tool import Function

__all__ = ["Catalog", "signature"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LISTED = 30
_PROBLEMS = 5
_LONGEST = 200  # characters of a text by an agent that are repeated to it
# With one of these keys, a schema may allow arguments that its `properties` do not name.
_OPEN = ("additionalProperties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf")

# A stranger's pattern or reference can take any time, so the tool itself checks what is not here.
_CHECKED = (
    *("type", "enum", "const", "required", "properties", "items", "anyOf", "allOf", "minimum"),
    *("maximum", "minLength", "maxLength", "minItems", "maxItems"),
)
_MOST_WORK = 10_000  # the greatest product of the sizes of a schema and of arguments to check


class Catalog:
    """The functions of tools, each with the name of its tool.

    Args:
        tools: The functions of each tool, by the tool's name.

    Raises:
        ConfigError: A tool has no functions, two functions have the same name, or a name is not
            one that models and APIs accept.
    """

    def __init__(self, tools: Mapping[str, Sequence[Function]]) -> None:
        self.tools: dict[str, str] = {}
        """The name of a function's tool, by the function's name."""
        self._functions: dict[str, Function] = {}
        self._validators: dict[str, Any] = {}
        for tool, functions in tools.items():
            if not functions:
                raise ConfigError(
                    f"The tool {tool!r} names no functions, so only call_format='tags' can "
                    f"call it. Give it a method functions()."
                )
            for function in functions:
                self._add(function, tool)

    def _add(self, function: Function, tool: str) -> None:
        name = function.name
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r} of the tool {tool!r} is not a name of a "
                f"function: use up to 64 letters, digits, '_' and '-'."
            )
        if name in self.tools:
            raise ConfigError(
                f"Functions need different names; both {self.tools[name]!r} and {tool!r} have a "
                f"{name!r}."
            )
        self.tools[name] = tool
        self._functions[name] = function

    @property
    def functions(self) -> list[Function]:
        """All functions in the order of their tools."""
        return list(self._functions.values())

    def problem(self, request: Request) -> str:
        """Return why a call cannot run, as a message for the agent; empty if it can."""
        function = self._functions.get(request.function)
        if function is None and (request.function or not request.problem):
            return self._unknown(request.function)
        if function is None or request.problem:
            return request.problem
        problems = self._misfits(function, request.arguments)
        if not problems:
            return ""
        return f"The arguments do not fit {signature(function)}: {'; '.join(problems)}."

    def _unknown(self, name: str) -> str:
        name = name[:_LONGEST]
        names = list(self._functions)
        there_are = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
        return f"There is no function {name!r}.{near_names(name, names)} There are: {there_are}."

    def _misfits(self, function: Function, arguments: Mapping[str, Any]) -> list[str]:
        try:
            if function.name not in self._validators:
                self._validators[function.name] = _validator(function.parameters)
            validator = self._validators[function.name]
            if _size(validator.schema) * _size(arguments) > _MOST_WORK:
                return []
            return [_message(one) for one in islice(validator.iter_errors(arguments), _PROBLEMS)]
        except Exception:  # noqa: BLE001 - no jsonschema or a broken schema: the tool must check
            return []


def _validator(parameters: Mapping[str, Any]) -> Any:
    """Return a validator of arguments that has the keywords in ``_CHECKED`` alone."""
    from jsonschema.validators import Draft202012Validator, create  # noqa: PLC0415 - optional

    def additional(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        is_open = "patternProperties" in schema  # whose patterns would be searched
        return () if is_open else known["additionalProperties"](validator, value, instance, schema)

    known = Draft202012Validator.VALIDATORS
    schema = dict(parameters)
    if "properties" in schema and not any(key in schema for key in _OPEN):
        schema["additionalProperties"] = False
    checked = {name: known[name] for name in _CHECKED} | {"additionalProperties": additional}
    return create(Draft202012Validator.META_SCHEMA, checked)(schema)


def _size(value: Any) -> int:
    return repr(value).count(",") + 1


def _message(error: Any) -> str:
    message = error.message[:_LONGEST] + ("..." if len(error.message) > _LONGEST else "")
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
