"""Weighted graphs whose nodes are names, and the text they are read from."""

from typing import NamedTuple

from routes.errors import InvalidGraph, ParseError, UnknownNode


class Edge(NamedTuple):
    """Edges sort by weight, then by start, then by end."""

    weight: int
    start: str
    end: str


class Graph:
    """Nodes and edges; in a graph that is not directed every edge leads both ways."""

    def __init__(self, directed: bool = False) -> None:
        self.directed = directed
        self._links: dict[str, dict[str, int]] = {}

    def add_node(self, name: str) -> None:
        """Add a node without edges; a node that is there already keeps its edges."""
        self._links.setdefault(name, {})

    def add_edge(self, start: str, end: str, weight: int = 1) -> None:
        """Add an edge, and its nodes where they are missing.

        Of several edges between the same nodes only the lightest is kept. A weight may be
        zero; a negative one is an InvalidGraph, and so is an edge from a node to itself.
        """
        if weight < 0 or start == end:
            raise InvalidGraph(f"an edge from {start} to {end} with weight {weight}")
        self.add_node(start)
        self.add_node(end)
        for one, other in [(start, end)] if self.directed else [(start, end), (end, start)]:
            self._links[one][other] = min(self._links[one].get(other, weight), weight)

    def nodes(self) -> list[str]:
        """All nodes by name."""
        return sorted(self._links)

    def leaving(self, node: str) -> list[Edge]:
        """The edges that lead away from a node, by the name of their end."""
        if node not in self._links:
            raise UnknownNode(node)
        return [Edge(weight, node, end) for end, weight in sorted(self._links[node].items())]

    def edges(self) -> list[Edge]:
        """All edges, sorted; one that leads both ways comes once, with start before end."""
        found = [edge for node in self._links for edge in self.leaving(node)]
        return sorted(edge for edge in found if self.directed or edge.start < edge.end)


def parse_graph(text: str, directed: bool = False) -> Graph:
    """Read one edge a line, `a b 4`, where a missing weight is 1; a name alone is a node.

    `%` starts a comment, and blank lines do not count. Other lines are ParseErrors.
    """
    graph = Graph(directed)
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("%")[0].split()
        if len(words) == 1:
            graph.add_node(words[0])
        elif len(words) == 2:
            graph.add_edge(words[0], words[1])
        elif len(words) == 3 and words[2].isdecimal():
            graph.add_edge(words[0], words[1], int(words[2]))
        elif words:
            raise ParseError(number, "not an edge")
    return graph
