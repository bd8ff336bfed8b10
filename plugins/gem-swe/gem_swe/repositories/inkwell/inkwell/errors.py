"""The exceptions of the package; each of them can tell where in the template it happened."""

from typing import NamedTuple, Self


class Position(NamedTuple):
    line: int
    column: int


class InkwellError(Exception):
    """Base of all errors; `position` counts lines and columns from 1 and is None if unknown."""

    def __init__(self, message: str, position: Position | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position

    def at(self, position: Position) -> Self:
        """Fill in the position unless one is known already; return the error itself."""
        if self.position is None:
            self.position = position
        return self

    def __str__(self) -> str:
        if self.position is None:
            return self.message
        return f"line {self.position.line}, column {self.position.column}: {self.message}"


class ParseError(InkwellError):
    """The template cannot be read."""


class UndefinedError(InkwellError):
    """A name, attribute, key or index that does not exist."""


class OperationError(InkwellError):
    """An operator or a loop that does not work with its operands."""


class FilterError(InkwellError):
    """An unknown filter, or one that cannot work with its value or arguments."""
