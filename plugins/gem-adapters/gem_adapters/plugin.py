"""The plugin: registers the commands without importing them."""

from gem_core import hookimpl
from gem_core.registry import Registry
from gem_core.specs import COMMANDS, FAMILIES, Spec

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the commands, and the environments that the conformance suite plays."""
    registry.add(
        Spec(
            kind=COMMANDS,
            id="check-adapter",
            entry_point="gem_adapters.check_adapter:command",
            description="Check that a trainer gets the same tokens, masks and rewards as others",
        ),
        Spec(
            kind=COMMANDS,
            id="rows",
            entry_point="gem_adapters.rows_command:command",
            description="Write a dataset of episodes for a trainer",
        ),
        Spec(
            kind=FAMILIES,
            id="conformance",
            entry_point="gem_adapters.testing.conformance:Conformance",
            description="environments that the conformance suite of adapters plays",
        ),
    )
