"""Finds the paragraphs of a web page that match the pieces of a snippet."""

import contextlib
from collections.abc import Iterable, Sequence
from html.parser import HTMLParser

__all__ = ["matching_paragraphs"]

_PARAGRAPHS = frozenset(
    {"p", "div", "li", "td", "th", "br", "h1", "h2", "h3", "h4", "blockquote", "section", "article"}
)
_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "title"})


def matching_paragraphs(page: bytes, pieces: Sequence[str]) -> list[str]:
    """Return the paragraphs that contain one of the pieces, ignoring spaces and case.

    Args:
        page: HTML in UTF-8.
        pieces: Texts to look for.
    """
    wanted = [_bare(piece) for piece in pieces]
    found = _paragraphs(page.decode("utf-8", "replace"))
    return [text for text in found if any(piece in _bare(text) for piece in wanted)]


def _bare(text: str) -> str:
    return " ".join(text.casefold().split())


def _paragraphs(page: str) -> Iterable[str]:
    reader = _Reader()
    with contextlib.suppress(AssertionError):  # a malformed declaration; keep what was read
        reader.feed(page)
        reader.close()
    texts = (" ".join("".join(parts).split()) for parts in reader.paragraphs)
    return dict.fromkeys(text for text in texts if text)


class _Reader(HTMLParser):
    """Collects the text between the tags that begin or end a paragraph."""

    def __init__(self) -> None:
        super().__init__()
        self.paragraphs: list[list[str]] = [[]]
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag in _PARAGRAPHS:
            self.paragraphs.append([])

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag in _PARAGRAPHS:
            self.paragraphs.append([])

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.paragraphs[-1].append(data)
