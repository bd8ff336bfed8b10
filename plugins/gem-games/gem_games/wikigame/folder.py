"""The graph ``folder``: articles and links in the files of Wikispeedia.

A folder has ``articles.tsv`` (a name on each line), ``links.tsv`` (two names on each line, with a
tab between them) and, for the texts, a folder ``plaintext_articles`` with a file ``NAME.txt`` for
each article. Names are URL-encoded; lines that begin with ``#`` are comments. The texts are read
when a page is first shown.
"""

import logging
from pathlib import Path
from urllib.parse import unquote

from gem_core.errors import ConfigError, DataError, near_names
from gem_games.wikigame.graph import PageGraph
from gem_games.wikigame.sources import OneGraph

__all__ = ["Folder"]

_log = logging.getLogger(__name__)
_WHERE = (
    "It must be a folder with articles.tsv and links.tsv, as in wikispeedia_paths-and-graph.tar.gz "
    "from https://snap.stanford.edu/data/wikispeedia.html, and for texts with the folder "
    "plaintext_articles of the archive beside it."
)


class Folder(OneGraph):
    """Articles and links in the files of Wikispeedia.

    Args:
        data: The folder.
    """

    def __init__(self, *, data: str | None = None) -> None:
        if data is None:
            raise ConfigError(f"The graph 'folder' needs data=. {_WHERE}")
        folder = Path(data).expanduser()
        names = list(dict.fromkeys(_lines(folder / "articles.tsv")))
        links = _links(folder / "links.tsv", names)
        texts = folder / "plaintext_articles"
        titles = [unquote(name).replace("_", " ") for name in names]
        self._graph = PageGraph(
            f"the folder {folder}", titles, links, lambda number: _text(texts, names[number])
        )


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}. {_WHERE}") from error
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    if not lines:
        raise DataError(f"{path} is empty. {_WHERE}")
    return [line.rstrip("\r") for line in lines] if "\r" in text else lines


def _links(path: Path, names: list[str]) -> list[list[int]]:
    """Return the positions of linked articles by article, without loops and repetitions."""
    index = {name: number for number, name in enumerate(names)}
    links: list[dict[int, None]] = [{} for _ in names]
    lines = _lines(path)
    try:
        for line in lines:
            origin, name = line.split("\t")
            links[index[origin]][index[name]] = None
    except (ValueError, KeyError):
        raise DataError(_why(path, line, index)) from None
    for number, found in enumerate(links):
        found.pop(number, None)
    return [list(found) for found in links]


def _why(path: Path, line: str, index: dict[str, int]) -> str:
    parts = line.split("\t")
    if len(parts) != 2:
        return f"{path}: a line must have two names with a tab between them; got {line!r:.200}."
    name = next(part for part in parts if part not in index)
    return f"{path}: articles.tsv has no article {name!r:.200}.{near_names(name, index)}"


def _text(texts: Path, name: str) -> str:
    """Return the text of an article without its first line, the title; empty if it has no file."""
    try:
        text = (texts / f"{name}.txt").read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        _log.info("The article %r has no text: %s", name, error)
        return ""
    title, _, rest = text.lstrip().partition("\n")
    return rest if _letters(title.lstrip("#")) == _letters(unquote(name)) else text


def _letters(title: str) -> str:
    return "".join(letter for letter in title.lower() if letter.isalnum())
