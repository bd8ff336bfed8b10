"""Pages of wikis in HTML, as ZIM files and kiwix have them: their text and their links."""

import posixpath
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

from gem_games.wikigame.errors import DisambiguationError
from gem_games.wikigame.pages import Page, label_of, labels_of

__all__ = ["Document", "hrefs", "read_page"]

_SKIPPED = {"script", "style", "table", "sup", "head", "nav", "footer"}
_FILES = (".css", ".gif", ".ico", ".jpeg", ".jpg", ".js", ".ogg", ".pdf", ".png", ".svg", ".webp")
_DISAMBIGUATION = {"disambigbox", "disambig", "dmbox-disambig", "disambiguation"}


class Document(HTMLParser):
    """The title and text of a page of HTML.

    Args:
        text: The HTML.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        """The content of ``title``."""
        self.paragraphs: list[str] = []
        """The texts of the paragraphs, without tables, references and menus."""
        self.hrefs: list[str] = []
        """The addresses of all links, in order."""
        self.refresh: str | None = None
        """The address that the page forwards to."""
        self.is_disambiguation = False
        """Whether it is marked as a page that only lists meanings."""
        self._skipped: list[str] = []
        self._inside: str | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note links, marks and the beginnings of paragraphs."""
        values = {name: value or "" for name, value in attrs}
        marks = {*values.get("class", "").split(), values.get("id", "")}
        self.is_disambiguation |= not marks.isdisjoint(_DISAMBIGUATION)
        if tag == "a" and values.get("href"):
            self.hrefs.append(values["href"])
        elif tag == "meta" and values.get("http-equiv", "").lower() == "refresh":
            self.refresh = values.get("content", "").partition("=")[2].strip(" '\"") or None
        elif tag in {"p", "title"}:
            self._inside = tag
            if tag == "p" and not self._skipped:
                self.paragraphs.append("")
        elif tag in _SKIPPED:
            self._skipped.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Note the ends of paragraphs and of parts without text."""
        if tag == self._inside:
            self._inside = None
        if tag in self._skipped:
            while self._skipped.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Add to the title or to the current paragraph."""
        if self._inside == "title":
            self.title += data
        elif self._inside == "p" and not self._skipped and self.paragraphs:
            self.paragraphs[-1] += data


def hrefs(document: Document, path: str) -> Iterator[str]:
    """Yield the paths of the pages that a page links to, without repetitions and itself.

    Args:
        document: The page.
        path: Its own path, to which its links are relative.
    """
    found = dict.fromkeys(_target(href, path) for href in document.hrefs)
    yield from (one for one in found if one and one != path)


def _target(href: str, path: str) -> str:
    """Return the path of a link to a page; empty for a link to something else."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return ""
    if parts.scheme or parts.netloc or not parts.path or parts.path.startswith("/"):
        return ""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(parts.path)))
    is_outside = target.startswith(("../", "_")) or target in {".", ".."}
    return "" if is_outside or target.lower().endswith(_FILES) else target


def read_page(document: Document, path: str) -> Page:
    """Return the page of a document.

    Raises:
        DisambiguationError: It only lists the meanings of a name.
    """
    links = list(hrefs(document, path))
    title = document.title or title_of(path)
    if document.is_disambiguation or title.endswith("(disambiguation)"):
        raise DisambiguationError(f"{title!r} has several meanings.", links)
    labels = labels_of(map(title_of, links))
    text = "\n".join(" ".join(one.split()) for one in document.paragraphs if one.strip())
    return Page(path, label_of(title), text, dict(zip(labels, links, strict=True)))


def title_of(path: str) -> str:
    """Return a title from the path of a page."""
    return path.removeprefix("A/").replace("_", " ")
