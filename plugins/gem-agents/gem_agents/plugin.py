"""The agents and the command. Nothing here imports one."""

from gem_core import hookimpl
from gem_core.registry import Registry
from gem_core.specs import AgentSpec, CommandSpec

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the agents and the command that checks chat templates."""
    registry.add(
        AgentSpec(
            id="openai",
            entry_point="gem_agents.openai:OpenAIAgent",
            description="asks an endpoint that speaks OpenAI's API",
        )
    )
    registry.add(
        AgentSpec(
            id="transformers",
            entry_point="gem_agents.local:LocalAgent",
            description="asks a transformers model in this process",
        )
    )
    registry.add(
        CommandSpec(
            id="check-template",
            entry_point="gem_agents.check_template:command",
            description="Check that a chat template keeps the tokens of earlier turns",
        )
    )
