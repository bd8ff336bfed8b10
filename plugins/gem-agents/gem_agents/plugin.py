"""The plugin: registers the agents, models and commands without importing them."""

from gem_core import hookimpl
from gem_core.registry import Registry
from gem_core.specs import COMMANDS, AgentSpec, Spec
from gem_rollout.models.registered import MODELS

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the agents, the models and the commands."""
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
            kind=MODELS,
            id="smollm2",
            entry_point="gem_agents.models.smollm2:write",
            description="SmolLM2-135M-Instruct, a small language model for the CPU",
            metadata={"license": "Apache-2.0", "size": "93 MB"},
        ),
        AgentSpec(
            id="smollm2",
            entry_point="gem_agents.local:LocalAgent",
            kwargs={"model": "smollm2", "max_new_tokens": 64},
            description="asks the model smollm2 in this process",
        ),
        Spec(
            kind=COMMANDS,
            id="get-model",
            entry_point="gem_agents.get_model:command",
            description="Fetch a model, once",
        ),
    )
    registry.add(
        Spec(
            kind=COMMANDS,
            id="check-template",
            entry_point="gem_agents.check_template:command",
            description="Check that a chat template preserves the tokens of earlier turns",
        )
    )
