"""What an agent is told of a Python function: its signature and docstring as a JSON schema."""

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from gem_core.errors import ConfigError
from gem_core.tool import Function

__all__ = ["Described"]

_SECTION = re.compile(
    r"(Args|Arguments|Attributes|Example|Examples|Note|Notes|Raises|Returns|Yields):"
)
_PARAMETER = re.compile(r"(\w+)(?: *\([^)]*\))?: *(.*)")
_SCHEMAS_INSIDE = ("items", "additionalProperties", "anyOf", "allOf", "oneOf", "prefixItems")


class Described:
    """What is known of a function from its signature and docstring.

    Args:
        function: The function.
        name: What it is called by.
        first: Number of leading parameters that are not the agent's: 1 for ``self``.

    Raises:
        ConfigError: A parameter without an annotation or one that cannot be named in a call, or no
            docstring.
    """

    def __init__(self, function: Callable[..., Any], name: str, *, first: int = 0) -> None:
        self.name = name
        self.description, self._told = _read_docstring(function.__doc__ or "")
        if not self.description:
            raise ConfigError(f"{name} needs a docstring: it is what an agent is told of it.")
        self._function = function
        self._parameters = list(inspect.signature(function).parameters.values())[first:]
        for parameter in self._parameters:
            _check_parameter(name, parameter)

    @functools.cached_property
    def _model(self) -> Any:
        """A pydantic model of the arguments, whose fields have the parameters' names as aliases.

        Raises:
            ConfigError: An annotation that cannot be found or has no JSON schema.
        """
        import pydantic  # noqa: PLC0415 - a tenth of a second, and only for those who are called

        try:
            hints = self._hints()
            fields: dict[str, Any] = {
                f"field_{place}": (hints[parameter.name], self._field(parameter))
                for place, parameter in enumerate(self._parameters)
            }
            config = pydantic.ConfigDict(extra="forbid")
            return pydantic.create_model("Arguments", __config__=config, **fields)
        except Exception as error:
            raise ConfigError(f"The annotations of {self.name} cannot be used: {error}") from error

    def _hints(self) -> dict[str, Any]:
        """Return the annotations of the parameters; what it returns may be named in vain."""
        names = {parameter.name: parameter.annotation for parameter in self._parameters}
        holder = types.SimpleNamespace(__annotations__=names)
        scope = getattr(inspect.unwrap(self._function), "__globals__", {})
        return typing.get_type_hints(holder, globalns=scope, include_extras=True)

    def _field(self, parameter: inspect.Parameter) -> Any:
        import pydantic  # noqa: PLC0415 - imported already, by the model

        default: Any = ... if parameter.default is parameter.empty else parameter.default
        told = self._told.get(parameter.name)
        more: dict[str, Any] = {"description": told} if told else {}
        return pydantic.Field(default, alias=parameter.name, **more)

    @functools.cached_property
    def function(self) -> Function:
        """What an agent is told."""
        schema = _untitled(self._model.model_json_schema())
        schema.setdefault("properties", {})
        schema.pop("description", None)
        return Function(self.name, self.description, schema)

    @property
    def only_text(self) -> str:
        """Name of the parameter, if there is but one and it is a text; else empty."""
        properties = self.function.parameters["properties"]
        if not properties:
            return ""
        name, schema = next(iter(properties.items()))
        return str(name) if len(properties) == 1 and schema.get("type") == "string" else ""

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments as the types of their annotations.

        Raises:
            ValueError: They do not fit; the message is for the agent.
        """
        import pydantic  # noqa: PLC0415 - imported already, by the model

        try:
            values = self._model.model_validate(dict(arguments))
        except pydantic.ValidationError as error:
            problems = [
                f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5]
            ]
            raise ValueError("; ".join(problems)) from None
        return {
            parameter.name: getattr(values, f"field_{place}")
            for place, parameter in enumerate(self._parameters)
            if f"field_{place}" in values.model_fields_set
        }


def _check_parameter(name: str, parameter: inspect.Parameter) -> None:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise ConfigError(
            f"{name} cannot be a tool: its parameter {parameter} has no name in a call."
        )
    if parameter.annotation is parameter.empty:
        raise ConfigError(
            f"{name} cannot be a tool: its parameter {parameter.name!r} has no annotation, so an "
            f"agent cannot know what it takes."
        )


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return what stands before the first section, and the entries of ``Args:`` by name."""
    head: list[str] = []
    told: dict[str, str] = {}
    section, indent, last = "", 0, ""
    for line in inspect.cleandoc(text).splitlines():
        match = _SECTION.fullmatch(line.rstrip())
        if match:
            section, indent = match[1], 0
        elif not section:
            head.append(line)
        elif section in ("Args", "Arguments") and line.strip():
            depth = len(line) - len(line.lstrip())
            indent = indent or depth
            entry = _PARAMETER.fullmatch(line.strip()) if depth == indent else None
            if entry:
                last = entry[1]
                told[last] = entry[2]
            elif last:
                told[last] = f"{told[last]} {line.strip()}".strip()
    return "\n".join(head).strip(), told


def _untitled(schema: Any) -> Any:
    """Return a schema without the titles that pydantic makes of names."""
    if isinstance(schema, list):
        return [_untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key != "title"}
    for key, value in kept.items():
        if key in ("properties", "$defs"):
            kept[key] = {name: _untitled(one) for name, one in value.items()}
        elif key in _SCHEMAS_INSIDE:
            kept[key] = _untitled(value)
    return kept
