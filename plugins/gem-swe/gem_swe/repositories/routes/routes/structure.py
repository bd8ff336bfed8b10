"""What hangs together in a graph, and its order; the wrong kind of graph is an InvalidGraph."""

from bisect import insort
from collections.abc import Iterable, Iterator

from routes.errors import CycleFound, InvalidGraph
from routes.graph import Edge, Graph


class UnionFind:
    """Disjoint groups of names; the leader of a group is its first name in order."""

    def __init__(self, names: Iterable[str]) -> None:
        self._above = {name: name for name in names}
        self.count = len(self._above)

    def leader(self, name: str) -> str:
        """The leader of the group that the name is in."""
        while self._above[name] != name:
            name = self._above[name]
        return name

    def join(self, one: str, other: str) -> bool:
        """Make one group of two; False if the names were in the same group already."""
        first, second = sorted((self.leader(one), self.leader(other)))
        if first == second:
            return False
        self._above[second] = first
        self.count -= 1
        return True


def components(graph: Graph) -> list[list[str]]:
    """The nodes that edges connect, either way: large groups first, then by their first names."""
    union = UnionFind(graph.nodes())
    for edge in graph.edges():
        union.join(edge.start, edge.end)
    groups: dict[str, list[str]] = {}
    for node in graph.nodes():
        groups.setdefault(union.leader(node), []).append(node)
    return sorted(groups.values(), key=len, reverse=True)


def spanning_tree(graph: Graph) -> list[Edge]:
    """All edges in order, but those whose ends are connected by edges taken before them."""
    if graph.directed:
        raise InvalidGraph("a spanning tree needs edges that lead both ways")
    union = UnionFind(graph.nodes())
    return [edge for edge in graph.edges() if union.join(edge.start, edge.end)]


def topological_order(graph: Graph) -> list[str]:
    """All nodes, each after those that lead to it; whenever several can be next, by name.

    If nodes are left over, CycleFound has the cycle that is met on the way back from the first
    of them, always to the first by name; it goes forward and starts with its first by name.
    """
    if not graph.directed:
        raise InvalidGraph("an order needs edges that lead one way")
    order = list(_free_nodes(graph))
    if left := [node for node in graph.nodes() if node not in order]:
        raise CycleFound(_find_cycle(graph, left))
    return order


def _free_nodes(graph: Graph) -> Iterator[str]:
    missing = {node: 0 for node in graph.nodes()}
    for edge in graph.edges():
        missing[edge.end] += 1
    free = [node for node, count in missing.items() if count == 0]
    while free:
        node = free.pop(0)
        yield node
        for edge in graph.leaving(node):
            missing[edge.end] -= 1
            if missing[edge.end] == 0:
                insort(free, edge.end)


def _find_cycle(graph: Graph, left: list[str]) -> list[str]:
    edges = [edge for edge in graph.edges() if edge.start in left]
    trail = left[:1]
    while trail[-1] not in trail[:-1]:
        trail.append(min(edge.start for edge in edges if edge.end == trail[-1]))
    cycle = trail[: trail.index(trail[-1]) : -1]
    turn = cycle.index(min(cycle))
    return cycle[turn:] + cycle[:turn]
