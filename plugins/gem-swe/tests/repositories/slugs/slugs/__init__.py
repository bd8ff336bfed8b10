"""Slugs."""

from slugs.counter import Counter
from slugs.text import SlugError, slug, words

__all__ = ["Counter", "SlugError", "slug", "words"]
