"""The specs that gem-eval adds to the registry."""

from gem_core import hookimpl
from gem_core.registry import Registry
from gem_core.specs import COMMANDS, Spec

__all__ = ["gem_register"]

_COMMANDS = {
    "eval": ("gem_eval.evaluate:command", "Evaluate agents on environments"),
    "compare": ("gem_eval.compare_command:command", "Compare agents on the same tasks"),
    "replay": (
        "gem_eval.replay_command:command",
        "Play the actions of a run again, and grade them",
    ),
    "why": ("gem_eval.why_command:command", "Show why the episodes of a run failed"),
    "view": ("gem_eval.view.command:view", "Show runs in the browser"),
    "export": ("gem_eval.view.export:export", "Write a run as tables: Parquet, CSV or JSON lines"),
}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the commands."""
    for name, (entry_point, description) in _COMMANDS.items():
        registry.add(Spec(kind=COMMANDS, id=name, entry_point=entry_point, description=description))
