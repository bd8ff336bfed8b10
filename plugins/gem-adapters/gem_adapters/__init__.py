"""Adapters: the environments of gem-core in other trainers, one module for each framework.

verifiers looks for its parts here, as it imports the distribution's own module.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gem_adapters.verifiers import GemEnv, GemHarness, GemTaskset

__all__ = ["GemEnv", "GemHarness", "GemTaskset"]


def __getattr__(name: str) -> Any:
    """Import a part for verifiers, and verifiers with it, when it is used."""
    from importlib import import_module  # noqa: PLC0415

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.verifiers"), name)
