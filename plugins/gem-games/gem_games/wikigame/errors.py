"""The errors of WikiGame: a page that cannot be loaded is a fault, never a reward."""

from collections.abc import Sequence

from gem_core.errors import GemError

__all__ = ["DisambiguationError", "PageFault", "PageNotFoundError"]


class PageFault(GemError, ConnectionError):  # noqa: N818 - "fault" is the term for it
    """A page could not be loaded; the episode is as it was before the step."""


class PageNotFoundError(PageFault, LookupError):
    """The encyclopedia has no page of this name."""


class DisambiguationError(PageFault, LookupError):
    """The name has several meanings, and its page only lists them.

    Args:
        message: The message.
        options: The names of the pages that it lists, in order.
    """

    def __init__(self, message: str, options: Sequence[str] = ()) -> None:
        super().__init__(message, tuple(options))
        self.options = tuple(options)
