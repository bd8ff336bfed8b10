"""Codex: ``codex exec``, which speaks the responses API."""

from gem_serve.harness.recipe import Recipe

__all__ = ["codex"]

_CONFIG = """\
model = "{model}"
model_provider = "gateway"
approval_policy = "never"
sandbox_mode = "danger-full-access"
web_search = "disabled"
check_for_update_on_startup = false

[model_providers.gateway]
name = "gateway"
base_url = "{api}"
env_key = "GATEWAY_KEY"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2
"""


def codex(*, arguments: tuple[str, ...] = ()) -> Recipe:
    """Return the recipe.

    Args:
        arguments: More arguments of ``codex exec``.
    """
    return Recipe(
        program="codex",
        arguments=(
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            *arguments,
            "{instruction}",
        ),
        dialect="responses",
        env={"CODEX_HOME": "{home}/.codex", "GATEWAY_KEY": "{key}"},
        files={".codex/config.toml": _CONFIG},
        install="npm install -g @openai/codex",
    )
