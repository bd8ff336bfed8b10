"""The commands. Nothing here imports one."""

from gem_core import CommandSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]

COMMANDS = {
    "eval": ("gem_eval.evaluate:command", "Evaluate agents on environments"),
    "compare": ("gem_eval.compare_command:command", "Compare runs, episode by episode"),
    "replay": ("gem_eval.replay_command:command", "Grade the actions of a run again"),
    "view": ("gem_eval.view.command:view", "Look at runs in the browser"),
    "export": ("gem_eval.view.export:export", "Write runs as Parquet"),
}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the commands."""
    for name, (entry_point, description) in COMMANDS.items():
        registry.add(CommandSpec(id=name, entry_point=entry_point, description=description))
