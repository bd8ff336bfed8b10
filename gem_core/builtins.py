"""The specs of gem-core itself, registered like those of a plugin."""

from typing import Any

from gem_core.hookspecs import hookimpl
from gem_core.registry import Registry
from gem_core.specs import CALL_FORMATS, COMMANDS, EXECUTORS, AgentSpec, Spec, WrapperSpec

__all__ = ["gem_register"]

_WRAPPERS: dict[str, tuple[str, dict[str, Any], str]] = {
    "tools": ("tools:ToolWrapper", {}, "lets the agent call tools"),
    "time_limit": ("time_limit:TimeLimit", {"max_steps": 100}, "truncates long episodes"),
    "concat": ("history:HistoryWrapper", {}, "shows all observations so far"),
    "concat_with_action": (
        "history:HistoryWrapper",
        {"include_action": True},
        "shows all observations and actions so far",
    ),
    "concat_chat": (
        "history:HistoryWrapper",
        {"include_action": True, "chat_template": "every_turn"},
        "shows the history as chat messages (needs a tokenizer)",
    ),
    "concat_chat_on_reset": (
        "history:HistoryWrapper",
        {"include_action": True, "chat_template": "on_reset"},
        "opens a chat, then appends the history to it (needs a tokenizer)",
    ),
    "episode_tracking": ("tracking:EpisodeTracking", {}, "counts steps and sums rewards"),
}
_AGENTS = {
    "random": ("RandomAgent", "plays the environment's random actions"),
    "oracle": ("OracleAgent", "plays with the best known agent of the environment"),
    "scripted": ("ScriptedAgent", "plays a fixed list of actions"),
    "silent": ("SilentAgent", "answers with nothing"),
    "human": ("HumanAgent", "asks at the terminal"),
}
_EXECUTORS = {
    "serial": "one after another in the caller's thread",
    "threads": "in a pool of threads, for environments that wait",
}
_COMMANDS = {
    "list": "List what is installed",
    "show": "Show an environment: parameters, rewards, an observation",
    "play": "Play an environment in the terminal",
    "new": "Write a plugin to begin with",
    "check": "Check environments or a plugin against the contract",
    "plugins": "Show the installed plugins and their problems",
}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add wrappers, a call format, agents, executors and commands."""
    for name, (entry_point, kwargs, description) in _WRAPPERS.items():
        registry.add(
            WrapperSpec(
                id=name,
                entry_point=f"gem_core.wrappers.{entry_point}",
                kwargs=kwargs,
                description=description,
            )
        )
    registry.add(
        Spec(
            kind=CALL_FORMATS,
            id="tags",
            entry_point="gem_core.calls.tags:TagsFormat",
            description="what each tool parses, often <name>...</name>",
        )
    )
    for name, (entry_point, description) in _AGENTS.items():
        registry.add(
            AgentSpec(id=name, entry_point=f"gem_core.agent:{entry_point}", description=description)
        )
    for name, description in _EXECUTORS.items():
        registry.add(
            Spec(
                kind=EXECUTORS,
                id=name,
                entry_point=f"gem_core.vector.{name}:{name.capitalize()}Executor",
                description=description,
            )
        )
    for name, description in _COMMANDS.items():
        registry.add(
            Spec(
                kind=COMMANDS,
                id=name,
                entry_point=f"gem_core.cli.{name}:command",
                description=description,
            )
        )
