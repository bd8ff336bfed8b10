"""Unique slugs."""

from slugs.text import slug


class Counter:
    """Makes slugs unique."""

    def __init__(self, start: int = 2) -> None:
        self.start = start
        self.seen: dict[str, int] = {}

    def unique(self, text: str) -> str:
        """Return a slug that was not returned before."""
        made = slug(text)
        count = self.seen.get(made, 0)
        self.seen[made] = count + 1
        if count == 0:
            return made
        return f"{made}-{self.start + count - 1}"
