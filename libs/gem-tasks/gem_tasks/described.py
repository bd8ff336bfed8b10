"""The signature and docstring of a Python function as a JSON schema for an agent."""

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
    """The description of a function, from its signature and docstring.

    Args:
        function: The function.
        name: Name by which the agent calls it.
        first: Number of leading parameters that the agent does not pass: 1 for ``self``.

    Raises:
        ConfigError: There is no docstring, or a parameter has no annotation or cannot be passed by
            name.
    """

    def __init__(self, function: Callable[..., Any], name: str, *, first: int = 0) -> None:
        self.name = name
        self.description, self._descriptions = _read_docstring(function.__doc__ or "")
        if not self.description:
            raise ConfigError(f"{name} needs a docstring, which describes it to an agent.")
        self._function = function
        self._parameters = list(inspect.signature(function).parameters.values())[first:]
        for parameter in self._parameters:
            _check_parameter(name, parameter)

    @functools.cached_property
    def _model(self) -> Any:
        """A pydantic model of the arguments, whose fields have the parameters' names as aliases.

        Raises:
            ConfigError: An annotation cannot be resolved or has no JSON schema.
        """
        import pydantic  # noqa: PLC0415 - a tenth of a second, only for tools in use

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
        """Return the annotations of the parameters; that of the result is not resolved."""
        names = {parameter.name: parameter.annotation for parameter in self._parameters}
        holder = types.SimpleNamespace(__annotations__=names)
        scope = getattr(inspect.unwrap(self._function), "__globals__", {})
        return typing.get_type_hints(holder, globalns=scope, include_extras=True)

    def _field(self, parameter: inspect.Parameter) -> Any:
        import pydantic  # noqa: PLC0415 - imported already, by the model

        default: Any = ... if parameter.default is parameter.empty else parameter.default
        description = self._descriptions.get(parameter.name)
        more: dict[str, Any] = {"description": description} if description else {}
        return pydantic.Field(default, alias=parameter.name, **more)

    @functools.cached_property
    def function(self) -> Function:
        """The schema for the agent."""
        schema = _untitled(self._model.model_json_schema())
        schema.setdefault("properties", {})
        schema.pop("description", None)
        return Function(self.name, self.description, schema)

    @property
    def only_text(self) -> str:
        """Name of the only parameter if that is a text; else empty."""
        properties = self.function.parameters["properties"]
        if not properties:
            return ""
        name, schema = next(iter(properties.items()))
        return str(name) if len(properties) == 1 and schema.get("type") == "string" else ""

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments converted to the types of their annotations.

        Raises:
            ValueError: They do not fit the schema; the message is for the agent.
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
            f"{name} cannot be a tool: its parameter {parameter} cannot be passed by name."
        )
    if parameter.annotation is parameter.empty:
        raise ConfigError(
            f"{name} cannot be a tool: its parameter {parameter.name!r} has no annotation, so an "
            f"agent cannot know its type."
        )


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the text before the first section, and the entries of ``Args:`` by name."""
    head: list[str] = []
    descriptions: dict[str, str] = {}
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
                descriptions[last] = entry[2]
            elif last:
                descriptions[last] = f"{descriptions[last]} {line.strip()}".strip()
    return "\n".join(head).strip(), descriptions


def _untitled(schema: Any) -> Any:
    """Return a schema without the titles that pydantic derives from names."""
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
