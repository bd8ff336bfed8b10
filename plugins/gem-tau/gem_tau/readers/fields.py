"""Checked access to the fields of a task; every error names the file, the task and the field."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gem_core.errors import DataError, near_names

__all__ = ["Fields"]

_KINDS = {str: "a text", bool: "true or false", list: "a list", dict: "an object"}


@dataclass(frozen=True)
class Fields:
    """The fields of an object in a task.

    Args:
        values: The fields.
        where: The file and the task, as the start of a message.
        path: The way from the task to the object, such as ``evaluation_criteria.actions[2]``.
    """

    values: Mapping[str, Any]
    where: str
    path: str = ""

    @classmethod
    def of(cls, value: Any, where: str, path: str = "") -> "Fields":
        """Return the fields of a value.

        Raises:
            DataError: It is not an object.
        """
        if not isinstance(value, dict):
            raise DataError(f"{where}: {path or 'it'} must be an object; got {_short(value)}.")
        return cls(value, where, path)

    def at(self, name: str) -> str:
        """Return the path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def error(self, name: str, problem: str) -> DataError:
        """Return an error about a field; ``problem`` goes on after its name."""
        return DataError(f"{self.where}: {self.at(name)} {problem}.")

    def only(self, *names: str) -> None:
        """Check that there are no other fields.

        Raises:
            DataError: There is another field.
        """
        for name in self.values:
            if name not in names:
                hint = near_names(str(name), names) if isinstance(name, str) else ""
                raise DataError(
                    f"{self.where}: {self.at(str(name))} is not a known field.{hint} "
                    f"There are: {', '.join(names)}."
                )

    def need(self, name: str, kind: type) -> Any:
        """Return a field that must have a type.

        Raises:
            DataError: It is missing or has another type.
        """
        if name not in self.values:
            raise self.error(name, "is missing")
        return self._checked(name, self.values[name], kind)

    def get(self, name: str, kind: type, default: Any) -> Any:
        """Return a field; ``default`` if it is missing or null.

        Raises:
            DataError: It has another type.
        """
        value = self.values.get(name)
        return default if value is None else self._checked(name, value, kind)

    def texts(self, name: str) -> list[str]:
        """Return a list of texts; empty if it is missing or null.

        Raises:
            DataError: It is not a list of texts.
        """
        values = self.get(name, list, [])
        return [self._checked(f"{name}[{i}]", value, str) for i, value in enumerate(values)]

    def objects(self, name: str) -> list["Fields"]:
        """Return a list of objects; empty if it is missing or null.

        Raises:
            DataError: It is not a list of objects.
        """
        values = self.get(name, list, [])
        return [self._object(f"{name}[{i}]", value) for i, value in enumerate(values)]

    def object(self, name: str) -> "Fields | None":
        """Return an object; None if it is missing or null.

        Raises:
            DataError: It is not an object.
        """
        value = self.values.get(name)
        return None if value is None else self._object(name, value)

    def _object(self, name: str, value: Any) -> "Fields":
        return Fields(self._checked(name, value, dict), self.where, self.at(name))

    def _checked(self, name: str, value: Any, kind: type) -> Any:
        if not isinstance(value, kind):
            raise self.error(name, f"must be {_KINDS[kind]}; got {_short(value)}")
        return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
