"""The exceptions that this package raises on purpose."""


class RotaError(Exception):
    """Base of all errors of this package."""


class IntervalError(RotaError):
    """An interval would be empty."""


class RuleError(RotaError):
    """A recurrence rule contradicts itself."""


class ParseError(RuleError):
    """A text is not a rule; `position` is the number of the word at fault, 1 for the first."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"word {position}: {message}")
        self.position = position


class CalendarError(RotaError):
    """A working calendar has no answer."""


class BookingError(RotaError):
    """A booking is not possible."""


class RosterError(RotaError):
    """A shift cannot be given, or a name is unknown or taken."""
