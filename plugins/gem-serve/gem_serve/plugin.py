"""The specs that gem-serve adds to the registry. Nothing here imports a server."""

from gem_core import hookimpl
from gem_core.registry import Registry
from gem_core.specs import COMMANDS, EXECUTORS, FAMILIES, Spec
from gem_serve.harness.recipe import HARNESSES
from gem_serve.specs import DIALECTS

__all__ = ["gem_register"]

_RECIPES = {
    "codex": ("codex:codex", "Codex, by the responses API"),
    "claude": ("claude:claude", "Claude Code, by the messages API"),
    "opencode": ("opencode:opencode", "opencode, by chat completions"),
    "mini": ("mini:mini", "mini-swe-agent, by chat completions"),
    "openai-sdk": ("loops:openai_sdk", "a loop with OpenAI's SDK, by the responses API"),
    "anthropic-sdk": ("loops:anthropic_sdk", "a loop with Anthropic's SDK, by the messages API"),
    "python-loop": ("loops:python_loop", "a loop in Python alone, by chat completions"),
}
_DIALECTS = {
    "chat/completions": ("chat:ChatDialect", "OpenAI's chat completions"),
    "completions": ("completions:CompletionsDialect", "OpenAI's completions, without a template"),
    "responses": ("responses:ResponsesDialect", "OpenAI's responses"),
    "messages": ("anthropic:MessagesDialect", "Anthropic's messages"),
}


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the commands, the executor, the remote environments, the dialects and the harnesses."""
    _add_server(registry)
    _add_cluster(registry)
    _add_gateway(registry)
    _add_harnesses(registry)


def _add_server(registry: Registry) -> None:
    registry.add(
        Spec(
            kind=COMMANDS,
            id="serve",
            entry_point="gem_serve.server.command:command",
            description="Serve environments to other processes",
        ),
        Spec(
            kind=FAMILIES,
            id="remote",
            entry_point="gem_serve.remote.family:RemoteFamily",
            description="environments on servers: remote:HOST:PORT/ID",
        ),
    )


def _add_cluster(registry: Registry) -> None:
    registry.add(
        Spec(
            kind=EXECUTORS,
            id="ray",
            entry_point="gem_serve.cluster.pool:RayPool",
            description="actors of a Ray cluster",
        ),
    )


def _add_gateway(registry: Registry) -> None:
    registry.add(
        Spec(
            kind=COMMANDS,
            id="gateway",
            entry_point="gem_serve.gateway.command:command",
            description="Record the tokens of agent programs that call a model",
        )
    )
    for path, (place, text) in _DIALECTS.items():
        entry_point = f"gem_serve.gateway.dialects.{place}"
        registry.add(Spec(kind=DIALECTS, id=path, entry_point=entry_point, description=text))


def _add_harnesses(registry: Registry) -> None:
    registry.add(
        Spec(
            kind=COMMANDS,
            id="harness",
            entry_point="gem_serve.harness.command:command",
            description="Let an agent program play episodes, and record its tokens",
        )
    )
    for name, (place, text) in _RECIPES.items():
        entry_point = f"gem_serve.harness.recipes.{place}"
        registry.add(Spec(kind=HARNESSES, id=name, entry_point=entry_point, description=text))
