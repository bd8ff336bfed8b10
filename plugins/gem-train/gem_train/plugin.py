"""The plugin: registers the commands. This module does not import torch."""

from gem_core import CommandSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]

COMMANDS = {
    "train": ("gem_train.train_command:command", "Train a model on environments"),
    "make-model": ("gem_train.make_model:command", "Make a tiny model with random weights"),
}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the commands."""
    for name, (entry_point, description) in COMMANDS.items():
        registry.add(CommandSpec(id=name, entry_point=entry_point, description=description))
