"""Search: a tool for agents, what it searches with, and a server that others search with."""

from gem_tools.search.backend import Document, SearchBackend, SearchError, make_backend
from gem_tools.search.tool import SearchTool

__all__ = ["Document", "SearchBackend", "SearchError", "SearchTool", "make_backend"]
