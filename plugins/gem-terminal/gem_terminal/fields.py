"""Checked tables that anybody may have written; every error names the file and the field."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from gem_core.config import describe_validation_error
from gem_core.errors import ConfigError

__all__ = ["Amount", "Count", "Fields", "Finite", "Number", "Scalar", "Size", "User", "Variables"]

_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?:(:?-)([^}]*))?\}")
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([KMGT])(?:i?B)?", re.IGNORECASE)
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_LONGEST = 80  # characters of a value in a message


class Fields(BaseModel):
    """A table; no value is converted, null means the default, and unknown fields are kept."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    short_for: ClassVar[str] = ""
    """The field that a text in the place of the table stands for; empty if there is none."""
    takes_all: ClassVar[bool] = False
    """Whether unknown fields are used too."""

    @model_validator(mode="before")
    @classmethod
    def _table(cls, value: Any) -> Any:
        if cls.short_for and isinstance(value, str):
            return {cls.short_for: value}
        if not isinstance(value, dict):
            raise ValueError("must be a table")  # noqa: TRY004 - pydantic adds the path
        return {key: each for key, each in value.items() if each is not None}

    @classmethod
    def checked(cls, value: Any, where: str, variables: Mapping[str, str] | None = None) -> Self:
        """Return a table as this type.

        Args:
            value: The table, as TOML or YAML has it.
            where: The file, as the start of a message.
            variables: The values of ``${NAME}`` in environment variables.

        Raises:
            ConfigError: It does not have this type. The message is about the first problem.
        """
        try:
            return cls.model_validate(value, context=variables)
        except (ValidationError, RecursionError) as error:
            raise ConfigError(f"{where}: {_problem(error)}.") from error

    def unread(self, path: str = "") -> tuple[str, ...]:
        """Return the paths of the unknown fields, also of tables below; ``path`` precedes each.

        Tables of a list are numbered from 1.
        """
        unknown = () if self.takes_all else self.model_extra or ()
        found = [f"{path}{name}" for name in unknown]
        for name, field in type(self).model_fields.items():
            value, place = getattr(self, name), f"{path}{field.alias or name}"
            if isinstance(value, Fields):
                found += value.unread(f"{place}.")
            elif isinstance(value, list):
                tables = ((i, one) for i, one in enumerate(value, 1) if isinstance(one, Fields))
                found += [each for i, one in tables for each in one.unread(f"{place}[{i}].")]
        return tuple(found)


def _problem(error: Exception) -> str:
    """Return the first problem, with its path and a value that is short enough."""
    if not isinstance(error, ValidationError):
        return "it is nested too deeply"
    try:
        problem, _, value = describe_validation_error(error)[0].partition("; got ")
    except (RecursionError, ValueError):  # nested too deeply; an int of too many digits
        return "it has a value that cannot be used"
    return f"{problem}; got {value}" if 0 < len(value) <= _LONGEST else problem


def _scalar(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a text or a number")  # noqa: TRY004 - pydantic adds the path
    str(value)  # an int of too many digits is a ValueError
    return value


def _user(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("must be the name or number of a user")  # noqa: TRY004 - as above
    return str(value)


def _size(text: Any) -> int:
    match = _SIZE.fullmatch(str(text).strip())
    if text and (match is None or not float(match[1])):
        raise ValueError("must be a size such as '2G' or '512M'")
    return int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0


def _expand(text: str, info: ValidationInfo) -> str:
    """Replace ``${NAME}`` and ``${NAME:-default}`` in a text.

    Only the given variables are known: a task must not read the environment of the host.
    """
    variables: Mapping[str, str] = info.context or {}

    def value(match: re.Match[str]) -> str:
        key, operator, default = match.groups()
        found = variables.get(key)
        if found or (found is not None and operator != ":-"):
            return found
        if default is None:
            raise ValueError(
                f"needs the variable {key}, which is not given: variables={{'{key}': ...}}"
            )
        return str(default)

    if "\0" in (expanded := _VARIABLE.sub(value, text)):
        raise ValueError("has a zero byte")
    return expanded


Amount = Annotated[float, Field(ge=0, lt=1 << 53)]
"""A number of 0 or more."""
Count = Annotated[int, Field(ge=0, lt=1 << 53)]
"""A whole number of 0 or more."""
Finite = Annotated[float, Field(allow_inf_nan=False)]
"""A number, whatever its sign."""
Number = Annotated[float, Field(gt=0, lt=1 << 53)]
"""A number above 0."""
Scalar = Annotated[str | int | float, BeforeValidator(_scalar)]
"""A text or a number."""
User = Annotated[str, BeforeValidator(_user)]
"""The name or the number of a user."""
Size = Annotated[int, BeforeValidator(_size)]
"""Bytes, from a text such as ``2G`` or ``512M`` in powers of 1,024; 0 for an empty text."""
Variables = dict[
    Annotated[str, Field(pattern=r"^[^=\x00]+$")],
    Annotated[str, AfterValidator(_expand)],
]
"""Environment variables, with ``${NAME}`` expanded in their values."""
