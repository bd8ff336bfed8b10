"""The plugin: registers the agents and the command without importing them."""

from gem_core import hookimpl
from gem_core.registry import Registry
from gem_core.specs import COMMANDS, AgentSpec, Spec

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the agents and the command that checks chat templates."""
    registry.add(
        AgentSpec(
            id="openai",
            entry_point="gem_agents.openai:OpenAIAgent",
            description="asks an OpenAI-compatible endpoint",
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
        AgentSpec(
            id="vllm",
            entry_point="gem_agents.vllm_agent:VllmAgent",
            description="asks vLLM for tokens, on a server or in this process",
        )
    )
    registry.add(
        Spec(
            kind=COMMANDS,
            id="check-template",
            entry_point="gem_agents.check_template:command",
            description="Check that a chat template preserves the tokens of earlier turns",
        )
    )
