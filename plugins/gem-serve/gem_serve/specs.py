"""The kinds of specs of gem-serve. Plugins import this when they are loaded."""

from gem_core.specs import Kind, Spec

__all__ = ["DIALECTS"]

DIALECTS: Kind[Spec] = Kind(
    id="dialects",
    name="dialect",
    description="APIs that programs speak to the gateway",
    check="gem_serve.gateway.dialects.checks:check_dialect",
)
"""The id is the path of the requests, below ``/v1``; entry points return a
``gem_serve.gateway.dialects.Dialect``."""
