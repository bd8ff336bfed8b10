"""Paths, walks and journeys as text."""

from itertools import groupby, pairwise

from routes.graph import Graph
from routes.grid import Walk
from routes.paths import Path


def format_path(graph: Graph, path: Path) -> str:
    """Nodes, weights and cost: `a -2- b -3- c (5)`, or `a -2-> b (2)` in a directed graph."""
    tip = "->" if graph.directed else "-"
    text = path.nodes[0]
    for start, end in pairwise(path.nodes):
        weight = next(edge.weight for edge in graph.leaving(start) if edge.end == end)
        text += f" -{weight}{tip} {end}"
    return f"{text} ({path.cost})"


def format_walk(walk: Walk) -> str:
    """The moves, each with the number of times it is repeated: `3E S 2E`; `stay` if none."""
    runs = [(name, len(list(run))) for name, run in groupby(walk.moves)]
    return " ".join(name if times == 1 else f"{times}{name}" for name, times in runs) or "stay"
