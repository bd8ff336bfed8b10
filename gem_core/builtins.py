"""The specs of gem-core itself, registered like those of a plugin."""

from dataclasses import replace
from typing import Any

from gem_core.hookspecs import hookimpl
from gem_core.registry import Registry
from gem_core.specs import AgentSpec, CommandSpec, ExecutorSpec, KindSpec, WrapperSpec

__all__ = ["gem_register"]

KINDS: dict[str, tuple[str, str, bool, str]] = {
    "envs": ("EnvSpec", "env", False, "environments"),
    "families": ("FamilySpec", "", False, "families of environments"),
    "tools": ("ToolSpec", "tools", True, "tools that agents call"),
    "call_formats": ("CallFormatSpec", "", False, "formats of tool calls"),
    "wrappers": ("WrapperSpec", "wrappers", True, "wrappers of environments"),
    "agents": ("AgentSpec", "agent", True, "agents that act in environments"),
    "sandboxes": ("SandboxSpec", "sandbox", False, "sandboxes that run programs"),
    "machines": ("MachineProviderSpec", "machine", False, "providers of machines"),
    "executors": ("ExecutorSpec", "", False, "executors of vectors"),
    "commands": ("CommandSpec", "", False, "commands of gem-core"),
    "kinds": ("KindSpec", "", False, "kinds of specs"),
}
"""The class, the group of Hydra, whether the group takes a list, and a description of each kind."""
WRAPPERS: dict[str, tuple[str, dict[str, Any], str]] = {
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
AGENTS = {
    "random": ("RandomAgent", "plays the environment's random actions"),
    "oracle": ("OracleAgent", "plays with the best known agent of the environment"),
    "scripted": ("ScriptedAgent", "plays a fixed list of actions"),
    "silent": ("SilentAgent", "answers with nothing"),
    "null": ("NullAgent", "deprecated: the agent is called silent"),
    "human": ("HumanAgent", "asks at the terminal"),
}
EXECUTORS = {
    "serial": "one after another in the caller's thread",
    "threads": "in a pool of threads, for environments that wait",
}
COMMANDS = {
    "list": "List what is installed",
    "show": "Show an environment: parameters, rewards, an observation",
    "play": "Play an environment in the terminal",
    "check": "Check environments or a plugin against the contract",
    "plugins": "Show the installed plugins and their problems",
}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the kinds, and wrappers, agents, executors and commands."""
    for name, (class_name, group, several, text) in KINDS.items():
        made = KindSpec(id=name, entry_point=f"gem_core.specs:{class_name}", description=text)
        registry.add(replace(made, group=group, several=several))
    for name, (entry_point, kwargs, description) in WRAPPERS.items():
        registry.add(
            WrapperSpec(
                id=name,
                entry_point=f"gem_core.wrappers.{entry_point}",
                kwargs=kwargs,
                description=description,
            )
        )
    for name, (entry_point, description) in AGENTS.items():
        registry.add(
            AgentSpec(id=name, entry_point=f"gem_core.agent:{entry_point}", description=description)
        )
    for name, description in EXECUTORS.items():
        registry.add(
            ExecutorSpec(
                id=name,
                entry_point=f"gem_core.vector.{name}:{name.capitalize()}Executor",
                description=description,
            )
        )
    for name, description in COMMANDS.items():
        registry.add(
            CommandSpec(
                id=name, entry_point=f"gem_core.cli.{name}:command", description=description
            )
        )
