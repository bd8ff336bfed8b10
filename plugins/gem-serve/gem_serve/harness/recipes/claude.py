"""Claude Code: ``claude -p``, which speaks Anthropic's messages API."""

from gem_serve.harness.recipe import Recipe

__all__ = ["claude"]


def claude(*, arguments: tuple[str, ...] = ()) -> Recipe:
    """Return the recipe.

    Args:
        arguments: More arguments of ``claude``.
    """
    return Recipe(
        program="claude",
        arguments=(
            "--print",
            "--dangerously-skip-permissions",
            "--model",
            "{model}",
            *arguments,
            "{instruction}",
        ),
        dialect="messages",
        env={
            "ANTHROPIC_BASE_URL": "{host}",
            "ANTHROPIC_API_KEY": "{key}",
            "ANTHROPIC_MODEL": "{model}",
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": "{model}",
            "CLAUDE_CONFIG_DIR": "{home}/.claude",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",  # else it refuses to run as root
        },
        install="npm install -g @anthropic-ai/claude-code",
    )
