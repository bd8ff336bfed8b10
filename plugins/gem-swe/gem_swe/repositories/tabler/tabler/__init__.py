"""Typed tables in memory, and a small language to query them."""

from .cells import Cell, compare, format_cell, parse_cell
from .errors import CellError, ColumnError, ParseError, TablerError
from .grouping import Aggregate, aggregate, group_by, lag, pivot, rank, running_total
from .joins import join
from .query import run_query
from .table import Row, Table
from .text import read_table, render

__all__ = [
    "Aggregate", "Cell", "CellError", "ColumnError", "ParseError", "Row", "Table", "TablerError",
    "aggregate", "compare", "format_cell", "group_by", "join", "lag", "parse_cell", "pivot",
    "rank", "read_table", "render", "run_query", "running_total",
]  # fmt: skip
