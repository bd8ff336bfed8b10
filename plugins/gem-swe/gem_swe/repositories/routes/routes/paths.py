"""Cheapest paths through a graph.

Of several the best has the fewest edges, and of those the list of nodes that sorts first.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from routes.errors import NoPath, UnknownNode
from routes.graph import Graph
from routes.heap import Heap


class Path(NamedTuple):
    """The nodes of a path from its first to its last; the better path is the smaller one."""

    cost: int
    hops: int
    nodes: tuple[str, ...]


def best_paths(graph: Graph, source: str, avoid: Collection[str] = ()) -> Iterator[Path]:
    """The best path to every node that can be reached, the source first, from best to worst.

    No path goes to a node to avoid, or through it; to avoid the source has no effect.
    """
    heap: Heap[Path] = Heap()
    heap.push(Path(0, 0, (source,)))
    settled = set(avoid) - {source}
    while path := heap.pop():
        cost, hops, nodes = path
        end = nodes[-1]
        if end not in settled:
            settled.add(end)
            for edge in graph.leaving(end):
                heap.push(Path(cost + edge.weight, hops + 1, (*nodes, edge.end)))
            yield path


def shortest_path(graph: Graph, source: str, target: str, avoid: Collection[str] = ()) -> Path:
    """The best path to the target; NoPath if there is none, UnknownNode for unknown ends."""
    if target not in graph.nodes():
        raise UnknownNode(target)
    for path in best_paths(graph, source, avoid):
        if path.nodes[-1] == target:
            return path
    raise NoPath(f"from {source} to {target}")
