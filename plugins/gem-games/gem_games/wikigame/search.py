"""Distances in a directed graph, by a breadth-first search backwards from each target.

A set of nodes is an int with a bit for each, so that the nodes which link to any of a set are found
with a few operations on long numbers.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import compress

from gem_core.lifetimes import Lock

__all__ = ["BackwardSearch"]

_KEPT = 1 << 24
"""Bytes of distances that are kept."""


class BackwardSearch:
    """The distances to nodes of a graph; those to the last targets are kept.

    Args:
        links: The nodes that each node links to.
    """

    def __init__(self, links: Sequence[Sequence[int]]) -> None:
        self._links = links
        self._nodes = list(range(len(links)))
        self._masks: tuple[list[int], list[int]] | None = None
        self._found: OrderedDict[int, list[bytes]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def to(self, target: int) -> Callable[[int], int | None]:
        """Return a function from a node to its distance; None if no way leads to the target."""
        levels = self._levels(target)

        def distance(node: int) -> int | None:
            byte, bit = node >> 3, 1 << (node & 7)
            for depth, level in enumerate(levels):
                if level[byte] & bit:
                    return depth
            return None

        return distance

    def _levels(self, target: int) -> list[bytes]:
        """Return, for each distance, the set of the nodes within it."""
        with self._lock:
            levels = self._found.get(target)
            if levels is None:
                levels = self._found[target] = self._searched(target)
                self._bytes += sum(map(len, levels))
                while self._bytes > _KEPT and len(self._found) > 1:
                    _, oldest = self._found.popitem(last=False)
                    self._bytes -= sum(map(len, oldest))
            return levels

    def _searched(self, target: int) -> list[bytes]:
        size = (len(self._links) >> 3) + 1
        everything = (1 << len(self._links)) - 1
        reached = found = 1 << target
        levels = []
        while found:
            levels.append(reached.to_bytes(size, "little"))
            found = self._linking_to(found, everything ^ reached)
            reached |= found
        return levels

    def _linking_to(self, found: int, rest: int) -> int:
        """Return the nodes of ``rest`` that link to ``found``; the smaller set is looped over."""
        links, sources = self._adjacency()
        if found.bit_count() <= rest.bit_count():
            linking = 0
            for node in self._nodes_of(found):
                linking |= sources[node]
            return linking & rest
        return sum(1 << node for node in self._nodes_of(rest) if links[node] & found)

    def _adjacency(self) -> tuple[list[int], list[int]]:
        """Return the set of nodes that each node links to, and of those that link to it."""
        if self._masks is None:
            size = (len(self._links) >> 3) + 1
            links = [bytearray(size) for _ in self._links]
            sources = [bytearray(size) for _ in self._links]
            for node, others in enumerate(self._links):
                mask, byte, bit = links[node], node >> 3, 1 << (node & 7)
                for other in others:
                    mask[other >> 3] |= 1 << (other & 7)
                    sources[other][byte] |= bit
            self._masks = (
                [int.from_bytes(mask, "little") for mask in links],
                [int.from_bytes(mask, "little") for mask in sources],
            )
        return self._masks

    def _nodes_of(self, found: int) -> Iterator[int]:
        """Yield the nodes of a set."""
        digits = bin(found)[:1:-1].encode().translate(_ZERO)
        return compress(self._nodes, digits)


_ZERO = bytes.maketrans(b"0", b"\x00")
