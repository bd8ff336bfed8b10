"""The kind of specs of search backends. Plugins import this when they are loaded."""

from gem_core.specs import Kind, Spec

__all__ = ["SEARCH_BACKENDS"]

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
