"""Search: a tool for agents, its backends, and a retrieval server."""

from gem_tools.search.backend import Document, SearchBackend, SearchError, make_backend
from gem_tools.search.tool import SearchTool

__all__ = ["Document", "SearchBackend", "SearchError", "SearchTool", "make_backend"]
