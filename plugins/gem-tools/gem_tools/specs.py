"""The kinds of specs of this package. Plugins import this when they are loaded."""

from gem_core.specs import Kind, Spec

__all__ = ["SEARCH_BACKENDS", "TASK_SERVICES"]

SEARCH_BACKENDS: Kind[Spec] = Kind(
    id="search_backends",
    name="search backend",
    description="what the tool search asks",
    by_entry_point=True,
    check="gem_tools.search.checks:check_search_backend",
)
"""Entry points return a ``gem_tools.search.SearchBackend``; their parameters are its options.

``metadata["needs"]`` says what a search needs that may be missing, such as the key of a service.
"""

TASK_SERVICES: Kind[Spec] = Kind(
    id="task_services",
    name="task service",
    description="where tasks of MCP servers take place",
    by_entry_point=True,
)
"""Entry points are classes of ``gem_tools.mcpmark.services.Service``."""
