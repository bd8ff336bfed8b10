"""The graph ``wordnet``: 3,000 concepts of WordNet 3.0 with their definitions.

A concept links to its broader and narrower concepts, its parts and wholes, and to the concepts that
its definition names. ``scripts/make_wordnet.py`` makes the file; ``data/README.md`` has its
licence.
"""

import gzip
import pkgutil

from gem_core.errors import ConfigError
from gem_games.wikigame.graph import PageGraph
from gem_games.wikigame.sources import OneGraph

__all__ = ["WordNet"]


class WordNet(OneGraph):
    """Concepts of WordNet.

    Args:
        data: Must be None.
    """

    def __init__(self, *, data: str | None = None) -> None:
        if data is not None:
            raise ConfigError(f"The graph 'wordnet' is in the package; got data={data!r}.")
        packed = pkgutil.get_data("gem_games", "data/wordnet.tsv.gz") or b""
        rows = [line.split("\t") for line in gzip.decompress(packed).decode().splitlines()]
        titles, texts, links = zip(*rows, strict=True)
        numbers = [[int(number) for number in line.split()] for line in links]
        self._graph = PageGraph("WordNet", titles, numbers, texts.__getitem__)
