"""mini-swe-agent: ``mini``, which speaks chat completions."""

from gem_serve.harness.recipe import Recipe

__all__ = ["mini"]


def mini(*, arguments: tuple[str, ...] = ()) -> Recipe:
    """Return the recipe.

    Args:
        arguments: More arguments of ``mini``.
    """
    return Recipe(
        program="mini",
        arguments=(
            "--yolo",
            "--exit-immediately",
            "--model",
            "openai/{model}",
            *arguments,
            "--task",
            "{instruction}",
        ),
        dialect="chat",
        env={
            "OPENAI_API_KEY": "{key}",
            "OPENAI_BASE_URL": "{api}",
            "OPENAI_API_BASE": "{api}",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_SILENT_STARTUP": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        install="pip install mini-swe-agent",
    )
