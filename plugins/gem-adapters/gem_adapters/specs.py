"""The kind of spec by which a plugin offers its adapter to ``gem-core check-adapter``."""

from gem_core.specs import Kind, Spec

__all__ = ["ADAPTERS"]

ADAPTERS: Kind[Spec] = Kind(
    id="adapters", name="adapter", description="adapters of trainers, for check-adapter"
)
"""Entry points are a ``gem_adapters.testing.adapters.Harness``."""
