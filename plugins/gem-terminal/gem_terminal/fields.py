"""Checked reading of tables that anybody may have written, such as those of a ``task.toml``."""

import re
from collections.abc import Mapping
from typing import Any

from gem_core.errors import ConfigError

__all__ = ["Fields", "expand", "number_of", "size_of", "variables_of"]

_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?:(:?-)([^}]*))?\}")
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([KMGT])(?:i?B)?", re.IGNORECASE)
_LARGEST = 1 << 53
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Fields:
    """The fields of a table. Each is taken by its name and type; ``left`` names the others.

    Args:
        values: The table.
        name: Its name, for messages; empty for the top of the file.

    Raises:
        ConfigError: This is not a table with names as keys.
    """

    def __init__(self, values: Any, name: str = "") -> None:
        if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
            raise ConfigError(f"{name or 'The file'} must be a table; got {_short(values)}.")
        self._values = dict(values)
        self._name = name

    def _path(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key

    def take(self, key: str, kind: str, *types: type, default: Any = None) -> Any:
        """Return a field's value and forget it; the default if it is absent or null.

        Raises:
            ConfigError: The value has none of the types; ``kind`` says what was expected.
        """
        value = self.anything(key)
        if value is None:
            return default
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise ConfigError(f"{self._path(key)} must be {kind}; got {_short(value)}.")
        return value

    def anything(self, key: str) -> Any:
        """Return a field's value, of any type, and forget it; None if it is absent."""
        return self._values.pop(key, None)

    def text(self, key: str, default: str = "") -> str:
        """Take a text."""
        return str(self.take(key, "a text", str, default=default))

    def flag(self, key: str, *, default: bool) -> bool:
        """Take true or false."""
        return bool(self.take(key, "true or false", bool, default=default))

    def number(self, key: str, default: float, *, minimum: float = 0.0) -> float:
        """Take a finite number that is above the minimum."""
        value = self.take(key, "a number", int, float, default=default)
        if not minimum < value < _LARGEST:
            raise ConfigError(
                f"{self._path(key)} must be a number above {minimum:g}; got {_short(value)}."
            )
        return float(value)

    def count(self, key: str, default: int) -> int:
        """Take a whole number of 0 or more."""
        value = self.take(key, "a whole number", int, default=default)
        if not 0 <= value < _LARGEST:
            raise ConfigError(
                f"{self._path(key)} must be a whole number of 0 or more; got {_short(value)}."
            )
        return int(value)

    def items(self, key: str) -> list[Any]:
        """Take a list; an empty one if it is absent."""
        return list(self.take(key, "a list", list, default=()))

    def table(self, key: str) -> "Fields":
        """Take a table; an empty one if it is absent."""
        return Fields(self.take(key, "a table", dict, default={}), self._path(key))

    def variables(self, key: str, known: Mapping[str, str]) -> dict[str, str]:
        """Take environment variables, and expand them."""
        values = self.take(key, "a table", dict, default={})
        fields = Fields(values, self._path(key))
        return variables_of({name: fields.text(name) for name in values}, known, self._path(key))

    def user(self, key: str) -> str | None:
        """Take the name or the number of a user."""
        value = self.take(key, "the name or number of a user", str, int)
        return None if value in {None, ""} else str(value)

    def rest(self) -> dict[str, Any]:
        """Take all fields that are left."""
        values, self._values = self._values, {}
        return values

    def left(self) -> tuple[str, ...]:
        """Return the names of the fields that nobody took."""
        return tuple(map(self._path, self._values))


def variables_of(values: Mapping[str, str], known: Mapping[str, str], name: str) -> dict[str, str]:
    """Return environment variables with ``${NAME}`` expanded in their values; see ``expand``.

    Raises:
        ConfigError: A variable cannot have such a name or value.
    """
    found = {key: expand(value, known, f"{name}.{key}") for key, value in values.items()}
    for key, value in found.items():
        if not key or "=" in key or "\0" in key + value:
            raise ConfigError(f"{name} has a name or value that is not valid: {_short(key)}.")
    return found


def expand(text: str, variables: Mapping[str, str], name: str) -> str:
    """Replace ``${NAME}`` and ``${NAME:-default}`` in a text.

    Only the given variables are known: a task must not read the environment of the host.

    Raises:
        ConfigError: A variable is not given and has no default.
    """

    def value(match: re.Match[str]) -> str:
        key, operator, default = match.groups()
        found = variables.get(key)
        if found or (found is not None and operator != ":-"):
            return found
        if default is None:
            raise ConfigError(
                f"{name} needs the variable {key}, which is not given: variables={{'{key}': ...}}."
            )
        return str(default)

    return _VARIABLE.sub(value, text)


def number_of(text: str, name: str) -> float:
    """Return the number above 0 that a text has.

    Raises:
        ConfigError: This is not such a number.
    """
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < _LARGEST:
        raise ConfigError(f"{name} must be a number above 0; got {_short(text)}.")
    return value


def size_of(text: str, name: str) -> int:
    """Return the bytes of a size such as ``2G`` or ``512M``, in powers of 1,024.

    Raises:
        ConfigError: This is not such a size.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise ConfigError(f"{name} must be a size such as '2G' or '512M'; got {_short(text)}.")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _short(value: Any) -> str:
    try:
        text = ascii(value)
    except (RecursionError, ValueError):  # nested too deeply; an int of too many digits
        text = type(value).__name__
    return text if len(text) <= 80 else f"{text[:77]}..."
