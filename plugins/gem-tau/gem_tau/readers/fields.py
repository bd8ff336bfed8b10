"""Checked fields of a task; every error names the file, the task and the path of the field."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from gem_core.config import describe_validation_error
from gem_core.errors import DataError, near_names

__all__ = ["Fields", "Tool", "checked", "known"]

T = TypeVar("T")
_LONGEST = 80  # characters of a value in a message


class Fields(BaseModel):
    """An object without other fields than those of its class; no value is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError("must be an object")  # noqa: TRY004 - pydantic adds the path
        fields = cls.model_fields
        for name in value if cls.model_config["extra"] == "forbid" else ():
            if name not in fields:
                near = near_names(str(name), fields)
                raise ValueError(f"{name!r} is not a field.{near} There are: {', '.join(fields)}")
        return value


def known(name: str, kind: str, names: Collection[str]) -> str:
    """Return a name that must be one of some names, for a validator.

    Raises:
        ValueError: It is another one; near names are suggested.
    """
    if name not in names:
        near = near_names(name, names)
        raise ValueError(f"{name!r} is not a {kind}{near and f'.{near}'}")
    return name


def _tool(name: str, info: ValidationInfo) -> str:
    return known(name, "tool", (info.context or {})["tools"])


Tool = Annotated[str, AfterValidator(_tool)]
"""The name of a tool; ``tools`` in the context has those that there are."""


def checked(kind: type[T], value: Any, where: str, context: Mapping[str, Any] | None = None) -> T:
    """Return a value as a type.

    Args:
        kind: The type, such as a class of ``Fields``.
        value: The value, as JSON has it.
        where: The file and the task, as the start of a message.
        context: What the validators of the type need.

    Raises:
        DataError: The value does not have the type. The message is about the first problem.
    """
    try:
        return TypeAdapter(kind).validate_python(value, strict=True, context=context)
    except ValidationError as error:
        problem, _, value = describe_validation_error(error)[0].partition("; got ")
        got = f"; got {value}" if 0 < len(value) <= _LONGEST else ""
        raise DataError(f"{where}: {problem}{got}.") from error
