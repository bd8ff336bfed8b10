"""The environment variables that point known programs at an episode."""

import json

from gem_core.errors import ConfigError, near_names

__all__ = ["PROGRAMS", "variables_of"]

PROGRAMS = ("openai", "anthropic", "mini-swe-agent", "codex", "claude", "opencode")
"""Clients and programs whose variables are known; ``openai`` fits all that use OpenAI's SDK."""


def variables_of(program: str, url: str, key: str, model: str) -> dict[str, str]:
    """Return the environment variables of a program.

    Args:
        program: One of ``PROGRAMS``.
        url: The URL of the episode, without ``/v1``.
        key: The key of the episode.
        model: The name of the model to ask for.

    Raises:
        ConfigError: The program is not known.
    """
    if program not in PROGRAMS:
        raise ConfigError(
            f"The variables of {program!r} are not known; there are {', '.join(PROGRAMS)}."
            f"{near_names(program, PROGRAMS)}"
        )
    openai = {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_BASE": f"{url}/v1",
        "OPENAI_API_KEY": key,
    }
    anthropic = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": key}
    return {
        "openai": openai,
        "anthropic": anthropic,
        "mini-swe-agent": openai
        | {
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        "codex": openai,
        "claude": anthropic
        | {
            "ANTHROPIC_MODEL": model,
            "ANTHROPIC_SMALL_FAST_MODEL": model,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        "opencode": {
            "OPENCODE_CONFIG_CONTENT": json.dumps(_opencode(url, key, model)),
            "OPENCODE_DISABLE_AUTOUPDATE": "true",
            "OPENCODE_DISABLE_MODELS_FETCH": "true",
        },
    }[program]


def _opencode(url: str, key: str, model: str) -> dict[str, object]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": key},
        "models": {model: {"name": model}},
    }
    return {"provider": {"gateway": provider}, "model": f"gateway/{model}"}
