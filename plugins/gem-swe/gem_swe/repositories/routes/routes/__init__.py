"""Routing on small graphs, grid maps and timetables."""

from routes.formatting import format_path, format_walk
from routes.graph import Edge, Graph, parse_graph
from routes.grid import Cell, GridMap, Walk, find_walk, parse_map
from routes.paths import Path, best_paths, shortest_path
from routes.structure import UnionFind, components, spanning_tree, topological_order
from routes.timetable import Connection, Journey, earliest_arrival, parse_timetable

__all__ = [
    "Cell", "Connection", "Edge", "Graph", "GridMap", "Journey", "Path", "UnionFind", "Walk",
    "best_paths", "components", "earliest_arrival", "find_walk", "format_path", "format_walk",
    "parse_graph", "parse_map", "parse_timetable", "shortest_path", "spanning_tree",
    "topological_order",
]
