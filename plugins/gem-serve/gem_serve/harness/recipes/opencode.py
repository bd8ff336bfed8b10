"""opencode: ``opencode run``, which speaks chat completions."""

from gem_serve.harness.recipe import Recipe

__all__ = ["opencode"]

_CONFIG = """\
{
  "autoupdate": false,
  "share": "disabled",
  "model": "gateway/{model}",
  "small_model": "gateway/{model}",
  "permission": {"*": "allow"},
  "provider": {
    "gateway": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "gateway",
      "options": {"baseURL": "{api}", "apiKey": "{key}"},
      "models": {"{model}": {"name": "{model}"}}
    }
  }
}
"""


def opencode(*, arguments: tuple[str, ...] = ()) -> Recipe:
    """Return the recipe.

    Args:
        arguments: More arguments of ``opencode run``.
    """
    return Recipe(
        program="opencode",
        arguments=("run", "--model", "gateway/{model}", *arguments, "{instruction}"),
        dialect="chat",
        env={
            "OPENCODE_CONFIG_CONTENT": _CONFIG,
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "TMPDIR": "{home}/tmp",  # else each run leaves a library of 5 MB in /tmp
        },
        files={"tmp/.keep": ""},
        install="npm install -g opencode-ai",
    )
