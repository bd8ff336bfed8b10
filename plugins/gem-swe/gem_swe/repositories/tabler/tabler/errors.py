"""The exceptions of the package."""


class TablerError(Exception):
    """The base of every error that the package raises by itself."""


class ColumnError(TablerError):
    """A column is unknown, is named twice, or does not fit the rows."""


class CellError(TablerError):
    """A cell has a kind that an operation cannot work with, or an option a value it may not."""


class ParseError(TablerError):
    """Delimited text or a query is malformed.

    `position` is the line of the text, counted from 1, or the offset in the query, from 0.
    """

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"at {position}: {message}")
        self.position = position
