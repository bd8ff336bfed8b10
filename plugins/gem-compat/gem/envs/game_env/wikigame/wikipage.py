"""A page of an encyclopedia."""

from dataclasses import dataclass, field

__all__ = ["WikipediaPage"]


@dataclass
class WikipediaPage:
    """A page.

    Args:
        page_id: The name by which the backend finds it.
        title: Its title.
        content: Its text.
        links: The titles of the linked pages.
    """

    page_id: str
    title: str
    content: str
    links: list[str] = field(default_factory=list)
